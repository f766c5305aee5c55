#!/usr/bin/env python3
"""Writes cells of the operator table that no graph has brought: shapes drawn over the whole range that training uses.

    python3 tools/lab/grid.py --most 1500 > grid.csv

tools/lab/cells.py takes shapes from graphs, so a model of another family may have operators that are like none of them. These are drawn at random
(a fixed seed), from sizes that occur in any network, evenly in logarithms; no family is named with them, so no evaluation leaves them out. Costs come from
`sharewell inspect`, as for real graphs: one ONNX file with an operator beside the other. For developers; Python 3 and a built sharewell.
"""
import argparse
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from cells import COLUMNS, PRODUCTS

MOST_ELEMENTS, MOST_FLOPS = 1 << 27, 2e12
# How many of each kind in a thousand.
KINDS = {'linear': 200, 'batched': 80, 'attention': 40, 'softmax': 30, 'batch_norm': 70, 'layer_norm': 50, 'group_norm': 25, 'activation': 45, 'same': 25,
         'channelwise': 45, 'gate': 25, 'mean': 30, 'conv': 75, 'line': 45, 'volume': 20, 'transposed': 20, 'pointwise': 30, 'stem': 20, 'depthwise': 60,
         'grouped': 60, 'recurrent': 60, 'pool': 20, 'embedding': 20, 'join': 15}
WIDTHS = [8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 3072, 4096]


# ---- ONNX, as much as is needed: fields of protobuf
def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


class Graph:
    def __init__(self):
        self.nodes, self.inits, self.inputs, self.outputs, self.count = [], [], [], [], 0

    def name(self, what):
        self.count += 1
        return f'{what}_{self.count}'

    def input(self, dims, kind=1):
        name = self.name('x')
        shape = b''.join(field(1, field(1, d)) for d in dims)
        self.inputs.append(field(1, name) + field(2, field(1, field(1, kind) + field(2, shape))))
        return name

    def weight(self, *dims):
        name = self.name('w')
        self.inits.append(b''.join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(14, 1))
        return name

    def integers(self, values):
        name = self.name('n')
        self.inits.append(field(1, len(values)) + field(2, 7) + b''.join(field(7, v) for v in values) + field(8, name))
        return name

    def node(self, kind, inputs, mark=False, outputs=1, **attributes):
        out = [self.name('y') for _ in range(outputs)]
        text = b''.join(field(1, i) for i in inputs) + b''.join(field(2, o) for o in out)
        text += field(3, self.name('wanted' if mark else 'other')) + field(4, kind)
        for name, value in attributes.items():
            if isinstance(value, str):
                body = field(4, value) + field(20, 3)
            elif isinstance(value, int):
                body = field(3, value) + field(20, 2)
            else:
                body = b''.join(field(8, v) for v in value) + field(20, 7)
            text += field(5, field(1, name) + body)
        self.nodes.append(text)
        if mark:
            self.outputs.append(field(1, out[0]))
        return out[0]

    def bytes(self):
        graph = b''.join(field(1, n) for n in self.nodes) + b''.join(field(5, i) for i in self.inits)
        graph += b''.join(field(11, i) for i in self.inputs) + b''.join(field(12, o) for o in self.outputs)
        return field(1, 10) + field(2, 'grid') + field(7, graph) + field(8, field(2, 23))

    # What wants a gradient and is as wide as a product leaves it.
    def rows(self, *dims):
        return self.node('MatMul', [self.input((*dims[:-1], 8)), self.weight(8, dims[-1])])

    def maps(self, batch, channels, *space):
        return self.node('Conv', [self.input((batch, 8, *space)), self.weight(channels, 8, *[1] * len(space))], kernel_shape=[1] * len(space))


class Draw:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def one(self, *values):
        return self.r.choice(values)

    def log(self, low, high):
        return round(math.exp(self.r.uniform(math.log(low), math.log(high))))

    def width(self, low=8, high=4096):
        return self.r.choice([w for w in WIDTHS if low <= w <= high])

    def batch(self):
        return self.one(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

    def side(self):
        return self.one(4, 7, 8, 14, 16, 28, 32, 48, 56, 64, 96, 112, 128)


# ---- one operator of each kind; False: too large, drawn again
def linear(g, d):
    thin = d.r.random() < 0.3
    k, n = (d.one(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48) if thin else d.width(32) for _ in range(2))
    rows = d.log(16, 4e6 if thin else 3e5)
    if max(rows * k, rows * n, n * k) > MOST_ELEMENTS or rows * k * n * 6 > MOST_FLOPS:
        return False
    inputs = [g.rows(rows, k), g.weight(n, k)] + ([g.weight(n)] if d.r.random() < 0.7 else [])
    g.node('Gemm', inputs, True, transB=1)


def batched(g, d):
    many, (m, k, n) = d.log(4, 8192), (d.one(8, 16, 24, 32, 48, 49, 64, 96, 128, 196, 256, 384, 512) for _ in range(3))
    if many * max(m * k, k * n, m * n) > MOST_ELEMENTS or many * m * k * n * 6 > MOST_FLOPS:
        return False
    g.node('MatMul', [g.rows(many, m, k), g.rows(many, k, n)], True)


def attention(g, d):
    b, h, t, w = d.batch(), d.one(1, 2, 3, 4, 6, 8, 12, 16), d.one(16, 32, 49, 64, 99, 128, 197, 256, 384, 512, 1024), d.one(16, 24, 32, 48, 64, 96, 128)
    s = t if d.r.random() < 0.75 else d.one(16, 49, 64, 128, 256)
    if b * h * max(t, s) * w > MOST_ELEMENTS // 4 or b * h * t * s > MOST_ELEMENTS * 4:
        return False
    g.node('Attention', [g.rows(b, h, t, w), g.rows(b, h, s, w), g.rows(b, h, s, w)], True)


def softmax(g, d):
    n, w = d.log(32, 1e6), d.one(2, 4, 16, 32, 48, 64, 81, 128, 196, 256, 512, 1000, 1024, 2048, 10000)
    if n * w > MOST_ELEMENTS:
        return False
    g.node('Softmax', [g.rows(n, w)], True, axis=1)


def batch_norm(g, d):
    c = d.width(8, 2048)
    where = d.r.random()
    dims = (d.batch(), c, d.side(), 0) if where < 0.6 else (d.batch(), c, d.log(20, 40000)) if where < 0.85 else (d.log(16, 2e5), c)
    if len(dims) == 4:
        dims = (*dims[:3], dims[2] if d.r.random() < 0.85 else d.one(1, 4, 20, 64))
    if math.prod(dims) > MOST_ELEMENTS or math.prod(dims) < 1000:
        return False
    x = g.rows(*dims) if len(dims) == 2 else g.maps(*dims)
    g.node('BatchNormalization', [x, *(g.weight(c) for _ in range(4))], True)


def layer_norm(g, d):
    n, c = d.log(16, 3e5), d.width(16)
    if n * c > MOST_ELEMENTS:
        return False
    g.node('LayerNormalization', [g.rows(n, c), g.weight(c), g.weight(c)], True, axis=1)


def group_norm(g, d):
    b, c, s = d.batch(), d.width(16, 1024), d.side()
    if b * c * s * s > MOST_ELEMENTS or b * c * s * s < 1000:
        return False
    if d.r.random() < 0.5:
        g.node('GroupNormalization', [g.maps(b, c, s, s), g.weight(c), g.weight(c)], True, num_groups=8)
    else:
        groups = d.one(1, 8, 32)
        x = g.node('Reshape', [g.maps(b, c, s, s), g.integers([b, groups, -1])])
        g.node('InstanceNormalization', [x, g.weight(groups), g.weight(groups)], True)


def activation(g, d):
    kind, n = d.one('Relu', 'Relu', 'Gelu', 'Sigmoid', 'Tanh', 'HardSwish', 'LeakyRelu'), d.log(1e3, 1e8)
    w = d.width(16, 2048)
    g.node(kind, [g.rows(max(1, n // w), w)], True)


def same(g, d):
    n, w = d.log(1e3, 1e8), d.width(16, 2048)
    g.node(d.one('Add', 'Mul'), [g.rows(max(1, n // w), w), g.rows(max(1, n // w), w)], True)


def channelwise(g, d):
    c, flat = d.width(16, 1536), d.r.random() < 0.6
    if flat:
        n = d.log(64, 3e5)
        if n * c > MOST_ELEMENTS:
            return False
        g.node('Mul', [g.rows(n, c), g.weight(c)], True)
    else:
        b, s = d.batch(), d.side()
        if b * c * s * s > MOST_ELEMENTS:
            return False
        g.node('Mul', [g.maps(b, c, s, s), g.weight(c, 1, 1)], True)


def gate(g, d):
    b, c, s = d.batch(), d.width(16, 1536), d.side()
    if b * c * s * s > MOST_ELEMENTS:
        return False
    g.node('Mul', [g.maps(b, c, s, s), g.maps(b, c, 1, 1)], True)


def mean(g, d):
    b, c, s = d.batch(), d.width(16, 1536), d.side()
    if b * c * s * s > MOST_ELEMENTS:
        return False
    kind = d.one('ReduceMean', 'ReduceMean', 'ReduceSum')
    if d.r.random() < 0.6:
        g.node(kind, [g.maps(b, c, s, s), g.integers([2, 3])], True, keepdims=1)
    else:
        g.node(kind, [g.rows(b, s * s, c), g.integers([d.one(1, 2)])], True, keepdims=1)


def convolve(g, d, space, channels, out, kernel, groups=1, stride=1, dilation=1, kind='Conv', most=MOST_FLOPS):
    b = d.batch()
    places = [-(-s // stride) for s in space] if kind == 'Conv' else [s * stride for s in space]
    macs = b * math.prod(places) * math.prod(kernel) * channels // groups * out
    if max(b * channels * math.prod(space), b * out * math.prod(places)) > MOST_ELEMENTS or macs * 6 > most or b * math.prod(places) < 16:
        return False
    weight = g.weight(out, channels // groups, *kernel) if kind == 'Conv' else g.weight(channels, out // groups, *kernel)
    n, auto = len(space), {} if kind == 'ConvTranspose' else {'auto_pad': 'SAME_UPPER'}
    if kind == 'ConvTranspose':
        auto = {'pads': [(k - stride) // 2 for k in kernel] * 2}
    g.node(kind, [g.maps(b, channels, *space), weight], True, kernel_shape=kernel, strides=[stride] * n, dilations=[dilation] * n, group=groups, **auto)


def conv(g, d):
    k, s = d.one(2, 3, 3, 3, 3, 5, 7), d.side()
    return convolve(g, d, (s, s), d.width(8, 1024), d.width(8, 1024), (k, k), 1, d.one(1, 1, 2), d.one(1, 1, 1, 2, 4) if k == 3 else 1)


def line(g, d):
    k, groups, c = d.one(2, 3, 3, 5, 9, 15), 1, d.width(16, 768)
    return convolve(g, d, (d.log(50, 20000),), c, d.one(c, 2 * c), (k,), groups, d.one(1, 1, 2), d.one(1, 1, 2, 8, 64))


def volume(g, d):
    k = d.one((3, 3, 3), (1, 3, 3), (3, 1, 1))
    return convolve(g, d, (d.one(4, 8, 16), *[d.one(14, 28, 56)] * 2), d.width(16, 256), d.width(16, 256), k)


def transposed(g, d):
    s = d.one(4, 8, 16, 32, 64)
    return convolve(g, d, (s, s), d.width(32, 1024), d.width(16, 512), d.one((4, 4), (2, 2)), 1, 2, 1, 'ConvTranspose')


def pointwise(g, d):
    s = d.side()
    space = (s, s) if d.r.random() < 0.7 else (d.log(50, 8000),)
    return convolve(g, d, space, d.width(8, 2048), d.width(8, 2048), (1,) * len(space))


def stem(g, d):
    s, k = d.one(32, 64, 96, 128, 192, 224, 256, 384), d.one(3, 4, 7, 8, 14, 16)
    b, out = d.one(4, 8, 16, 32, 64, 128, 256), d.width(16, 768)
    stride = d.one(1, 2) if k == 3 else 2 if k == 7 else k
    if b * out * (s // stride) ** 2 > MOST_ELEMENTS:
        return False
    c = d.one(1, 3, 3, 4)
    g.node('Conv', [g.input((b, c, s, s)), g.weight(out, c, k, k)], True, kernel_shape=(k, k), strides=[stride] * 2, auto_pad='SAME_UPPER')


def depthwise(g, d):
    c = d.width(16, 1536)
    if d.r.random() < 0.25:
        return convolve(g, d, (d.log(50, 4000),), c, c, (d.one(3, 4, 7, 15, 31),), c)
    k, s = d.one(3, 3, 5, 7), d.side()
    return convolve(g, d, (s, s), c, c, (k, k), c, d.one(1, 1, 2))


def grouped(g, d):
    groups, each = d.one(2, 4, 4, 8, 16, 32), d.one(4, 8, 16, 32, 48, 64, 128, 192)
    if groups * each > 2048:
        return False
    if d.r.random() < 0.35:
        return convolve(g, d, (d.one(64, 128, 256, 512),), groups * each, groups * each * d.one(1, 1, 4), (d.one(1, 1, 3, 19),), groups)
    s = d.side()
    return convolve(g, d, (s, s), groups * each, groups * each, (3, 3), groups, d.one(1, 1, 2))


def recurrent(g, d):
    kind, gates = d.one(('LSTM', 4), ('LSTM', 4), ('GRU', 3))
    ways, b, t, i, h = d.one(1, 2), d.one(4, 8, 16, 32, 64, 128), d.one(16, 32, 64, 100), d.width(64, 1024), d.width(64, 1024)
    g.node(kind, [g.rows(t, b, i), g.weight(ways, gates * h, i), g.weight(ways, gates * h, h), g.weight(ways, 2 * gates * h)], True, hidden_size=h,
           direction='bidirectional' if ways == 2 else 'forward')


def pool(g, d):
    b, c, s, k = d.batch(), d.width(16, 768), d.one(14, 28, 32, 56, 64, 112), d.one(2, 3, 3)
    if b * c * s * s > MOST_ELEMENTS:
        return False
    g.node(d.one('MaxPool', 'AveragePool'), [g.maps(b, c, s, s)], True, kernel_shape=(k, k), strides=[d.one(1, 2, 2)] * 2, auto_pad='SAME_UPPER')


def embedding(g, d):
    rows, width, ids = d.log(100, 2e6), d.one(8, 16, 32, 64, 128, 256, 512, 768, 1024), d.log(64, 3e5)
    if rows * width > MOST_ELEMENTS * 2 or ids * width > MOST_ELEMENTS:
        return False
    g.node('Gather', [g.weight(rows, width), g.input((ids,), 7)], True)


def join(g, d):
    b, c, s = d.batch(), d.width(8, 512), d.side()
    if b * c * s * s > MOST_ELEMENTS // 2:
        return False
    g.node('Concat', [g.maps(b, c, s, s), g.maps(b, d.one(c, 32), s, s)], True, axis=1)


MAKERS = {kind: globals()[kind] for kind in KINDS}


def cells_of(graph, precision, program):
    with tempfile.NamedTemporaryFile(suffix='.onnx') as file:
        file.write(graph.bytes())
        file.flush()
        done = subprocess.run([program, 'inspect', file.name, '--precision', precision, '--json'], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'grid: {done.stderr.strip()}')
    for layer in json.loads(done.stdout)['layers']:
        if layer['name'].startswith('wanted') and layer['rate_class'] and layer['output']:
            kept = 'fp32' if precision == 'tf32' and layer['rate_class'] not in PRODUCTS else precision
            yield {'class': layer['rate_class'], 'precision': kept, **{name: layer[name] for name in COLUMNS if name in layer}, 'share': 0, 'families': ''}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--most', type=int, default=1500, help='about so many (default %(default)s)')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    program, d = os.environ.get('SHAREWELL', 'build/release/sharewell'), Draw(args.seed)
    placed = []
    for kind, of_thousand in KINDS.items():
        graphs, wanted = {}, max(1, round(of_thousand * args.most / 1000))
        for _ in range(wanted):
            graph = graphs.setdefault(d.one('bf16', 'bf16', 'fp32', 'tf32' if kind not in ('softmax', 'activation', 'same', 'mean') else 'fp32'), Graph())
            while MAKERS[kind](graph, d) is False:
                pass
        found = [cell for precision, graph in sorted(graphs.items()) for cell in cells_of(graph, precision, program)]
        d.r.shuffle(found)
        placed += [((i + 0.5) / wanted, cell) for i, cell in enumerate(found)]
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator='\n', extrasaction='ignore')
    writer.writeheader()
    # A run that is cut short has some of every kind.
    for _, cell in sorted(placed, key=lambda item: item[0]):
        writer.writerow({name: f'{cell[name]:.6g}' if isinstance(cell[name], float) else cell[name] for name in COLUMNS})
    print(f'{len(placed)} cells', file=sys.stderr)


if __name__ == '__main__':
    main()
