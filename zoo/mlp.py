#!/usr/bin/env python3
"""A multi-layer perceptron over random vectors.

  python3 zoo/mlp.py --model mlp --batch 1024 --workers 2
"""
import common
import feeds
import torch
import torch.nn as nn
from common import Task

WIDTH = 784                                    # of a vector: a picture of 28 x 28


class Mlp(nn.Module):
    def __init__(self, hid=1024, layers=4, classes=10):
        super().__init__()
        w = [WIDTH] + [hid] * layers
        self.m = nn.Sequential(*(x for i, o in zip(w, w[1:]) for x in (nn.Linear(i, o), nn.ReLU())), nn.Linear(hid, classes))

    def forward(self, x):
        return self.m(x)


def task(kind, rest, batch):
    if kind == 'mlp':
        h, l = common.two(rest)
        return Task(Mlp(h, l), (torch.randn(batch, WIDTH),), feeds.Vectors(WIDTH), common.classify)
    raise AssertionError(kind)


KINDS = ('mlp',)
MODELS = {
    'mlp': ('mlp:1024x4', 1024), 'mlp-wide': ('mlp:4096x6', 1024)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
