"""Small real training loops, one per workload name, to measure a GPU with.

A workload is (name, batch, precision, workers, optimizer). `build` makes the model and its loader on the CPU; `train` runs the loop
until it is told to stop. Nothing here knows how it is measured. README.md lists the names.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

FOREVER = 10 ** 9


# ---------------------------------------------------------------------------------------------------------------- what is fed

class Endless(Dataset):
    def __len__(self):
        return FOREVER


class Images(Endless):
    """uint8 images cropped, flipped and normalised on the CPU, so that loader workers matter."""

    def __init__(self, size, classes=1000):
        self.size, self.classes = size, classes
        self.base = torch.randint(0, 256, (64, 3, size + size // 8, size + size // 8), dtype=torch.uint8)

    def image(self, i):
        x = self.base[i % 64]
        o = int(torch.randint(0, x.shape[-1] - self.size + 1, (1,)))
        x = x[:, o:o + self.size, o:o + self.size].float().div_(255.)
        if i & 1:
            x = x.flip(-1)
        return (x - 0.45) / 0.22

    def __getitem__(self, i):
        return self.image(i), i % self.classes


class Masks(Images):
    """An image and a class for each of its pixels."""

    def __init__(self, size, classes=21):
        super().__init__(size, classes)
        self.masks = torch.randint(0, classes, (64, size // 8, size // 8)).repeat_interleave(8, 1).repeat_interleave(8, 2)

    def __getitem__(self, i):
        return self.image(i), self.masks[i % 64].clone()


class Boxes(Images):
    """An image and, for every anchor, a class (0: background) and a box."""

    def __init__(self, size, anchors, classes=20):
        super().__init__(size, classes)
        hit = (torch.rand(16, anchors, 1) < 0.01) * torch.randint(1, classes + 1, (16, anchors, 1))
        self.targets = torch.cat([hit.float(), torch.randn(16, anchors, 4)], 2)

    def __getitem__(self, i):
        return self.image(i), self.targets[i % 16].clone()


class Tokens(Endless):
    def __init__(self, length, vocab=10000):
        self.length, self.vocab = length, vocab

    def __getitem__(self, i):
        return torch.randint(0, self.vocab, (self.length,)), i % 2


class NextTokens(Tokens):
    def __getitem__(self, i):
        t = torch.randint(0, self.vocab, (self.length + 1,))
        return t[:-1], t[1:]


class Translations(Tokens):
    def __getitem__(self, i):
        t = torch.randint(0, self.vocab, (self.length + 1,))
        return torch.randint(0, self.vocab, (self.length,)), t[:-1], t[1:]


class Clicks(Endless):
    def __init__(self, fields, rows):
        self.fields, self.rows = fields, rows

    def __getitem__(self, i):
        return torch.randint(0, self.rows, (self.fields,)), torch.rand(13), float(i & 1)


class Ratings(Endless):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        return torch.randint(0, self.rows, (2,)), float(i & 1)


class Waves(Endless):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        return torch.randn(self.n), i % 2


class Spectra(Endless):
    """80 mel bands over some frames, and a transcript of 24 letters out of 28."""

    def __init__(self, frames):
        self.frames = frames

    def __getitem__(self, i):
        return torch.randn(80, self.frames), torch.randint(1, 29, (24,))


class Signals(Endless):
    """A vector for each node of one fixed graph."""

    def __init__(self, nodes, features=32):
        self.nodes, self.features = nodes, features

    def __getitem__(self, i):
        return torch.randn(self.nodes, self.features), i % 10


class Replay(Endless):
    """A replay buffer of 84x84 frames: state, next state, action, reward."""

    def __init__(self):
        self.frames = torch.randint(0, 256, (4096, 84, 84), dtype=torch.uint8)

    def __getitem__(self, i):
        o = int(torch.randint(0, 4090, (1,)))
        return self.frames[o:o + 4], self.frames[o + 1:o + 5], i % 6, float(i & 1)


class Rollouts(Endless):
    """An observation with action, advantage, return and the old log-probability."""

    def __init__(self, width):
        self.width = width

    def __getitem__(self, i):
        return torch.randn(self.width), torch.tensor([float(i % 8), float(i & 1) - 0.5, float(i & 3), -2.0])


# -------------------------------------------------------------------------------------------------------------------- models

class Recurrent(nn.Module):
    def __init__(self, cell=nn.LSTM, hid=512, layers=2, both=False, vocab=10000, emb=256):
        super().__init__()
        self.e = nn.Embedding(vocab, emb)
        self.l = cell(emb, hid, layers, batch_first=True, bidirectional=both)
        self.o = nn.Linear(hid * (2 if both else 1), 2)

    def forward(self, x):
        return self.o(self.l(self.e(x))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self, d=512, layers=6, heads=8, vocab=10000):
        super().__init__()
        self.e = nn.Embedding(vocab, d)
        self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True), layers, enable_nested_tensor=False)
        self.o = nn.Linear(d, 2)

    def forward(self, x):
        return self.o(self.t(self.e(x)).mean(1))


class Translator(nn.Module):
    """Encoder and decoder of nn.Transformer."""

    def __init__(self, d=256, layers=3, heads=8, length=64, vocab=10000):
        super().__init__()
        self.s, self.t = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.m = nn.Transformer(d, heads, layers, layers, 4 * d, batch_first=True)
        self.o = nn.Linear(d, vocab)
        self.register_buffer('mask', torch.full((length, length), float('-inf')).triu(1))

    def forward(self, src, tgt):
        return self.o(self.m(self.s(src), self.t(tgt), tgt_mask=self.mask))


class Ranker(nn.Module):
    """DLRM-like (dot interactions) or DeepFM-like (sum and deep part) click model."""

    def __init__(self, rows, fields=26, d=64, fm=False):
        super().__init__()
        self.fm = fm
        self.e = nn.Embedding(rows, d, sparse=False)
        self.b = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, d), nn.ReLU())
        n = fields + 1
        self.t = nn.Sequential(nn.Linear(n * d if fm else d + n * (n - 1) // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                               nn.Linear(256, 1))

    def forward(self, c, x):
        z = torch.cat([self.e(c), self.b(x).unsqueeze(1)], 1)
        if self.fm:
            return self.t(z.flatten(1)).squeeze(1)
        i = torch.triu_indices(z.shape[1], z.shape[1], 1, device=z.device)
        return self.t(torch.cat([z[:, -1], (z @ z.transpose(1, 2))[:, i[0], i[1]]], 1)).squeeze(1)


class Collaborative(nn.Module):
    """Neural collaborative filtering: a product and a deep part over user and item tables."""

    def __init__(self, rows, d=64):
        super().__init__()
        self.u, self.i = nn.Embedding(rows, 2 * d), nn.Embedding(rows, 2 * d)
        self.d = d
        self.m = nn.Sequential(nn.Linear(2 * d, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, d), nn.ReLU())
        self.o = nn.Linear(2 * d, 1)

    def forward(self, x):
        u, i = self.u(x[:, 0]), self.i(x[:, 1])
        deep = self.m(torch.cat([u[:, self.d:], i[:, self.d:]], 1))
        return self.o(torch.cat([u[:, :self.d] * i[:, :self.d], deep], 1)).squeeze(1)


class Logits(nn.Module):
    """A Hugging Face model as a function of its ids alone."""

    def __init__(self, m, **kw):
        super().__init__()
        self.m, self.kw = m, kw

    def forward(self, x):
        return self.m(x, **self.kw).logits


class Logits2(nn.Module):
    """An encoder-decoder of Hugging Face as a function of both ids."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, src, tgt):
        return self.m(input_ids=src, decoder_input_ids=tgt, use_cache=False).logits


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


class Denoiser(nn.Module):
    """A small diffusion U-Net: residual blocks with a time embedding, attention at the lower resolutions."""

    class Block(nn.Module):
        def __init__(self, a, b, t, attend):
            super().__init__()
            self.n1, self.c1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1)
            self.t = nn.Linear(t, b)
            self.n2, self.c2 = nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
            self.s = nn.Conv2d(a, b, 1) if a != b else nn.Identity()
            self.n3 = nn.GroupNorm(8, b) if attend else None
            self.a = nn.MultiheadAttention(b, 4, batch_first=True) if attend else None

        def forward(self, x, t):
            h = self.c1(F.silu(self.n1(x)))
            h = self.c2(F.silu(self.n2(h + self.t(t)[:, :, None, None]))) + self.s(x)
            if self.a is None:
                return h
            z = self.n3(h).flatten(2).transpose(1, 2)
            return h + self.a(z, z, z, need_weights=False)[0].transpose(1, 2).reshape(h.shape)

    def __init__(self, width=64):
        super().__init__()
        w, t = [width, 2 * width, 2 * width], 4 * width
        self.width = width
        self.t = nn.Sequential(nn.Linear(width, t), nn.SiLU(), nn.Linear(t, t), nn.SiLU())
        self.i = nn.Conv2d(3, width, 3, padding=1)
        B = Denoiser.Block
        self.down = nn.ModuleList(B(a, b, t, i > 0) for i, (a, b) in enumerate(zip([width] + w[:-1], w)))
        self.shrink = nn.ModuleList(nn.Conv2d(c, c, 3, 2, 1) for c in w[:-1])
        self.mid = B(w[-1], w[-1], t, True)
        self.up = nn.ModuleList(B(2 * w[i], w[max(i - 1, 0)], t, i > 0) for i in range(3))
        self.o = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x, t):
        f = torch.exp(torch.arange(self.width // 2, device=x.device) * (-math.log(10000.) / (self.width // 2)))
        a = t.float()[:, None] * f[None]
        t = self.t(torch.cat([a.sin(), a.cos()], 1))
        x = self.i(x)
        seen = []
        for i, d in enumerate(self.down):
            x = d(x, t)
            seen.append(x)
            if i < 2:
                x = self.shrink[i](x)
        x = self.mid(x, t)
        for i in (2, 1, 0):
            x = self.up[i](torch.cat([x, seen[i]], 1), t)
            if i:
                x = F.interpolate(x, scale_factor=2.0, mode='nearest')
        return self.o(x)


class Gan(nn.Module):
    """DCGAN. Its forward is the generator followed by the discriminator."""

    def __init__(self, size=64, width=64, z=100):
        super().__init__()
        n = int(math.log2(size)) - 3                       # stages between 4x4 and size/2
        up = [width * 2 ** i for i in range(n, -1, -1)]
        g = [nn.ConvTranspose2d(z, up[0], 4, 1, 0, bias=False), nn.BatchNorm2d(up[0]), nn.ReLU(True)]
        for a, b in zip(up, up[1:]):
            g += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
        self.g = nn.Sequential(*g, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())
        d = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
        for a, b in zip(up[::-1], up[::-1][1:]):
            d += [nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, True)]
        self.d = nn.Sequential(*d, nn.Conv2d(up[0], 1, 4, 1, 0, bias=False), nn.Flatten())
        self.z = z

    def forward(self, z):
        return self.d(self.g(z)).squeeze(1)


class Graph(nn.Module):
    """GCN (dense product with the normalised adjacency), GAT (masked attention) or GraphSAGE (mean of gathered neighbours)
    over one fixed random graph of eight neighbours a node; a class for the whole graph."""

    def __init__(self, kind, hid=128, layers=3, nodes=207, features=32, degree=8, heads=4):
        super().__init__()
        self.kind, self.nodes, self.degree, self.heads = kind, nodes, degree, heads
        near = torch.randint(0, nodes, (nodes, degree), generator=torch.Generator().manual_seed(1))
        a = torch.eye(nodes).scatter_(1, near, 1.0)
        self.register_buffer('near', near.flatten())
        self.register_buffer('a', a / a.sum(1, keepdim=True))
        self.register_buffer('far', torch.where(a > 0, 0.0, -1e4))
        w = [features] + [hid] * layers
        self.w = nn.ModuleList(nn.Linear(2 * i if kind == 'sage' else i, o) for i, o in zip(w, w[1:]))
        self.q = nn.ModuleList(nn.Linear(hid, 2 * heads) for _ in w[1:]) if kind == 'gat' else None
        self.n = nn.ModuleList(nn.LayerNorm(o) for o in w[1:])
        self.o = nn.Linear(hid, 10)

    def forward(self, x):
        for i, (w, n) in enumerate(zip(self.w, self.n)):
            if self.kind == 'gcn':
                x = w(self.a @ x)
            elif self.kind == 'sage':
                y = torch.index_select(x, 1, self.near).unflatten(1, (self.nodes, self.degree)).mean(2)
                x = w(torch.cat([x, y], 2))
            else:
                x = w(x)
                s, d = self.q[i](x).transpose(1, 2).unsqueeze(3).chunk(2, 1)
                e = F.leaky_relu(s + d.transpose(2, 3), 0.2) + self.far
                v = x.unflatten(2, (self.heads, -1)).transpose(1, 2)
                x = (e.softmax(3) @ v).transpose(1, 2).flatten(2)
            x = F.relu(n(x))
        return self.o(x.mean(1))


class DeepSpeech(nn.Module):
    """Two convolutions over the spectrum and a bidirectional LSTM; letters for CTC."""

    def __init__(self, hid=512, layers=3):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5), bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
                               nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5), bias=False), nn.BatchNorm2d(32), nn.ReLU(True))
        self.l = nn.LSTM(32 * 20, hid, layers, batch_first=True, bidirectional=True)
        self.o = nn.Linear(2 * hid, 29)

    def forward(self, x):
        return self.o(self.l(self.c(x.unsqueeze(1)).flatten(1, 2).transpose(1, 2))[0])


class Conformer(nn.Module):
    class Block(nn.Module):
        def __init__(self, d, heads, kernel=31):
            super().__init__()

            def feed():
                return nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))
            self.f1, self.f2 = feed(), feed()
            self.n1, self.a = nn.LayerNorm(d), nn.MultiheadAttention(d, heads, 0.1, batch_first=True)
            self.n2 = nn.LayerNorm(d)
            self.c = nn.Sequential(nn.Conv1d(d, 2 * d, 1), nn.GLU(1), nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d),
                                   nn.BatchNorm1d(d), nn.SiLU(), nn.Conv1d(d, d, 1))
            self.n3 = nn.LayerNorm(d)

        def forward(self, x):
            x = x + 0.5 * self.f1(x)
            y = self.n1(x)
            x = x + self.a(y, y, y, need_weights=False)[0]
            x = x + self.c(self.n2(x).transpose(1, 2)).transpose(1, 2)
            return self.n3(x + 0.5 * self.f2(x))

    def __init__(self, d=144, layers=4, heads=4):
        super().__init__()
        self.i = nn.Sequential(nn.Conv1d(80, d, 3, 2, 1), nn.SiLU(), nn.Conv1d(d, d, 3, 2, 1), nn.SiLU())
        self.b = nn.Sequential(*(Conformer.Block(d, heads) for _ in range(layers)))
        self.o = nn.Linear(d, 29)

    def forward(self, x):
        return self.o(self.b(self.i(x).transpose(1, 2)))


class Q(nn.Module):
    """The Atari network of DQN, on four stacked frames of bytes."""

    def __init__(self, actions=6):
        super().__init__()
        self.m = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
                               nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions))

    def forward(self, x):
        return self.m(x.float() / 255)


class ActorCritic(nn.Module):
    def __init__(self, hid=256, width=64, actions=8):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(width, hid), nn.Tanh(), nn.Linear(hid, hid), nn.Tanh())
        self.o = nn.Linear(hid, actions + 1)

    def forward(self, x):
        return self.o(self.b(x))


# ------------------------------------------------------------------------------------------------------------------ workloads

class Task:
    """What a workload is made of: a model, example inputs on the CPU, a loader, and `loss(model, batch on the GPU)`.

    `split` names parts of the model that have optimizers of their own, and `step(model, optimizers, batch, autocast)` replaces the
    usual step then; `side` are modules that are not trained.
    """

    def __init__(self, model, example, data, loss, split=None, step=None, side=()):
        self.model, self.example, self.data, self.loss, self.split, self.step, self.side = model, example, data, loss, split, step, side
        self.loader = None


def on(criterion):
    """A loss of (output, target) as one of (model, batch): the last of the batch is the target, the others are the inputs."""
    return lambda model, b: criterion(model(*b[:-1]), b[-1])


classify = on(F.cross_entropy)
tokenwise = on(lambda o, t: F.cross_entropy(o.flatten(0, 1), t.flatten()))
click = on(lambda o, t: F.binary_cross_entropy_with_logits(o, t.to(o.dtype)))


def transcribe(o, t):
    p = o.float().log_softmax(2).transpose(0, 1)
    n, b = p.shape[:2]
    return F.ctc_loss(p, t, (n,) * b, (t.shape[1],) * b, zero_infinity=True)


def focal(o, t):
    from torchvision.ops import sigmoid_focal_loss
    n = o.shape[2] - 4
    c = t[..., 0].long()
    hit = (c > 0).unsqueeze(2)
    want = F.one_hot(c, n + 1)[..., 1:].to(o.dtype)
    box = (F.smooth_l1_loss(o[..., n:].float(), t[..., 1:], reduction='none') * hit).sum()
    return (sigmoid_focal_loss(o[..., :n], want, reduction='sum') + box) / hit.sum().clamp(min=1)


def clipped(o, t):
    a, adv, ret, old = t.unbind(1)
    p = o[:, :-1].float().log_softmax(1)
    r = (p.gather(1, a.long().unsqueeze(1)).squeeze(1) - old).exp()
    entropy = -(p.exp() * p).sum(1).mean()
    return -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean() + 0.5 * F.mse_loss(o[:, -1].float(), ret) - 0.01 * entropy


def two(text):
    return map(int, text.split('x'))


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


def classifier(kind):
    import transformers as t
    base = dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, num_labels=2)
    if kind == 'bert':
        return t.BertForSequenceClassification(t.BertConfig(num_labels=2))
    if kind == 'distilbert':
        return t.DistilBertForSequenceClassification(t.DistilBertConfig(num_labels=2))
    if kind == 'gpt2':
        return t.GPT2ForSequenceClassification(t.GPT2Config(num_labels=2, pad_token_id=0))
    if kind == 'roberta':
        return t.RobertaForSequenceClassification(t.RobertaConfig(num_labels=2))
    if kind == 'electra':
        return t.ElectraForSequenceClassification(t.ElectraConfig(num_labels=2))
    if kind == 'albert':
        return t.AlbertForSequenceClassification(t.AlbertConfig(**base))
    if kind == 'deberta':
        return t.DebertaV2ForSequenceClassification(t.DebertaV2Config(vocab_size=50265, relative_attention=True, pos_att_type=['p2c', 'c2p'], **base))
    if kind == 'mobilebert':
        return t.MobileBertForSequenceClassification(t.MobileBertConfig(num_labels=2))
    raise SystemExit(f'unknown classifier {kind}')


def task(name, batch):
    kind, _, rest = name.partition(':')
    image = lambda n: torch.randn(batch, 3, n, n)
    ids = lambda n: torch.ones(batch, n, dtype=torch.long)
    if kind in ('tv', 'timm'):
        model, size = pictures(kind, rest)
        return Task(model, (image(size),), Images(size), classify)
    if kind in ('lstm', 'gru', 'bilstm'):
        h, l = two(rest)
        cell = nn.GRU if kind == 'gru' else nn.LSTM
        return Task(Recurrent(cell, h, l, kind == 'bilstm'), (torch.zeros(batch, 200, dtype=torch.long),), Tokens(200), classify)
    if kind == 'enc':
        d, l = two(rest)
        return Task(Encoder(d, l), (torch.zeros(batch, 200, dtype=torch.long),), Tokens(200), classify)
    if kind == 'hf':
        m, _, n = rest.partition('@')
        n = int(n or 128)
        return Task(Logits(classifier(m)), (ids(n),), Tokens(n), classify)
    if kind in ('dlrm', 'deepfm'):
        rows = int(float(rest))
        return Task(Ranker(rows, fm=kind == 'deepfm'), (torch.zeros(batch, 26, dtype=torch.long), torch.zeros(batch, 13)), Clicks(26, rows), click)
    if kind == 'ncf':
        rows = int(float(rest))
        return Task(Collaborative(rows), (torch.zeros(batch, 2, dtype=torch.long),), Ratings(rows), click)
    if kind == 'wav2vec2':
        import transformers as t
        m = t.Wav2Vec2ForSequenceClassification(t.Wav2Vec2Config(num_labels=2, apply_spec_augment=False, layerdrop=0.0))
        return Task(Logits(m), (torch.zeros(batch, int(rest)),), Waves(int(rest)), classify)
    if kind == 'seg':
        m, _, size = rest.partition('@')
        import torchvision
        model = Pixels(getattr(torchvision.models.segmentation, m)(weights=None, weights_backbone=None, num_classes=21))
        return Task(model, (image(int(size)),), Masks(int(size)), classify)
    if kind == 'unet':
        w, size = map(int, rest.split('@'))
        return Task(UNet(w), (image(size),), Masks(size), classify)
    if kind == 'det':
        m, _, size = rest.partition('@')
        model, size = Detector(m), int(size)
        with torch.no_grad():
            anchors = model.eval()(torch.zeros(1, 3, size, size)).shape[1]
        return Task(model, (image(size),), Boxes(size, anchors), on(focal))
    if kind == 'ddpm':
        w, size = map(int, rest.split('@'))
        keep = torch.linspace(1, 0.01, 1000)

        def denoise(model, b):
            x, t = b[0], torch.randint(0, 1000, (len(b[0]),), device=b[0].device)
            k, noise = keep.to(x.device, non_blocking=True)[t][:, None, None, None], torch.randn_like(x)
            return F.mse_loss(model(k.sqrt() * x + (1 - k).sqrt() * noise, t).float(), noise)
        return Task(Denoiser(w), (image(size), torch.zeros(batch, dtype=torch.long)), Images(size), denoise)
    if kind == 'gan':
        w, size = map(int, rest.split('@'))
        model = Gan(size, w)
        bce = F.binary_cross_entropy_with_logits

        def duel(model, optimizers, b, autocast):
            real = b[0]
            one, zero = torch.ones(len(real), 1, device=real.device), torch.zeros(len(real), 1, device=real.device)
            with autocast():
                fake = model.g(torch.randn(len(real), model.z, 1, 1, device=real.device))
                d = bce(model.d(real).float(), one) + bce(model.d(fake.detach()).float(), zero)
            optimizers[1].zero_grad(set_to_none=True)
            d.backward()
            optimizers[1].step()
            with autocast():
                g = bce(model.d(fake).float(), one)
            optimizers[0].zero_grad(set_to_none=True)
            g.backward()
            optimizers[0].step()
            return g
        return Task(model, (torch.randn(batch, model.z, 1, 1),), Images(size), None, (model.g, model.d), duel)
    if kind in ('gcn', 'gat', 'sage'):
        shape, _, nodes = rest.partition('@')
        h, l = two(shape)
        return Task(Graph(kind, h, l, int(nodes)), (torch.randn(batch, int(nodes), 32),), Signals(int(nodes)), classify)
    if kind == 's2s':
        shape, _, n = rest.partition('@')
        d, l = two(shape)
        return Task(Translator(d, l, length=int(n)), (ids(int(n)), ids(int(n))), Translations(int(n)), tokenwise)
    if kind in ('t5', 'bart'):
        import transformers as t
        shape, _, n = rest.partition('@')
        d, l = two(shape)
        if kind == 't5':
            m = t.T5ForConditionalGeneration(t.T5Config(d_model=d, d_kv=64, d_ff=4 * d, num_layers=l, num_heads=d // 64, decoder_start_token_id=0))
        else:
            m = t.BartForConditionalGeneration(t.BartConfig(d_model=d, encoder_layers=l, decoder_layers=l, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d,
                                                            encoder_attention_heads=d // 64, decoder_attention_heads=d // 64))
        return Task(Logits2(m), (ids(int(n)), ids(int(n))), Translations(int(n)), tokenwise)
    if kind in ('llama', 'gpt2lm'):
        import transformers as t
        shape, _, n = rest.partition('@')
        d, l = two(shape)
        if kind == 'llama':
            m = t.LlamaForCausalLM(t.LlamaConfig(hidden_size=d, intermediate_size=d * 8 // 3 // 64 * 64, num_hidden_layers=l, num_attention_heads=d // 64,
                                                 num_key_value_heads=max(1, d // 128), vocab_size=32000, max_position_embeddings=2048))
        else:
            m = t.GPT2LMHeadModel(t.GPT2Config(n_embd=d, n_layer=l, n_head=d // 64))
        return Task(Logits(m, use_cache=False), (ids(int(n)),), NextTokens(int(n)), tokenwise)
    if kind == 'ds2':
        shape, _, n = rest.partition('@')
        h, l = two(shape)
        return Task(DeepSpeech(h, l), (torch.randn(batch, 80, int(n)),), Spectra(int(n)), on(transcribe))
    if kind == 'conformer':
        shape, _, n = rest.partition('@')
        d, l = two(shape)
        return Task(Conformer(d, l), (torch.randn(batch, 80, int(n)),), Spectra(int(n)), on(transcribe))
    if kind == 'dqn':
        model, target = Q(), Q().requires_grad_(False)
        count = [0]

        def bellman(model, b):
            s, s2, a, r = b
            with torch.no_grad():
                if count[0] % 100 == 0:
                    target.load_state_dict(model.state_dict())
                want = r.float() + 0.99 * target(s2).max(1)[0].float()
            count[0] += 1
            return F.smooth_l1_loss(model(s).gather(1, a.unsqueeze(1)).squeeze(1).float(), want)
        return Task(model, (torch.zeros(batch, 4, 84, 84, dtype=torch.uint8),), Replay(), bellman, side=(target,))
    if kind == 'ppo':
        h = int(rest)
        return Task(ActorCritic(h), (torch.randn(batch, 64),), Rollouts(64), on(clipped))
    raise SystemExit(f'unknown workload {name}')


def build(name, batch, workers):
    t = task(name, batch)
    t.loader = DataLoader(t.data, batch_size=batch, num_workers=workers, pin_memory=True, persistent_workers=workers > 0,
                          prefetch_factor=4 if workers else None)
    return t


def make_optimizer(parameters, kind):
    if kind == 'sgd':
        return torch.optim.SGD(parameters, 0.01, momentum=0.9)
    if kind == 'adamw':
        return torch.optim.AdamW(parameters, 1e-4)
    raise SystemExit(f'unknown optimizer {kind}')


def train(name, batch, precision, workers, tell, stop, optimizer='sgd', built=None):
    """Run the loop until `stop()`. tell('steady', parameters) once it is warm, then tell('step', reserved bytes, waited for the GPU)
    after each step. `built` is what `build` gave, where it was called ahead."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != 'fp32'
    t = built or build(name, batch, workers)
    model = t.model.cuda().train()
    for m in t.side:
        m.cuda()
    optimizers = [make_optimizer(m.parameters(), optimizer) for m in t.split or (model,)]
    params = sum(p.numel() for p in model.parameters())
    autocast = lambda: torch.autocast('cuda', torch.bfloat16, enabled=precision == 'bf16')
    opt, loss_of = optimizers[0], t.loss
    done = 0
    for b in t.loader:
        b = [x.cuda(non_blocking=True) for x in b]
        if t.step:
            loss = t.step(model, optimizers, b, autocast)
        else:
            with autocast():
                loss = loss_of(model, b)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        done += 1
        if done % 2 == 0:
            loss.item()                                    # like most loops, look at the loss now and then
        if done == 8:
            torch.cuda.synchronize()
            tell('steady', params, True)
        if done > 8:
            tell('step', torch.cuda.max_memory_reserved(), done % 2 == 0)
            if stop():
                break


def preload():
    """Import what the models need, so that processes forked afterwards start at once."""
    import timm, torchvision, transformers as t  # noqa: F401
    import torchvision.models.detection.backbone_utils, torchvision.ops  # noqa: F401
    for m in ('BertForSequenceClassification', 'DistilBertForSequenceClassification', 'GPT2ForSequenceClassification', 'GPT2LMHeadModel',
              'RobertaForSequenceClassification', 'ElectraForSequenceClassification', 'AlbertForSequenceClassification',
              'DebertaV2ForSequenceClassification', 'MobileBertForSequenceClassification',
              'Wav2Vec2ForSequenceClassification', 'LlamaForCausalLM', 'T5ForConditionalGeneration', 'BartForConditionalGeneration'):
        try:
            getattr(t, m)
        except Exception as e:
            print('no', m, repr(e)[:100])
