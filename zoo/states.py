#!/usr/bin/env python3
"""State-space models and their kin: Mamba-2's chunked scan, S4D by Fourier transforms, and retention; next tokens.

  python3 zoo/states.py --model mamba2 --batch 16 --precision bf16 --workers 1

PyTorch alone, no kernels of their own: a scan is matrix products over chunks, as Mamba-2 writes it.
"""
import math

import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task

VOCABULARY = 10000


def below(n, diagonal=0):
    """0 below the diagonal and on it (or from `diagonal` down), minus infinity above."""
    return torch.full((n, n), float('-inf')).triu(1 + diagonal)


class Scan(nn.Module):
    """A block of Mamba-2: a short convolution, the selective scan in chunks, a gate."""

    def __init__(self, d, length, head=64, state=64, chunk=64, kernel=4):
        super().__init__()
        self.inner, self.state, self.head, self.chunk, self.length = 2 * d, state, head, chunk, length
        self.heads = self.inner // head
        both = self.inner + 2 * state
        self.i = nn.Linear(d, self.inner + both + self.heads, bias=False)
        self.c = nn.Conv1d(both, both, kernel, padding=kernel - 1, groups=both)
        self.a = nn.Parameter(torch.log(torch.linspace(1, 16, self.heads)))
        self.dt = nn.Parameter(torch.full((self.heads,), -4.0))
        self.skip = nn.Parameter(torch.ones(self.heads, 1))
        self.n, self.o = nn.LayerNorm(self.inner), nn.Linear(self.inner, d, bias=False)
        self.register_buffer('within', below(chunk))
        self.register_buffer('across', below(length // chunk, -1))

    def chunks(self, x):
        return x.unflatten(1, (self.length // self.chunk, self.chunk))

    def forward(self, x):
        z, x, dt = self.i(x).split((self.inner, self.inner + 2 * self.state, self.heads), 2)
        x = F.silu(self.c(x.transpose(1, 2))[..., :self.length]).transpose(1, 2)
        x, b, c = x.split((self.inner, self.state, self.state), 2)
        dt = F.softplus(dt.float() + self.dt)
        x = x.unflatten(2, (self.heads, self.head))
        v = self.chunks(x * dt.unsqueeze(3)).transpose(2, 3)                       # batch, chunk, head, time, width
        b, c = self.chunks(b).unsqueeze(2), self.chunks(c).unsqueeze(2)            # batch, chunk, 1, time, state
        decay = self.chunks(-self.a.exp() * dt).transpose(2, 3).cumsum(3)          # batch, chunk, head, time
        near = torch.exp(decay.unsqueeze(4) - decay.unsqueeze(3) + self.within)
        y = (c @ b.transpose(3, 4) * near).to(v.dtype) @ v
        last = decay[..., -1:]
        kept = b.transpose(3, 4).to(v.dtype) @ (v * torch.exp(last - decay).unsqueeze(4).to(v.dtype))   # what each chunk leaves: state x width
        total = last.squeeze(3).transpose(1, 2)                                    # batch, head, chunk
        upto = total.cumsum(2)
        far = torch.exp((upto - total).unsqueeze(3) - upto.unsqueeze(2) + self.across)
        came = (far.to(kept.dtype) @ kept.transpose(1, 2).flatten(3)).unflatten(3, (self.state, self.head)).transpose(1, 2)
        y = y + (c.to(came.dtype) @ came) * torch.exp(decay).unsqueeze(4).to(came.dtype)
        y = y.transpose(2, 3).flatten(1, 2) + self.skip * x
        return self.o(self.n(y.flatten(2) * F.silu(z)))


class Fourier(nn.Module):
    """A block of S4D: each channel is convolved with a kernel of `states` decaying waves, by Fourier transforms."""

    def __init__(self, d, length, states=32):
        super().__init__()
        self.length = length
        self.dt = nn.Parameter(torch.linspace(math.log(0.001), math.log(0.1), d))
        self.re = nn.Parameter(torch.log(torch.full((d, states), 0.5)))
        self.im = nn.Parameter(math.pi * torch.arange(states).repeat(d, 1).float())
        self.c = nn.Parameter(torch.randn(2, d, states) * 0.5 ** 0.5)
        self.skip = nn.Parameter(torch.ones(d))
        self.o = nn.Linear(d, 2 * d)
        self.register_buffer('t', torch.arange(length).float())

    def forward(self, x):
        dt = self.dt.exp().unsqueeze(1)
        fade = torch.exp((-self.re.exp() * dt).unsqueeze(2) * self.t)
        turn = (self.im * dt).unsqueeze(2) * self.t
        kernel = 2 * (fade * (self.c[0].unsqueeze(2) * turn.cos() - self.c[1].unsqueeze(2) * turn.sin())).sum(1)
        u = x.float().transpose(1, 2)
        y = torch.fft.irfft(torch.fft.rfft(u, 2 * self.length) * torch.fft.rfft(kernel.float(), 2 * self.length), 2 * self.length)[..., :self.length]
        y = F.gelu(y.transpose(1, 2).to(x.dtype) + self.skip * x)
        return F.glu(self.o(y), 2)


class Retention(nn.Module):
    """A block of RetNet in its parallel form: attention without softmax, with a decay for each head."""

    def __init__(self, d, length, head=64):
        super().__init__()
        self.heads = d // head
        self.q = nn.Linear(d, 4 * d, bias=False)
        self.n, self.o = nn.GroupNorm(self.heads, d), nn.Linear(d, d, bias=False)
        gone = torch.arange(length)[:, None] - torch.arange(length)[None]
        fade = (1 - 2.0 ** (-5 - torch.arange(self.heads).float()))[:, None, None]
        self.register_buffer('decay', torch.where(gone >= 0, fade ** gone.clamp(min=0), 0.0) * head ** -0.5)

    def forward(self, x):
        q, k, v, g = self.q(x).chunk(4, 2)
        q, k, v = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (q, k, v))
        y = (q @ k.transpose(2, 3) * self.decay).to(v.dtype) @ v
        y = self.n(y.transpose(1, 2).flatten(2).flatten(0, 1)).view_as(g)
        return self.o(F.silu(g) * y)


class Sequence(nn.Module):
    """Blocks with residuals; retention and S4D have a feed-forward part too."""

    def __init__(self, kind, d, layers, length, vocab=VOCABULARY):
        super().__init__()
        block = {'mamba2': Scan, 's4d': Fourier, 'retnet': Retention}[kind]
        self.e = nn.Embedding(vocab, d)
        self.b = nn.ModuleList(block(d, length) for _ in range(layers))
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        feed = lambda: nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.f = nn.ModuleList(feed() for _ in range(layers)) if kind != 'mamba2' else None
        self.o = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, vocab, bias=False))

    def forward(self, x):
        x = self.e(x)
        for i, (b, n) in enumerate(zip(self.b, self.n)):
            x = x + b(n(x))
            if self.f is not None:
                x = x + self.f[i](x)
        return self.o(x)


def task(kind, rest, batch):
    if kind in KINDS:
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(Sequence(kind, d, l, int(n)), (torch.ones(batch, int(n), dtype=torch.long),), feeds.NextTokens(int(n)), common.tokenwise)
    raise AssertionError(kind)


KINDS = ('mamba2', 's4d', 'retnet')
MODELS = {
    'mamba2': ('mamba2:512x8@256', 16), 's4d': ('s4d:256x6@512', 16), 'retnet': ('retnet:512x8@256', 16)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
