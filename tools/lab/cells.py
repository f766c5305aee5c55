#!/usr/bin/env python3
"""Writes the cells of the operator table: operators with their shapes, as the graphs of measured profiles have them.

    python3 tools/lab/cells.py data/h200/profiles.csv data/h200/profiles-2.csv > data/h200/cells.csv

For developers; Python 3 and a built sharewell ($SHAREWELL, else build/release/sharewell), whose `inspect --json` has the operators.
`share` is how much of the steps' GPU time a cell stands for, roughly (a roofline), summed over rows; the largest come first, and those that
are nearly like one before them (each feature within a fifth) after all others. `families` are those of the rows it comes from: an evaluation that
holds a family out leaves out what only that family brought. The last cells are passes of the optimizer.
"""
import argparse
import collections
import csv
import json
import math
import os
import subprocess
import sys

COLUMNS = ('class', 'type', 'precision', 'operands', 'output', 'groups', 'window', 'dilation', 'steps', 'flops_forward', 'flops_backward',
           'traffic_forward_bytes', 'traffic_backward_bytes', 'contraction', 'share', 'families')
SHAPE = COLUMNS[:8]
PRODUCTS = ('stem', 'pointwise', 'conv', 'depthwise', 'grouped', 'matmul', 'attention', 'recurrent')
# Rough shares of an H200's peaks, only to say which cells matter.
PEAK = {'fp32': 67e12, 'tf32': 494e12, 'bf16': 989e12, 'fp16': 989e12}
BANDWIDTH, LAUNCH = 4.8e12, 5e-6
STREAM = {'stem': .1, 'conv': .2, 'depthwise': .04, 'grouped': .2, 'norm': .3, 'softmax': .2, 'embedding': .25}
NEAR = .2
# A graph counts in the precisions that it was not measured in as well, so much less.
PRECISIONS, OTHER = ('fp32', 'tf32', 'bf16'), .08


def inspect(graph, row):
    program = os.environ.get('SHAREWELL', 'build/release/sharewell')
    return json.loads(subprocess.run([program, 'inspect', graph, '--batch', row['batch'], '--precision', row['precision'], '--optimizer',
                                      row['optimizer'] or 'sgd', '--json'], check=True, capture_output=True).stdout)


def seconds(layer, precision):
    stream = BANDWIDTH * STREAM.get(layer['rate_class'], .5)
    return sum(max(layer[f'flops_{way}'] / (PEAK[precision] * .5) if layer['contraction'] else 0, layer[f'traffic_{way}_bytes'] / stream)
               + layer[f'kernels_{way}'] * LAUNCH for way in ('forward', 'backward'))


def weights_of(layers):
    """The elements of each trained tensor, as far as operators tell: '64*3 9408*1'."""
    sizes = collections.Counter()
    for layer in layers:
        for operand in layer['operands'].split(' '):
            dims, _, rest = operand.partition(':')
            if 'w' in rest and '?' not in dims:
                sizes[math.prod(int(d) for d in dims.split('x'))] += 1
        if layer['restored'] and layer['output']:
            sizes[int(layer['output'].split('x')[1])] += 2
    return ' '.join(f'{size}*{count}' for size, count in sorted(sizes.items()))


class Cells:
    def __init__(self):
        self.of, self.families = {}, collections.defaultdict(set)

    def add(self, cell, share, family):
        key = tuple(str(cell[name]) for name in SHAPE)
        kept = self.of.setdefault(key, {**cell, 'share': 0.0})
        kept['share'] += share
        self.families[key].add(family)

    def row(self, row, graph, weight=1.0):
        told = inspect(graph, row)
        layers = [layer for layer in told['layers'] if layer['rate_class'] and layer['operands'] and layer['output']]
        times = [seconds(layer, row['precision']) for layer in layers]
        update = told['traffic_optimizer_bytes'] / BANDWIDTH + told['kernels_optimizer'] * LAUNCH
        total = (sum(times) + update or 1) / weight
        for layer, time in zip(layers, times):
            precision = row['precision']
            if precision == 'tf32' and layer['rate_class'] not in PRODUCTS:
                precision = 'fp32'                         # TF32 is of products alone
            self.add({'class': layer['rate_class'], 'precision': precision,
                      **{name: layer[name] for name in COLUMNS if name in layer}}, time / total, row['family'])
        if weight < 1:
            return
        self.add({'class': 'update', 'type': row['optimizer'] or 'sgd', 'precision': 'fp32', 'operands': weights_of(told['layers']),
                  'output': '', 'groups': 1, 'window': 1, 'dilation': 1, 'steps': 1,
                  'flops_forward': told['flops_optimizer'] if 'flops_optimizer' in told else 0, 'flops_backward': 0,
                  'traffic_forward_bytes': told['traffic_optimizer_bytes'], 'traffic_backward_bytes': 0, 'contraction': 0},
                 update / total, row['family'])

    def ordered(self):
        chosen, near, updates, groups = [], [], [], collections.defaultdict(list)
        for key, cell in sorted(self.of.items(), key=lambda item: (-item[1]['share'], item[0])):
            cell['families'] = ';'.join(sorted(self.families[key]))
            if cell['class'] == 'update':
                updates.append(cell)
                continue
            place = [math.log(max(1, float(cell[name]))) for name in COLUMNS[9:14]]
            group = groups[cell['class'], cell['type'], cell['precision'], cell['dilation'], len(cell['operands'].split(' '))]
            like = any(all(abs(a - b) < NEAR for a, b in zip(place, other)) for other in group)
            (near if like else chosen).append(cell)
            group.append(place)
        return chosen, near, updates


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('profiles', nargs='+')
    parser.add_argument('--most', type=int, default=6000, help='as many at most (default %(default)s)')
    args = parser.parse_args()
    cells, seen, others = Cells(), 0, set()
    for path in args.profiles:
        with open(path, newline='', encoding='utf-8') as file:
            for row in csv.DictReader(file):
                graph = os.path.join(os.path.dirname(path), 'onnx', row['onnx'])
                if row['onnx'] and os.path.exists(graph):
                    cells.row(row, graph)
                    seen += 1
                    for precision in PRECISIONS:
                        if precision != row['precision'] and (graph, precision) not in others:
                            others.add((graph, precision))
                            cells.row({**row, 'precision': precision}, graph, OTHER)
    chosen, near, updates = cells.ordered()
    updates = updates[:max(1, args.most // 30)]
    room = args.most - len(updates)
    # The optimizer is a few percent of most steps: its cells come after the first third.
    rest = [*chosen, *near][:room]
    kept = [*rest[:room // 3], *updates, *rest[room // 3:]]
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator='\n', extrasaction='ignore')
    writer.writeheader()
    for cell in kept:
        writer.writerow({name: f'{cell[name]:.6g}' if isinstance(cell[name], float) else cell[name] for name in COLUMNS})
    whole = sum(cell['share'] for cell in cells.of.values())
    print(f'{seen} rows, {len(cells.of)} cells ({len(chosen)} that differ, {len(near)} near one of them, {len(updates)} updates kept); '
          f'kept {len(kept)}, {sum(c["share"] for c in kept) / whole:.1%} of GPU time', file=sys.stderr)


if __name__ == '__main__':
    main()
