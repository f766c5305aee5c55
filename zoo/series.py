#!/usr/bin/env python3
"""Models of time series: dilated causal convolutions (TCN, WaveNet) and N-BEATS.

  python3 zoo/series.py --model tcn --batch 64 --workers 2
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task

CHANNELS, AHEAD, LEVELS = 8, 24, 256


class Causal(nn.Module):
    """A convolution that sees the past alone."""

    def __init__(self, a, b, kernel, dilation):
        super().__init__()
        self.past, self.c = (kernel - 1) * dilation, nn.Conv1d(a, b, kernel, dilation=dilation)

    def forward(self, x):
        return self.c(F.pad(x, (self.past, 0)))


class Tcn(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        widths = [CHANNELS] + [width] * layers
        self.c = nn.ModuleList(nn.Sequential(Causal(a, b, 3, 2 ** (i % 8)), nn.ReLU(), nn.Dropout(0.1), Causal(b, b, 3, 2 ** (i % 8)), nn.ReLU())
                               for i, (a, b) in enumerate(zip(widths, widths[1:])))
        self.s = nn.ModuleList(nn.Conv1d(a, b, 1) if a != b else nn.Identity() for a, b in zip(widths, widths[1:]))
        self.o = nn.Linear(width, AHEAD)

    def forward(self, x):
        for c, s in zip(self.c, self.s):
            x = F.relu(c(x) + s(x))
        return self.o(x[..., -1])


class Beats(nn.Module):
    """N-BEATS: blocks of four layers, each explains a part of the past and tells a part of the future."""

    def __init__(self, width, blocks, length):
        super().__init__()
        inside = CHANNELS * length
        feed = lambda: nn.Sequential(*(x for i in range(4) for x in (nn.Linear(inside if i == 0 else width, width), nn.ReLU())), nn.Linear(width, inside + AHEAD))
        self.b = nn.ModuleList(feed() for _ in range(blocks))
        self.inside = inside

    def forward(self, x):
        x = x.flatten(1)
        told = 0
        for b in self.b:
            past, future = b(x).split((self.inside, AHEAD), 1)
            x, told = x - past, told + future
        return told


class WaveNet(nn.Module):
    """Gated causal convolutions over a wave of 256 levels; the next level of each sample."""

    def __init__(self, width, layers):
        super().__init__()
        self.e = nn.Embedding(LEVELS, width)
        self.c = nn.ModuleList(Causal(width, 2 * width, 2, 2 ** (i % 10)) for i in range(layers))
        self.r, self.s = (nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers)) for _ in range(2))
        self.o = nn.Sequential(nn.ReLU(), nn.Conv1d(width, LEVELS, 1), nn.ReLU(), nn.Conv1d(LEVELS, LEVELS, 1))

    def forward(self, x):
        x = self.e(x).transpose(1, 2)
        told = 0
        for c, r, s in zip(self.c, self.r, self.s):
            a, g = c(x).chunk(2, 1)
            y = a.tanh() * g.sigmoid()
            told, x = told + s(y), x + r(y)
        return self.o(told).transpose(1, 2)


def task(kind, rest, batch):
    shape, _, n = rest.partition('@')
    w, l = common.two(shape)
    n = int(n)
    if kind == 'wavenet':
        return Task(WaveNet(w, l), (torch.ones(batch, n, dtype=torch.long),), feeds.NextTokens(n, LEVELS), common.tokenwise)
    if kind in ('tcn', 'nbeats'):
        model = Tcn(w, l) if kind == 'tcn' else Beats(w, l, n)
        return Task(model, (torch.randn(batch, CHANNELS, n),), feeds.Series(CHANNELS, n, AHEAD), common.on(lambda o, t: F.mse_loss(o.float(), t)))
    raise AssertionError(kind)


KINDS = ('tcn', 'nbeats', 'wavenet')
MODELS = {
    'tcn': ('tcn:128x8@512', 64), 'nbeats': ('nbeats:512x8@256', 256), 'wavenet': ('wavenet:64x20@4000', 4)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
