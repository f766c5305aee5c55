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
    """DLRM-like (dot interactions) or DeepFM-like (sum and deep part) click model; with 0 rows it has no table."""

    def __init__(self, rows, fields=26, d=64, fm=False):
        super().__init__()
        self.fm = fm
        self.e = nn.Embedding(rows, d, sparse=False) if rows else None
        self.b = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, d), nn.ReLU())
        n = fields + 1
        self.t = nn.Sequential(nn.Linear(n * d if fm else d + n * (n - 1) // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                               nn.Linear(256, 1))

    def forward(self, c, x):
        return self.rank(self.e(c), x)

    def rank(self, rows, x):
        z = torch.cat([rows, self.b(x).unsqueeze(1)], 1)
        if self.fm:
            return self.t(z.flatten(1)).squeeze(1)
        i = torch.triu_indices(z.shape[1], z.shape[1], 1, device=z.device)
        return self.t(torch.cat([z[:, -1], (z @ z.transpose(1, 2))[:, i[0], i[1]]], 1)).squeeze(1)


class HostRanker(Ranker):
    """The same with its table in host memory: rows are looked up and updated there, as where a table is too large for a GPU."""

    def __init__(self, rows, fields=26, d=64, fm=False):
        super().__init__(0, fields, d, fm)
        # In a list, so that it is no part of the module and does not move to the GPU; filled, so that its pages are there.
        self.table = [torch.empty(rows, d).fill_(0.01)]

    def forward(self, rows, x):
        return self.rank(rows, x)


def host_step(model, optimizers, b, autocast):
    c, x, y = b
    table, ids = model.table[0], c.cpu()
    rows = table[ids].to(x.device).requires_grad_()
    with autocast():
        loss = common.click(model, (rows, x, y))
    optimizers[0].zero_grad(set_to_none=True)
    loss.backward()
    optimizers[0].step()
    table.index_add_(0, ids.flatten(), rows.grad.flatten(0, 1).cpu(), alpha=-0.01)
    return loss


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
    if kind in ('dlrm-host', 'deepfm-host'):
        rows = int(float(rest))
        example = (torch.zeros(batch, 26, 64), torch.zeros(batch, 13))
        return Task(HostRanker(rows, fm=kind == 'deepfm-host'), example, feeds.Clicks(26, rows), common.click, step=host_step)
    if kind == 'ncf':
        rows = int(float(rest))
        return Task(Collaborative(rows), (torch.zeros(batch, 2, dtype=torch.long),), feeds.Ratings(rows), common.click)
    raise AssertionError(kind)


KINDS = ('dlrm', 'deepfm', 'dlrm-host', 'deepfm-host', 'ncf')
MODELS = {
    'dlrm': ('dlrm:1e7', 4096), 'deepfm': ('deepfm:4e6', 2048), 'ncf': ('ncf:1e6', 4096),
    'dlrm-host': ('dlrm-host:5e7', 4096), 'deepfm-host': ('deepfm-host:5e7', 2048)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
