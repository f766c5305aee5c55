#!/usr/bin/env python3
"""Classifiers of point clouds: PointNet, PointNet++ with neighbours by distance, DGCNN and a point transformer.

  python3 zoo/points.py --model dgcnn --batch 16 --workers 2
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task

CLASSES = 40


def near(x, y, k):
    """For each point of y, the indices of the k nearest of x. Both: batch, 3 or more, points."""
    away = (y * y).sum(1).unsqueeze(2) - 2 * y.transpose(1, 2) @ x + (x * x).sum(1).unsqueeze(1)
    return away.topk(k, 2, largest=False)[1]


def take(x, i):
    """Columns of x (batch, width, points) at i (batch, groups, k): batch, width, groups, k."""
    k = i.shape[2]
    return x.gather(2, i.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1)).unflatten(2, (-1, k))


def shared(dimensions, *widths):
    """One perceptron for every point."""
    conv, norm = (nn.Conv1d, nn.BatchNorm1d) if dimensions == 1 else (nn.Conv2d, nn.BatchNorm2d)
    return nn.Sequential(*(x for a, b in zip(widths, widths[1:]) for x in (conv(a, b, 1, bias=False), norm(b), nn.ReLU(True))))


def head(width):
    return nn.Sequential(nn.Linear(width, 512), nn.BatchNorm1d(512), nn.ReLU(True), nn.Dropout(0.3), nn.Linear(512, 256), nn.ReLU(True),
                         nn.Linear(256, CLASSES))


class PointNet(nn.Module):
    def __init__(self, w=64):
        super().__init__()
        self.m, self.o = shared(1, 3, w, w, w, 2 * w, 16 * w), head(16 * w)

    def forward(self, x):
        return self.o(self.m(x).amax(2))


class PointNet2(nn.Module):
    """Three levels: every fourth point gathers its nearest neighbours of the level below."""

    def __init__(self, w=64, k=32):
        super().__init__()
        self.k = k
        self.m = nn.ModuleList((shared(2, 3, w, w, 2 * w), shared(2, 3 + 2 * w, 2 * w, 2 * w, 4 * w), shared(2, 3 + 4 * w, 4 * w, 4 * w, 16 * w)))
        self.o = head(16 * w)

    def forward(self, x):
        at, seen = x, None
        for m in self.m:
            centre = at[..., ::4]
            i = near(at, centre, self.k)
            y = take(at, i) - centre.unsqueeze(3)
            seen = m(y if seen is None else torch.cat([y, take(seen, i)], 1)).amax(3)
            at = centre
        return self.o(seen.amax(2))


class Edges(nn.Module):
    """DGCNN: neighbours are looked for anew in every layer, among what the layer before made."""

    def __init__(self, k=20, w=64):
        super().__init__()
        self.k = k
        self.m = nn.ModuleList(shared(2, 2 * a, b) for a, b in ((3, w), (w, w), (w, 2 * w), (2 * w, 4 * w)))
        self.j, self.o = shared(1, 8 * w, 16 * w), head(32 * w)

    def forward(self, x):
        seen = []
        for m in self.m:
            y = take(x, near(x, x, self.k))
            here = x.unsqueeze(3).expand_as(y)
            x = m(torch.cat([y - here, here], 1)).amax(3)
            seen.append(x)
        x = self.j(torch.cat(seen, 1))
        return self.o(torch.cat([x.amax(2), x.mean(2)], 1))


class PointTransformer(nn.Module):
    """Point cloud transformer: attention among all points, each layer adds what differs from it."""

    def __init__(self, d=128, layers=4):
        super().__init__()
        self.i = shared(1, 3, d, d)
        self.q, self.v = (nn.ModuleList(nn.Conv1d(d, w, 1, bias=False) for _ in range(layers)) for w in (d // 4, d))
        self.m = nn.ModuleList(shared(1, d, d) for _ in range(layers))
        self.j, self.o = shared(1, layers * d, 8 * d), head(8 * d)

    def forward(self, x):
        x = self.i(x)
        seen = []
        for q, v, m in zip(self.q, self.v, self.m):
            a = q(x)
            a = (a.transpose(1, 2) @ a).softmax(2)
            x = x + m(x - v(x) @ (a / (1e-9 + a.sum(1, keepdim=True))))
            seen.append(x)
        return self.o(self.j(torch.cat(seen, 1)).amax(2))


def task(kind, rest, batch):
    shape, _, n = rest.partition('@')
    n = int(n)
    if kind == 'pointnet':
        model = PointNet(int(shape))
    elif kind == 'pointnet2':
        model = PointNet2(int(shape))
    elif kind == 'dgcnn':
        model = Edges(int(shape))
    elif kind == 'pct':
        model = PointTransformer(*common.two(shape))
    else:
        raise AssertionError(kind)
    return Task(model, (torch.randn(batch, 3, n),), feeds.Clouds(n, CLASSES), common.classify)


KINDS = ('pointnet', 'pointnet2', 'dgcnn', 'pct')
MODELS = {
    'pointnet': ('pointnet:64@1024', 32), 'pointnet2': ('pointnet2:64@1024', 16), 'dgcnn': ('dgcnn:20@1024', 16),
    'point-transformer': ('pct:128x4@1024', 16)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
