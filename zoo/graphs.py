#!/usr/bin/env python3
"""Graph networks over one fixed random graph; a batch is many signals on it. GCN, GAT and GraphSAGE; GIN, GAT and message passing edge by edge.

  python3 zoo/graphs.py --model gcn --batch 64 --workers 2
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task


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


class Edges(nn.Module):
    """Edge by edge, as libraries of graph networks do it: what the edges carry is gathered from their sources and added up at their
    ends. GIN (sums), message passing (a perceptron for each edge) or GAT (weights by a softmax over what ends at a node)."""

    def __init__(self, kind, hid=128, layers=3, nodes=207, features=32, degree=8, heads=4):
        super().__init__()
        self.kind, self.nodes, self.heads = kind, nodes, heads
        g = torch.Generator().manual_seed(1)
        self.register_buffer('source', torch.randint(0, nodes, (nodes * degree,), generator=g))
        self.register_buffer('end', torch.randint(0, nodes, (nodes * degree,), generator=g))
        w = [features] + [hid] * layers
        two = lambda i, o: nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o))
        self.w = nn.ModuleList(nn.Linear(i, o) if kind == 'egat' else two(i + o if kind == 'mpnn' else i, o) for i, o in zip(w, w[1:]))
        self.m = nn.ModuleList(two(2 * i, o) for i, o in zip(w, w[1:])) if kind == 'mpnn' else None
        self.q = nn.ModuleList(nn.Linear(hid, 2 * heads) for _ in w[1:]) if kind == 'egat' else None
        self.n = nn.ModuleList(nn.LayerNorm(o) for o in w[1:])
        self.o = nn.Linear(hid, 10)

    def add(self, x):
        """What the edges carry (batch, edges, width), added up at their ends."""
        at = self.end[None, :, None].expand(x.shape[0], -1, x.shape[2])
        return torch.zeros_like(x[:, :1]).expand(-1, self.nodes, -1).scatter_add(1, at, x)

    def forward(self, x):
        for i, (w, n) in enumerate(zip(self.w, self.n)):
            if self.kind == 'gin':
                x = w(x + self.add(x.index_select(1, self.source)))
            elif self.kind == 'mpnn':
                e = self.m[i](torch.cat([x.index_select(1, self.source), x.index_select(1, self.end)], 2))
                x = w(torch.cat([x, self.add(e)], 2))
            else:
                x = w(x)
                s, d = self.q[i](x).chunk(2, 2)
                e = F.leaky_relu(s.index_select(1, self.source) + d.index_select(1, self.end), 0.2).float().clamp(max=20).exp()
                share = e / (self.add(e).index_select(1, self.end) + 1e-9)
                v = x.index_select(1, self.source).unflatten(2, (self.heads, -1))
                x = self.add((v * share.unsqueeze(3).to(v.dtype)).flatten(2))
            x = F.relu(n(x))
        return self.o(x.mean(1))


def task(kind, rest, batch):
    if kind in ('gin', 'egat', 'mpnn'):
        shape, _, nodes = rest.partition('@')
        h, l = common.two(shape)
        return Task(Edges(kind, h, l, int(nodes)), (torch.randn(batch, int(nodes), 32),), feeds.Signals(int(nodes)), common.classify)
    if kind in ('gcn', 'gat', 'sage'):
        shape, _, nodes = rest.partition('@')
        h, l = common.two(shape)
        return Task(Graph(kind, h, l, int(nodes)), (torch.randn(batch, int(nodes), 32),), feeds.Signals(int(nodes)), common.classify)
    raise AssertionError(kind)


KINDS = ('gcn', 'gat', 'sage', 'gin', 'egat', 'mpnn')
MODELS = {
    'gcn': ('gcn:128x3@207', 64), 'gat': ('gat:128x3@207', 32), 'sage': ('sage:256x3@207', 64),
    'gin': ('gin:128x3@1000', 32), 'edge-gat': ('egat:128x3@1000', 32), 'mpnn': ('mpnn:128x3@1000', 16)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
