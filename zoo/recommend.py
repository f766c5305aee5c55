#!/usr/bin/env python3
"""Recommendation models: DLRM, DeepFM, DCN, AutoInt, two towers and neural collaborative filtering over random clicks; SASRec over histories.

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


class Crossing(nn.Module):
    """DCN v2 (layers that cross every feature with the input), AutoInt (attention among fields) or wide and deep, over one table."""

    def __init__(self, kind, rows, fields=26, d=32, layers=3):
        super().__init__()
        self.kind = kind
        self.e, self.x = nn.Embedding(rows, d), nn.Linear(13, d)
        n = (fields + 1) * d
        self.wide = nn.Embedding(rows, 1) if kind == 'wide' else None
        self.c = nn.ModuleList(nn.Linear(n, n) for _ in range(layers)) if kind == 'dcn' else None
        self.a = nn.ModuleList(nn.MultiheadAttention(d, 2, batch_first=True) for _ in range(layers)) if kind == 'autoint' else None
        self.t = nn.Sequential(nn.Linear(n, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, c, x):
        z = torch.cat([self.e(c), self.x(x).unsqueeze(1)], 1)
        if self.kind == 'autoint':
            for a in self.a:
                z = torch.relu(z + a(z, z, z, need_weights=False)[0])
        z = z.flatten(1)
        if self.kind == 'dcn':
            y = z
            for w in self.c:
                y = z * w(y) + y
            z = y
        o = self.t(z).squeeze(1)
        return o + self.wide(c).sum(1).squeeze(1) if self.kind == 'wide' else o


class Towers(nn.Module):
    """Users and items, each by a table and a perceptron; every item of the batch against every user."""

    def __init__(self, rows, d=64):
        super().__init__()
        self.u, self.i = nn.Embedding(rows, d), nn.Embedding(rows, d)
        self.f, self.g = (nn.Sequential(nn.Linear(d, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, d)) for _ in range(2))

    def forward(self, x):
        return self.f(self.u(x[:, 0])) @ self.g(self.i(x[:, 1])).transpose(0, 1)


def matching(model, b):
    o = model(b[0])
    return nn.functional.cross_entropy(o.float() / 8, torch.arange(len(o), device=o.device))


class History(nn.Module):
    """SASRec: causal attention over what a user clicked; the next item among all."""

    def __init__(self, d, layers, length, items=20000):
        super().__init__()
        self.e, self.p = nn.Embedding(items, d), nn.Parameter(torch.randn(1, length, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, max(1, d // 64), 4 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.t = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.register_buffer('mask', torch.full((length, length), float('-inf')).triu(1))

    def forward(self, x):
        return self.t(self.e(x) + self.p, mask=self.mask, is_causal=True) @ self.e.weight.transpose(0, 1)


def task(kind, rest, batch):
    if kind in ('dcn', 'autoint', 'wide'):
        rows = int(float(rest))
        return Task(Crossing(kind, rows), (torch.zeros(batch, 26, dtype=torch.long), torch.zeros(batch, 13)), feeds.Clicks(26, rows), common.click)
    if kind == 'towers':
        rows = int(float(rest))
        return Task(Towers(rows), (torch.zeros(batch, 2, dtype=torch.long),), feeds.Ratings(rows), matching)
    if kind == 'sasrec':
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(History(d, l, int(n)), (torch.zeros(batch, int(n), dtype=torch.long),), feeds.NextTokens(int(n), 20000), common.tokenwise)
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


KINDS = ('dlrm', 'deepfm', 'dlrm-host', 'deepfm-host', 'ncf', 'dcn', 'autoint', 'wide', 'towers', 'sasrec')
MODELS = {
    'dlrm': ('dlrm:1e7', 4096), 'deepfm': ('deepfm:4e6', 2048), 'ncf': ('ncf:1e6', 4096), 'dcn': ('dcn:1e6', 2048), 'autoint': ('autoint:1e6', 1024),
    'wide-and-deep': ('wide:1e6', 2048), 'two-tower': ('towers:1e6', 2048), 'sasrec': ('sasrec:128x2@50', 128),
    'dlrm-host': ('dlrm-host:5e7', 4096), 'deepfm-host': ('deepfm-host:5e7', 2048)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
