#!/usr/bin/env python3
"""What `predict` makes of the told steps of data/h200/ways-told*.jsonl.gz, beside what was measured: ways_error.py PROGRAM [--each]

By the way a loop is written: root mean square of the logarithm for GPU seconds a step, speed and memory, RMSLE of utilisation, each with its mean (which way
it errs), and how many utilisations lie within their bounds. What accumulates steps every fourth batch. Standard library only.
"""
import argparse
import collections
import csv
import gzip
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[2] / 'data' / 'h200'
BATCHES = {'accumulate': 4}                    # a step
PROBE = ('launches_per_s', 'launch_waits_per_s', 'pipe_trips_per_s', 'loader_items_per_s')
FIGURES = ('GPU seconds', 'utilisation', 'speed', 'memory')


def measured():
    rows = collections.defaultdict(list)
    for path in sorted(DATA.glob('ways*.csv')):
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                rows[row['workload'], row['way']].append(row)
    median = lambda found, name: statistics.median(float(row[name]) for row in found)
    return {key: {name: median(found, name) for name in ('gpu_util', 'steps_per_s', 'mem_used_bytes')} for key, found in rows.items()}


def probed(pattern):
    """Medians of the host's probe."""
    found = collections.defaultdict(list)
    for path in DATA.glob(pattern):
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                for name in PROBE:
                    if row.get(name):
                        found[name].append(float(row[name]))
    return {name: statistics.median(values) for name, values in found.items()}


def steps():
    found = {}
    for path in sorted(DATA.glob('ways-told*.jsonl.gz')):
        with gzip.open(path, 'rt', encoding='ascii') as file:
            for line in map(json.loads, file):
                found.setdefault((line['workload'], line['way']), line['told'] | {'workers': line['workers']})
    return found


def predicted(program, step):
    with tempfile.NamedTemporaryFile('w', suffix='.json', encoding='ascii') as file:
        json.dump(step, file)
        file.flush()
        done = subprocess.run([program, 'predict', file.name, '--gpu', 'H200', '--json'], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)['predictions'][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--each', action='store_true', help='a line for each loop too')
    args = parser.parse_args()
    truth, errors, within = measured(), collections.defaultdict(list), collections.defaultdict(list)
    for (name, way), step in sorted(steps().items()):
        real, told = truth[name, way], predicted(args.program, step)
        rate = real['steps_per_s'] / BATCHES.get(way, 1)
        util, step_s = told['gpu_util_p50'], told['step_seconds_p50']
        row = (math.log(util * step_s / (real['gpu_util'] / rate)), math.log((1 + util) / (1 + real['gpu_util'])), -math.log(rate * step_s),
               math.log(told['gpu_memory_bytes_p50'] / real['mem_used_bytes']))
        inside = told['gpu_util_p05'] <= real['gpu_util'] <= told['gpu_util_p95']
        for group in (way, 'all'):
            errors[group].append(row)
            within[group].append(inside)
        if args.each:
            print(f'{name:32} {way:14}', *(f'{value:+9.3f}' for value in row), '' if inside else 'out of bounds')
    print(f'{"way":16} {"loops":>5}', *(f'{name:>16}' for name in FIGURES), 'within bounds')
    for way, rows in errors.items():
        columns = list(zip(*rows))
        cells = [f'{math.sqrt(statistics.mean(v * v for v in column)):.3f} ({statistics.mean(column):+.3f})' for column in columns]
        print(f'{way:16} {len(rows):5}', *(f'{cell:>16}' for cell in cells), f'{sum(within[way])}/{len(rows)}')
    here, usual = probed('ways*.csv'), probed('profiles*.csv')
    print('host:', ', '.join(f'{name} x{here[name] / usual[name]:.2f}' for name in PROBE))


if __name__ == '__main__':
    main()
