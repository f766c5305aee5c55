#!/usr/bin/env python3
"""Models that generate images: DCGAN, a diffusion U-Net, a diffusion transformer, a variational autoencoder, and EDSR, which enlarges them.

  python3 zoo/generate.py --model gan --batch 64 --precision bf16 --workers 2
"""
import math

import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task


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
        t = self.t(waves(t, self.width))
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


class Duel(nn.Module):
    """What a step of a GAN computes: images made and judged, and real ones judged twice. The second time stands for those made, cut off from
    the generator, which cost the same: nothing goes back beyond the discriminator."""

    def __init__(self, gan):
        super().__init__()
        self.gan = gan

    def forward(self, z, real):
        return self.gan.d(real), self.gan.d(-real), self.gan.d(self.gan.g(z))


def waves(t, width):
    f = torch.exp(torch.arange(width // 2, device=t.device) * (-math.log(10000.) / (width // 2)))
    a = t.float()[:, None] * f[None]
    return torch.cat([a.sin(), a.cos()], 1)


class Diffuser(nn.Module):
    """DiT: a transformer over patches whose norms are steered by the time embedding."""

    class Block(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.n1, self.n2 = (nn.LayerNorm(d, elementwise_affine=False) for _ in range(2))
            self.a = nn.MultiheadAttention(d, heads, batch_first=True)
            self.f = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
            self.s = nn.Sequential(nn.SiLU(), nn.Linear(d, 6 * d))

        def forward(self, x, t):
            a, b, c, d, e, f = self.s(t).unsqueeze(1).chunk(6, 2)
            y = self.n1(x) * (1 + a) + b
            x = x + c * self.a(y, y, y, need_weights=False)[0]
            return x + f * self.f(self.n2(x) * (1 + d) + e)

    def __init__(self, d, layers, size, patch=4):
        super().__init__()
        self.d, self.side, self.patch = d, size // patch, patch
        self.i = nn.Conv2d(3, d, patch, patch)
        self.p = nn.Parameter(torch.randn(1, self.side ** 2, d) * 0.02)
        self.t = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d))
        self.b = nn.ModuleList(Diffuser.Block(d, max(1, d // 64)) for _ in range(layers))
        self.o = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 3 * patch ** 2))

    def forward(self, x, t):
        t = self.t(waves(t, self.d))
        x = self.i(x).flatten(2).transpose(1, 2) + self.p
        for b in self.b:
            x = b(x, t)
        return F.pixel_shuffle(self.o(x).transpose(1, 2).unflatten(2, (self.side, self.side)), self.patch)


class Autoencoder(nn.Module):
    """A convolutional variational autoencoder; its forward takes the noise too."""

    def __init__(self, width, size, z=128):
        super().__init__()
        w = [3, width, 2 * width, 4 * width, 8 * width]
        self.e = nn.Sequential(*(x for a, b in zip(w, w[1:]) for x in (nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU())), nn.Flatten())
        inside = w[-1] * (size // 16) ** 2
        self.m, self.i = nn.Linear(inside, 2 * z), nn.Linear(z, inside)
        self.d = nn.Sequential(nn.Unflatten(1, (w[-1], size // 16, size // 16)),
                               *(x for a, b in zip(w[:0:-1], w[-2:0:-1] + [width]) for x in (nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.SiLU())),
                               nn.Conv2d(width, 3, 3, padding=1))
        self.z = z

    def forward(self, x, noise):
        mean, spread = self.m(self.e(x)).chunk(2, 1)
        return self.d(self.i(mean + noise * (0.5 * spread.clamp(-10, 10)).exp())), mean, spread


class Enlarger(nn.Module):
    """EDSR: residual blocks without norms, then twice the size."""

    def __init__(self, width, blocks):
        super().__init__()
        conv = lambda a, b: nn.Conv2d(a, b, 3, padding=1)
        self.i = conv(3, width)
        self.b = nn.ModuleList(nn.Sequential(conv(width, width), nn.ReLU(True), conv(width, width)) for _ in range(blocks))
        self.o = nn.Sequential(conv(width, 4 * width), nn.PixelShuffle(2), conv(width, 3))

    def forward(self, x):
        x = self.i(x)
        y = x
        for b in self.b:
            y = y + 0.1 * b(y)
        return self.o(x + y)


def task(kind, rest, batch):
    image = lambda n: torch.randn(batch, 3, n, n)
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
        z = torch.randn(batch, model.z, 1, 1)
        return Task(model, (z,), feeds.Images(size), None, (model.g, model.d), duel, whole=(Duel(model), (z, image(size))))
    if kind == 'vae':
        w, size = map(int, rest.split('@'))
        model = Autoencoder(w, size)

        def bound(model, b):
            x = b[0]
            y, mean, spread = model(x, torch.randn(len(x), model.z, device=x.device))
            mean, spread = mean.float(), spread.float().clamp(-10, 10)
            return F.mse_loss(y.float(), x) - 0.0005 * (1 + spread - mean ** 2 - spread.exp()).mean()
        return Task(model, (image(size), torch.randn(batch, model.z)), feeds.Images(size), bound)
    if kind == 'edsr':
        shape, _, size = rest.partition('@')
        w, l = common.two(shape)
        size = int(size)

        def sharper(model, b):
            return F.l1_loss(model(F.avg_pool2d(b[0], 2)).float(), b[0])
        return Task(Enlarger(w, l), (image(size),), feeds.Images(2 * size), sharper)
    if kind in ('ddpm', 'dit'):
        shape, _, size = rest.partition('@')
        size = int(size)
        keep = torch.linspace(1, 0.01, 1000)

        def denoise(model, b):
            x, t = b[0], torch.randint(0, 1000, (len(b[0]),), device=b[0].device)
            k, noise = keep.to(x.device, non_blocking=True)[t][:, None, None, None], torch.randn_like(x)
            return F.mse_loss(model(k.sqrt() * x + (1 - k).sqrt() * noise, t).float(), noise)
        model = Denoiser(int(shape)) if kind == 'ddpm' else Diffuser(*common.two(shape), size)
        return Task(model, (image(size), torch.zeros(batch, dtype=torch.long)), feeds.Images(size), denoise)
    raise AssertionError(kind)


KINDS = ('gan', 'ddpm', 'dit', 'vae', 'edsr')
MODELS = {
    'gan': ('gan:64@64', 128), 'ddpm': ('ddpm:64@32', 64), 'dit': ('dit:384x12@64', 32), 'vae': ('vae:32@64', 128),
    'edsr': ('edsr:64x16@48', 16)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
