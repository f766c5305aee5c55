#!/usr/bin/env python3
"""Speech models: wav2vec2 and data2vec over waves, DeepSpeech 2 and a Conformer over spectra with the CTC loss.

  python3 zoo/speech.py --model data2vec --batch 8 --precision bf16 --workers 2

wav2vec2 takes its layers from the package transformers; the others need PyTorch alone.
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Logits, Task


class DeepSpeech(nn.Module):
    """Two convolutions over the spectrum and a bidirectional LSTM; letters for CTC."""

    def __init__(self, hid=512, layers=3):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5), bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
                               nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5), bias=False), nn.BatchNorm2d(32), nn.ReLU(True))
        self.l = nn.LSTM(32 * 20, hid, layers, batch_first=True, bidirectional=True)
        self.o = nn.Linear(2 * hid, 29)

    def forward(self, x):
        return self.o(self.l(self.c(x.unsqueeze(1)).flatten(1, 2).transpose(1, 2))[0])


class Conformer(nn.Module):
    class Block(nn.Module):
        def __init__(self, d, heads, kernel=31):
            super().__init__()

            def feed():
                return nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))
            self.f1, self.f2 = feed(), feed()
            self.n1, self.a = nn.LayerNorm(d), nn.MultiheadAttention(d, heads, 0.1, batch_first=True)
            self.n2 = nn.LayerNorm(d)
            self.c = nn.Sequential(nn.Conv1d(d, 2 * d, 1), nn.GLU(1), nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d),
                                   nn.BatchNorm1d(d), nn.SiLU(), nn.Conv1d(d, d, 1))
            self.n3 = nn.LayerNorm(d)

        def forward(self, x):
            x = x + 0.5 * self.f1(x)
            y = self.n1(x)
            x = x + self.a(y, y, y, need_weights=False)[0]
            x = x + self.c(self.n2(x).transpose(1, 2)).transpose(1, 2)
            return self.n3(x + 0.5 * self.f2(x))

    def __init__(self, d=144, layers=4, heads=4):
        super().__init__()
        self.i = nn.Sequential(nn.Conv1d(80, d, 3, 2, 1), nn.SiLU(), nn.Conv1d(d, d, 3, 2, 1), nn.SiLU())
        self.b = nn.Sequential(*(Conformer.Block(d, heads) for _ in range(layers)))
        self.o = nn.Linear(d, 29)

    def forward(self, x):
        return self.o(self.b(self.i(x).transpose(1, 2)))


class Listener(nn.Module):
    """data2vec's shape: seven strided convolutions over the wave, a convolution for positions, a transformer; two classes."""

    def __init__(self, d=768, layers=12, heads=12, width=512):
        super().__init__()
        convs, before = [], 1
        for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
            convs += [nn.Conv1d(before, width, kernel, stride, bias=False), nn.GroupNorm(1, width), nn.GELU()]
            before = width
        self.c = nn.Sequential(*convs)
        self.i = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, d))
        self.p = nn.Sequential(nn.Conv1d(d, d, 19, padding=9, groups=16), nn.GELU())
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.1, activation='gelu', batch_first=True)
        self.t = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.o = nn.Linear(d, 2)

    def forward(self, x):
        x = self.i(self.c(x.unsqueeze(1)).transpose(1, 2))
        x = x + self.p(x.transpose(1, 2)).transpose(1, 2)
        return self.o(self.t(x).mean(1))


def transcribe(o, t):
    p = o.float().log_softmax(2).transpose(0, 1)
    n, b = p.shape[:2]
    return F.ctc_loss(p, t, (n,) * b, (t.shape[1],) * b, zero_infinity=True)


def task(kind, rest, batch):
    if kind == 'd2v':
        return Task(Listener(), (torch.zeros(batch, int(rest)),), feeds.Waves(int(rest)), common.classify)
    if kind == 'wav2vec2':
        import transformers as t
        m = t.Wav2Vec2ForSequenceClassification(t.Wav2Vec2Config(num_labels=2, apply_spec_augment=False, layerdrop=0.0))
        return Task(Logits(m), (torch.zeros(batch, int(rest)),), feeds.Waves(int(rest)), common.classify)
    if kind == 'ds2':
        shape, _, n = rest.partition('@')
        h, l = common.two(shape)
        return Task(DeepSpeech(h, l), (torch.randn(batch, 80, int(n)),), feeds.Spectra(int(n)), common.on(transcribe))
    if kind == 'conformer':
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(Conformer(d, l), (torch.randn(batch, 80, int(n)),), feeds.Spectra(int(n)), common.on(transcribe))
    raise AssertionError(kind)


KINDS = ('d2v', 'wav2vec2', 'ds2', 'conformer')
MODELS = {
    'data2vec': ('d2v:32000', 8), 'wav2vec2': ('wav2vec2:32000', 8), 'deepspeech': ('ds2:512x3@300', 16),
    'conformer': ('conformer:144x8@400', 16)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
