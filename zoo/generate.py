#!/usr/bin/env python3
"""Models that generate images: DCGAN and a diffusion U-Net.

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
        return Task(model, (torch.randn(batch, model.z, 1, 1),), feeds.Images(size), None, (model.g, model.d), duel)
    if kind == 'ddpm':
        w, size = map(int, rest.split('@'))
        keep = torch.linspace(1, 0.01, 1000)

        def denoise(model, b):
            x, t = b[0], torch.randint(0, 1000, (len(b[0]),), device=b[0].device)
            k, noise = keep.to(x.device, non_blocking=True)[t][:, None, None, None], torch.randn_like(x)
            return F.mse_loss(model(k.sqrt() * x + (1 - k).sqrt() * noise, t).float(), noise)
        return Task(Denoiser(w), (image(size), torch.zeros(batch, dtype=torch.long)), feeds.Images(size), denoise)
    raise AssertionError(kind)


KINDS = ('gan', 'ddpm')
MODELS = {
    'gan': ('gan:64@64', 128), 'ddpm': ('ddpm:64@32', 64)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
