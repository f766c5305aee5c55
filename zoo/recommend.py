#!/usr/bin/env python3
"""Recommendation models: DLRM, DeepFM and neural collaborative filtering, over random clicks.

  python3 zoo/recommend.py --model dlrm --batch 4096 --workers 4
"""
import common
import feeds
import torch
import torch.nn as nn
from common import Task


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


def task(kind, rest, batch):
    if kind in ('dlrm', 'deepfm'):
        rows = int(float(rest))
        return Task(Ranker(rows, fm=kind == 'deepfm'), (torch.zeros(batch, 26, dtype=torch.long), torch.zeros(batch, 13)), feeds.Clicks(26, rows), common.click)
    if kind == 'ncf':
        rows = int(float(rest))
        return Task(Collaborative(rows), (torch.zeros(batch, 2, dtype=torch.long),), feeds.Ratings(rows), common.click)
    raise AssertionError(kind)


KINDS = ('dlrm', 'deepfm', 'ncf')
MODELS = {
    'dlrm': ('dlrm:1e7', 4096), 'deepfm': ('deepfm:4e6', 2048), 'ncf': ('ncf:1e6', 4096)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
