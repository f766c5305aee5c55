#!/usr/bin/env python3
"""Image models: classifiers of torchvision and timm, segmentation, detection; random weights, synthetic images.

  python3 zoo/vision.py --model resnet50 --batch 64 --precision bf16 --workers 4

Images are cropped, flipped and normalised on the CPU by the loader workers, as for real ones.
"""
import common
import detect
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task


class Pixels(nn.Module):
    """A torchvision segmentation model without its dictionary."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        return self.m(x)['out']


class Detector(nn.Module):
    """A one-stage detector: backbone with a feature pyramid, two towers of convolutions, every anchor's classes and box."""

    def __init__(self, backbone, classes=20, anchors=9, tower=4, width=256):
        super().__init__()
        from torchvision.models.detection import backbone_utils as u
        if backbone.startswith('resnet'):
            self.b = u.resnet_fpn_backbone(backbone_name=backbone, weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5,
                                           returned_layers=[2, 3, 4])
        else:
            self.b = u.mobilenet_backbone(backbone_name=backbone, weights=None, fpn=True, norm_layer=nn.BatchNorm2d, trainable_layers=6)

        def head(n):
            convs = [x for _ in range(tower) for x in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU())]
            return nn.Sequential(*convs, nn.Conv2d(width, anchors * n, 3, padding=1))
        self.cls, self.box = head(classes), head(4)
        self.classes = classes

    def forward(self, x):
        out = []
        for f in self.b(x).values():
            c = self.cls(f).permute(0, 2, 3, 1).flatten(1, 2).unflatten(2, (-1, self.classes)).flatten(1, 2)
            b = self.box(f).permute(0, 2, 3, 1).flatten(1, 2).unflatten(2, (-1, 4)).flatten(1, 2)
            out.append(torch.cat([c, b], 2))
        return torch.cat(out, 1)


class UNet(nn.Module):
    def __init__(self, width=32, classes=21):
        super().__init__()

        def twice(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True),
                                 nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))
        w = [width * 2 ** i for i in range(5)]
        self.down = nn.ModuleList(twice(a, b) for a, b in zip([3] + w[:-1], w))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(w[:-1], w[1:]))
        self.join = nn.ModuleList(twice(2 * a, a) for a in w[:-1])
        self.o = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        seen = []
        for i, d in enumerate(self.down):
            x = d(F.max_pool2d(x, 2) if i else x)
            seen.append(x)
        for i in reversed(range(4)):
            x = self.join[i](torch.cat([seen[i], self.up[i](x)], 1))
        return self.o(x)


def focal(o, t):
    from torchvision.ops import sigmoid_focal_loss
    n = o.shape[2] - 4
    c = t[..., 0].long()
    hit = (c > 0).unsqueeze(2)
    want = F.one_hot(c, n + 1)[..., 1:].to(o.dtype)
    box = (F.smooth_l1_loss(o[..., n:].float(), t[..., 1:], reduction='none') * hit).sum()
    return (sigmoid_focal_loss(o[..., :n], want, reduction='sum') + box) / hit.sum().clamp(min=1)


def pictures(kind, rest):
    m, _, size = rest.partition('@')
    size = int(size or 224)
    if kind == 'tv':
        import torchvision
        extra = {'aux_logits': False, 'init_weights': True} if m in ('googlenet', 'inception_v3') else {}
        model = getattr(torchvision.models, m)(weights=None, num_classes=1000, **extra)
    else:
        import timm
        extra = {'img_size': size} if 'vit' in m or 'swin' in m or 'mixer' in m else {}
        try:
            model = timm.create_model(m, pretrained=False, num_classes=1000, **extra)
        except TypeError:                                  # a name that only looks like one that takes a size
            model = timm.create_model(m, pretrained=False, num_classes=1000)
    return model, size


def task(kind, rest, batch):
    image = lambda n: torch.randn(batch, 3, n, n)
    if kind in ('tv', 'timm'):
        model, size = pictures(kind, rest)
        return Task(model, (image(size),), feeds.Images(size), common.classify)
    if kind == 'seg':
        m, _, size = rest.partition('@')
        import torchvision
        model = Pixels(getattr(torchvision.models.segmentation, m)(weights=None, weights_backbone=None, num_classes=21))
        return Task(model, (image(int(size)),), feeds.Masks(int(size)), common.classify)
    if kind == 'unet':
        w, size = map(int, rest.split('@'))
        return Task(UNet(w), (image(size),), feeds.Masks(size), common.classify)
    if kind == 'det':
        m, _, size = rest.partition('@')
        model, size = Detector(m), int(size)
        with torch.no_grad():
            anchors = model.eval()(torch.zeros(1, 3, size, size)).shape[1]
        return Task(model, (image(size),), feeds.Boxes(size, anchors), common.on(focal))
    if kind == 'mask':
        return detect.task(kind, rest, batch)
    raise AssertionError(kind)


KINDS = ('tv', 'timm', 'seg', 'unet', 'det', 'mask')
MODELS = {
    'alexnet': ('tv:alexnet@224', 128), 'resnet18': ('tv:resnet18@224', 64), 'resnet50': ('tv:resnet50@224', 64),
    'vgg16': ('tv:vgg16@224', 64), 'inception': ('tv:inception_v3@299', 32), 'mobilenet_v2': ('tv:mobilenet_v2@224', 64),
    'vit': ('timm:vit_small_patch16_224@224', 64), 'deeplabv3': ('seg:deeplabv3_resnet50@256', 8), 'unet': ('unet:32@128', 32),
    'detector': ('det:resnet18@256', 8), 'mask_rcnn': ('mask:resnet50@512', 4)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
