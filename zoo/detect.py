#!/usr/bin/env python3
"""Detectors with boxes: torchvision's Faster and Mask R-CNN, RetinaNet, FCOS and SSD, with eight things in every image.

  python3 zoo/detect.py --model faster_rcnn --batch 4 --precision bf16 --workers 4

A step is torchvision's own: anchors, matching, proposals, suppression and losses. The graph that is exported is a stand-in that has the
layers alone: backbone, heads, and for detectors of two stages the second stage on 512 boxes an image (masks: 128), cut from a corner
of the largest map instead of where proposals are.
"""
import common
import feeds
import torch
import torch.nn as nn
from common import Task

CLASSES = 81
BOXES, MASKS = 512, 128                        # of the second stage, an image: torchvision samples so many of its proposals


class Boxed(nn.Module):
    def __init__(self, name, size):
        super().__init__()
        from torchvision.models import detection
        extra = {} if name.startswith('ssd') else {'min_size': size, 'max_size': size}
        self.m = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=CLASSES, **extra)

    def forward(self, x):
        m = self.m
        seen = m.backbone(x)
        maps = [seen] if isinstance(seen, torch.Tensor) else list(seen.values())
        if not hasattr(m, 'rpn'):
            return tuple(m.head(maps).values())
        objects, deltas = m.rpn.head(maps)
        found = list(objects) + list(deltas) + list(m.roi_heads.box_predictor(m.roi_heads.box_head(self.cut(maps[0], BOXES, 7))))
        if m.roi_heads.mask_head is not None:
            found.append(m.roi_heads.mask_predictor(m.roi_heads.mask_head(self.cut(maps[0], MASKS, 14))))
        return tuple(found)

    @staticmethod
    def cut(x, count, size):
        return x[:, :, :size, :size].unsqueeze(1).expand(-1, count, -1, -1, -1).flatten(0, 1)


def lost(model, b):
    """The sum of the detector's losses, small: at the usual rate a detector with random weights runs away, and with it its proposals."""
    x, boxes, labels, *masks = b
    targets = [{'boxes': o, 'labels': c} for o, c in zip(boxes, labels)]
    for target, mask in zip(targets, masks[0] if masks else ()):
        target['masks'] = mask
    return 0.01 * sum(model.m(list(x), targets).values())


def task(kind, rest, batch):
    m, _, size = rest.partition('@')
    size = int(size)
    example = (torch.randn(batch, 3, size, size),)
    if kind == 'boxes':
        return Task(Boxed(m, size), example, feeds.Things(size), lost)
    if kind == 'mask':
        return Task(Boxed(f'maskrcnn_{m}_fpn', size), example, feeds.Instances(size), lost, varies=True)
    raise AssertionError(kind)


KINDS = ('boxes', 'mask')
MODELS = {
    'faster_rcnn': ('boxes:fasterrcnn_resnet50_fpn@512', 4), 'retinanet': ('boxes:retinanet_resnet50_fpn@512', 4),
    'fcos': ('boxes:fcos_resnet50_fpn@512', 4), 'ssd': ('boxes:ssd300_vgg16@300', 8), 'mask_rcnn': ('mask:resnet50@512', 4)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
