"""How far measurements of one workload lie apart: what no prediction can do better than, on loops that wait for the host.

  repeats.py PROFILES.csv...

Rows with the same workload, batch, precision, workers and optimizer, as often as they were measured. The differences are of each row from the mean
of its fellows (of logarithms), times sqrt(n / (n - 1)): the deviation of one measurement. Last, what a prediction would err by that is never
wrong, over all workloads with a graph, each judged by all of its rows together, as `sharewell-lab evaluate` does: deviations fall with the root of how many
there are. "host taken out": step times over `host_time`, which an evaluation tells the base, and utilisation times it. Standard library only.
"""
import collections
import csv
import math
import sys


def root(values):
    return math.sqrt(sum(v * v for v in values) / len(values)) if values else float('nan')


def deviations(values):
    mean = sum(values) / len(values)
    return [(v - mean) * math.sqrt(len(values) / (len(values) - 1)) for v in values]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    groups = collections.defaultdict(list)
    for path in sys.argv[1:]:
        with open(path, newline='') as file:
            for row in csv.DictReader(file):
                groups[tuple(row.get(name) or 'sgd' for name in ('workload', 'batch', 'precision', 'workers', 'optimizer'))].append(row)
    again = [rows for rows in groups.values() if len(rows) > 1]
    kinds = {
        'utilisation, RMSLE': lambda r: math.log1p(float(r['gpu_util'])),
        'utilisation, host taken out': lambda r: math.log1p(min(100, float(r['gpu_util']) * float(r.get('host_time') or 1))),
        'GPU seconds a step': lambda r: math.log(float(r['gpu_util']) / float(r['steps_per_s'])),
        'step time': lambda r: -math.log(float(r['steps_per_s'])),
        'step time, host taken out': lambda r: -math.log(float(r['steps_per_s'])) - math.log(float(r.get('host_time') or 1)),
    }
    print('| | workloads measured again | rows | deviation of one row, all | GPU below 80 % busy | at least 80 % | a prediction that is never wrong |')
    print('|---|---|---|---|---|---|---|')
    judged = [len(rows) for rows in groups.values() if any(row.get('onnx') for row in rows)]
    share = sum(1 / n for n in judged) / len(judged)
    for name, of in kinds.items():
        found = [(d, max(float(r['gpu_util']) for r in rows) >= 80) for rows in again for d in deviations([of(r) for r in rows])]
        parts = [[d for d, _ in found], [d for d, busy in found if not busy], [d for d, busy in found if busy]]
        print(f'| {name} | {len(again)} | {len(found)} | ' + ' | '.join(f'{root(part):.3f}' for part in parts)
              + f' | {root(parts[0]) * math.sqrt(share):.3f} |')


if __name__ == '__main__':
    main()
