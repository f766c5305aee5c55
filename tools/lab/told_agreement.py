#!/usr/bin/env python3
"""Told steps beside the ONNX graphs of the same loops: told_agreement.py PROGRAM [--csv FILE] [--limit N] [--held-out FOLDS]

For every line of data/h200/told-steps.jsonl.gz: forward multiply-accumulates by `inspect` of both, and what `predict` makes of both beside what was measured
of that loop (medians over data/h200/profiles*.csv). Prints how many agree within 1 %, and errors as the root mean square of the logarithm (RMSLE). The shipped
predictor has learnt from most of these rows by their ONNX graphs, and from none by its told step, so the comparison favours the graphs. With --held-out each
family is predicted by a model that was trained without it (the base's rates are the shipped ones): neither has an advantage then. One fold takes a minute.
"""
import argparse
import collections
import csv
import gzip
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / 'data' / 'h200'
FIGURES = {'memory': ('gpu_memory_bytes_p50', lambda r: float(r['mem_used_bytes'])),
           'busy seconds a step': ('busy_seconds_per_step_p50', lambda r: float(r['gpu_util']) / 100 / float(r['steps_per_s'])),
           'seconds a step': ('step_seconds_p50', lambda r: 1 / float(r['steps_per_s']))}


def key_of(row):
    return row['workload'], int(row['batch']), row['precision'], int(row['workers']), row.get('optimizer') or 'sgd'


def written(line, path):
    told = line['told'] | {'workers': line['workers']}      # told_steps.py loads with one, whatever the measured loop had
    path.write_text(json.dumps(told, separators=(',', ':')), encoding='ascii')
    return path


def measured():
    """By workload, batch, precision, workers and optimizer: the medians of its rows."""
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(DATA.glob('profiles*.csv')):
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                key = key_of(row)
                for name, (_, of) in FIGURES.items():
                    try:
                        rows[key][name].append(of(row))
                    except (KeyError, ValueError, ZeroDivisionError):
                        pass
    return {key: {name: statistics.median(values) for name, values in found.items() if values} for key, found in rows.items()}


def ask(program, *words):
    done = subprocess.run([program, *map(str, words), '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f'exit code {done.returncode}')
    return json.loads(done.stdout)


class Models:
    """One trained model a fold of families; None, the shipped one, where nothing is held out."""

    def __init__(self, program, folds, folder, told):
        self.program, self.folds, self.folder, self.told, self.made = program, folds, pathlib.Path(folder), told, {}

    def fold(self, family):
        return int(hashlib.sha1(family.encode()).hexdigest(), 16) % self.folds

    def without(self, family):
        if not self.folds:
            return []
        fold = self.fold(family)
        if fold not in self.made:
            self.made[fold] = self.train(fold)
        return ['--trained', self.made[fold]]

    def train(self, fold):
        files = []
        for path in sorted(DATA.glob('profiles*.csv')):
            with open(path, encoding='utf-8', newline='') as file:
                rows = [row for row in csv.DictReader(file) if row['onnx'] and self.fold(row['family']) != fold]
            if not rows:
                continue
            files.append(self.folder / path.name)
            with open(files[-1], 'w', encoding='utf-8', newline='') as file:
                table = csv.DictWriter(file, rows[0], lineterminator='\n')
                table.writeheader()
                table.writerows(row | {'onnx': graph} for row in rows for graph in [DATA / 'onnx' / row['onnx'], *self.told.get(key_of(row), [])])
        operators = [word for path in sorted(DATA.glob('operators*.csv')) for word in ('--operators', path)]
        model = self.folder / f'without-{fold}.json'
        subprocess.run([f'{self.program}-lab', 'train', *files, *operators, '--out', model], check=True, stdout=subprocess.DEVNULL)
        print(f'trained without fold {fold} of {self.folds}', file=sys.stderr)
        return model


def compare(program, line, step, seen, trained):
    graph = DATA / 'onnx' / pathlib.Path(line['onnx']).name
    batch = ['--batch', line['batch']]
    macs = [ask(program, 'inspect', graph, *batch)['macs_forward_per_sample'], ask(program, 'inspect', step)['macs_forward_per_sample']]
    run = ['--gpu', 'H200', '--workers', line['workers'], *trained]
    by = [ask(program, 'predict', graph, *batch, *run, '--precision', line['precision'], '--optimizer', line['optimizer']), ask(program, 'predict', step, *run)]
    out = {'workload': line['workload'], 'batch': line['batch'], 'precision': line['precision'], 'macs_graph': macs[0], 'macs_told': macs[1]}
    for name, (field, _) in FIGURES.items():
        out |= {f'{name} measured': seen.get(name), f'{name} by graph': by[0]['predictions'][0][field], f'{name} by told step': by[1]['predictions'][0][field]}
    return out


def rmsle(pairs):
    return math.sqrt(statistics.fmean(math.log(a / b) ** 2 for a, b in pairs)) if pairs else float('nan')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--csv', type=pathlib.Path, help='a line a workload')
    parser.add_argument('--limit', type=int, help='only the first so many')
    parser.add_argument('--held-out', type=int, default=0, metavar='FOLDS', help='hold whole families out of the predictor')
    parser.add_argument('--learn', action='store_true', help='with --held-out: learn from told steps too')
    a = parser.parse_args()
    seen, rows = measured(), []
    with gzip.open(DATA / 'told-steps.jsonl.gz', 'rt', encoding='ascii') as file, tempfile.TemporaryDirectory() as folder:
        lines = [line for line in map(json.loads, file) if line['ok']]
        told = collections.defaultdict(list)
        for i, line in enumerate(lines if a.learn else []):
            told[key_of(line)].append(written(line, pathlib.Path(folder, f'{i}.json')))
        models = Models(a.program, a.held_out, folder, told)
        for line in lines[:a.limit]:
            step = written(line, pathlib.Path(folder, 'step.json'))
            try:
                rows.append(compare(a.program, line, step, seen.get(key_of(line), {}), models.without(line['family'])))
            except RuntimeError as error:
                print(*key_of(line)[:3], error, file=sys.stderr)
    if a.csv:
        with open(a.csv, 'w', encoding='utf-8', newline='') as file:
            table = csv.DictWriter(file, rows[0], lineterminator='\n')
            table.writeheader()
            table.writerows(rows)
    ratios = [r['macs_told'] / r['macs_graph'] for r in rows if r['macs_graph'] and r['macs_told']]
    print(f'{len(rows)} told steps; multiply-accumulates within 1 % of the graph: {sum(abs(x - 1) <= 0.01 for x in ratios)} of {len(ratios)}, '
          f'within 5 %: {sum(abs(x - 1) <= 0.05 for x in ratios)}, median {statistics.median(ratios):.4f}')
    for name in FIGURES:
        for by in ('graph', 'told step'):
            pairs = [(r[f'{name} by {by}'], r[f'{name} measured']) for r in rows if r[f'{name} measured'] and r[f'{name} by {by}']]
            print(f'{name}, by {by}: RMSLE {rmsle(pairs):.3f} over {len(pairs)}, median of predicted over measured '
                  f'{statistics.median(x / y for x, y in pairs):.3f}')


if __name__ == '__main__':
    main()
