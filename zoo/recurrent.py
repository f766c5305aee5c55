#!/usr/bin/env python3
"""Recurrent models: LSTM, GRU and bidirectional LSTM, over random tokens.

  python3 zoo/recurrent.py --model lstm --batch 64 --workers 1
"""
import common
import feeds
import torch
import torch.nn as nn
from common import Task


class Recurrent(nn.Module):
    def __init__(self, cell=nn.LSTM, hid=512, layers=2, both=False, vocab=10000, emb=256):
        super().__init__()
        self.e = nn.Embedding(vocab, emb)
        self.l = cell(emb, hid, layers, batch_first=True, bidirectional=both)
        self.o = nn.Linear(hid * (2 if both else 1), 2)

    def forward(self, x):
        return self.o(self.l(self.e(x))[0][:, -1])


def task(kind, rest, batch):
    if kind in ('lstm', 'gru', 'bilstm'):
        h, l = common.two(rest)
        cell = nn.GRU if kind == 'gru' else nn.LSTM
        return Task(Recurrent(cell, h, l, kind == 'bilstm'), (torch.zeros(batch, 200, dtype=torch.long),), feeds.Tokens(200), common.classify)
    raise AssertionError(kind)


KINDS = ('lstm', 'gru', 'bilstm')
MODELS = {
    'lstm': ('lstm:512x2', 32), 'gru': ('gru:512x2', 32), 'bilstm': ('bilstm:256x2', 32)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
