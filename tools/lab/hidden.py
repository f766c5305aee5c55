"""How far the predictor is off on profiles that it has never seen: nothing is learnt, its model is taken as it is.

  hidden.py SHAREWELL PROFILES.csv... [--trained MODEL.json] [--unseen SEEN.csv...] [--rows ROWS.csv]

Predicts every row from its graph (`sharewell predict --manifest`), and compares with what was measured. --unseen leaves out rows whose workload stands
in these files too, and tells families that do from those that do not. --rows writes each row's errors. Standard library only.

  utilisation        root mean square of the difference of log(1 + percent), as Yeung et al. have it
  GPU seconds a step root mean square of the difference of logarithms
  memory, step time  mean absolute percentage error; "busy": of loops whose GPU was at least 80 % busy, which do not wait for the host
  in bounds          rows between the 5 and the 95 % bound
"""
import argparse
import collections
import csv
import math
import os
import subprocess
import sys
import tempfile

BUSY = 80                                      # %, from which a loop does not wait for its host


def read(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


def predicted(sharewell, rows, trained):
    with tempfile.NamedTemporaryFile('w', suffix='.csv', newline='') as file:
        columns = ['model', 'batch', 'precision', 'workers', 'gpu', 'optimizer']
        table = csv.DictWriter(file, columns, lineterminator='\n')
        table.writeheader()
        for row in rows:
            table.writerow({'model': row['graph'], 'batch': row['batch'], 'precision': row['precision'], 'workers': row['workers'], 'gpu': 'H200',
                            'optimizer': row.get('optimizer') or 'sgd'})
        file.flush()
        command = [sharewell, 'predict', '--manifest', file.name, '--csv'] + (['--trained', trained] if trained else [])
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'hidden: {done.stderr.strip()}')
    return list(csv.DictReader(done.stdout.splitlines()))


def root(values):
    return math.sqrt(sum(v * v for v in values) / len(values)) if values else float('nan')


def mean(values):
    return sum(values) / len(values) if values else float('nan')


def errors(row, told):
    """Of one row: what was measured and predicted, with bounds."""
    rate, util = float(row['steps_per_s']), float(row['gpu_util'])
    memory = float(row['mem_used_bytes']) if row.get('mem_used_bytes') else None     # not known of all
    f = lambda name: float(told[name])
    step, busy = f('step_seconds_p50'), f('gpu_util_p50')
    return {
        'util': math.log1p(busy) - math.log1p(util), 'util_in': f('gpu_util_p05') <= util <= f('gpu_util_p95'),
        'gpu_seconds': math.log(f('busy_seconds_per_step_p50')) - math.log(util / 100 / rate) if util > 0 else None,
        'memory': f('gpu_memory_bytes_p50') / memory - 1 if memory else None,
        'memory_in': f('gpu_memory_bytes_p05') <= memory <= f('gpu_memory_bytes_p95') if memory else None,
        'memory_below': memory <= f('gpu_memory_bytes_p95') if memory else None,
        'step': step * rate - 1, 'step_in': f('step_seconds_p05') <= 1 / rate <= f('step_seconds_p95'),
        'gpu_seconds_in': f('busy_seconds_per_step_p05') <= util / 100 / rate <= f('busy_seconds_per_step_p95'), 'busy': util >= BUSY}


def heading():
    print('| | rows | utilisation, RMSLE | GPU seconds a step, rms log | memory | step time | step time, busy | in bounds: utilisation | memory | below its p95 | step time | GPU seconds |')
    print('|---|---|---|---|---|---|---|---|---|---|---|---|')


def line(name, found):
    percent = lambda key: 100 * mean([abs(e[key]) for e in found if e[key] is not None])
    share = lambda key: 100 * mean([e[key] for e in found if e[key] is not None])
    full = [e for e in found if e['busy']]
    text = (f"| {name} | {len(found)} | {root([e['util'] for e in found]):.3f} | {root([e['gpu_seconds'] for e in found if e['gpu_seconds'] is not None]):.3f} | "
            f"{percent('memory'):.1f} % | {percent('step'):.1f} % | {100 * mean([abs(e['step']) for e in full]):.1f} % of {len(full)} | "
            f"{share('util_in'):.0f} % | {share('memory_in'):.0f} % | {share('memory_below'):.0f} % | {share('step_in'):.0f} % | {share('gpu_seconds_in'):.0f} % |")
    print(text.replace('nan %', 'unknown'))


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('sharewell')
    a.add_argument('profiles', nargs='+')
    a.add_argument('--trained')
    a.add_argument('--unseen', nargs='*', default=[])
    a.add_argument('--rows')
    a = a.parse_args()
    known = [row for path in a.unseen for row in read(path)]
    seen, familiar = {row['workload'] for row in known}, {row.get('family') for row in known}
    rows = []
    for path in a.profiles:
        for row in read(path):
            row['graph'] = os.path.join(os.path.dirname(path), 'onnx', row['onnx'])
            if row['onnx'] and row['workload'] not in seen:
                rows.append(row)
    if not rows:
        sys.exit('hidden: no row with a graph is left')
    found = [errors(row, told) for row, told in zip(rows, predicted(a.sharewell, rows, a.trained))]
    heading()
    line('all', found)
    for name, which in (('families that it knows', True), ('other families', False)):
        part = [e for row, e in zip(rows, found) if (row.get('family') in familiar) == which]
        if familiar and part:
            line(name, part)
    families = collections.defaultdict(list)
    for row, e in zip(rows, found):
        families[row.get('family') or '?'].append(e)
    for family in sorted(families, key=lambda f: -root([e['gpu_seconds'] or 0 for e in families[f]])):
        line(family, families[family])
    if a.rows:
        with open(a.rows, 'w', newline='') as file:
            table = csv.DictWriter(file, ['workload', 'batch', 'precision', 'workers', 'optimizer', 'family', 'gpu_util', 'steps_per_s', *found[0]],
                                   extrasaction='ignore', lineterminator='\n')
            table.writeheader()
            table.writerows(row | e for row, e in zip(rows, found))


if __name__ == '__main__':
    main()
