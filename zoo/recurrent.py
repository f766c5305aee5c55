#!/usr/bin/env python3
"""Recurrent models: LSTM, GRU and bidirectional LSTM classifiers, and a translator, over random tokens.

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


class RecurrentTranslator(nn.Module):
    """An LSTM encoder and decoder with attention between them, of the kind of GNMT."""

    def __init__(self, hid=512, layers=4, vocab=10000):
        super().__init__()
        self.s, self.t = nn.Embedding(vocab, hid), nn.Embedding(vocab, hid)
        self.first = nn.LSTM(hid, hid // 2, 1, batch_first=True, bidirectional=True)
        self.encoder = nn.LSTM(hid, hid, layers - 1, batch_first=True)
        self.decoder = nn.LSTM(hid, hid, layers, batch_first=True)
        self.attention = nn.MultiheadAttention(hid, 1, batch_first=True)
        self.o = nn.Linear(2 * hid, vocab)

    def forward(self, src, tgt):
        seen = self.encoder(self.first(self.s(src))[0])[0]
        said = self.decoder(self.t(tgt))[0]
        context = self.attention(said, seen, seen, need_weights=False)[0]
        return self.o(torch.cat([said, context], 2))


def task(kind, rest, batch):
    if kind in ('lstm', 'gru', 'bilstm'):
        h, l = common.two(rest)
        cell = nn.GRU if kind == 'gru' else nn.LSTM
        return Task(Recurrent(cell, h, l, kind == 'bilstm'), (torch.zeros(batch, 200, dtype=torch.long),), feeds.Tokens(200), common.classify)
    if kind == 'gnmt':
        shape, _, n = rest.partition('@')
        h, l = common.two(shape)
        ids = torch.zeros(batch, int(n), dtype=torch.long)
        return Task(RecurrentTranslator(h, l), (ids, ids), feeds.Translations(int(n)), common.tokenwise)
    raise AssertionError(kind)


KINDS = ('lstm', 'gru', 'bilstm', 'gnmt')
MODELS = {
    'lstm': ('lstm:512x2', 32), 'gru': ('gru:512x2', 32), 'bilstm': ('bilstm:256x2', 32),
    'recurrent-translator': ('gnmt:512x4@32', 64)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
