"""How far held-out predictions are off, by family: what docs/prediction.md says of `sharewell-lab evaluate --out DIR`.

  held_out.py DIR/predictions.csv [--learner mean] [--without FAMILY...]

Columns are those of hidden.py. One line for all workloads, one for all but those of the families named, and one for each family, the worst in utilisation
first, with its share of the squared error. Standard library only.
"""
import argparse
import collections
import math
import sys

import hidden


def errors(figures):
    """Of one workload: {figure: (measured, predicted, 5 % bound, 95 % bound)} as hidden.py's errors."""
    within = lambda name: figures[name][2] <= figures[name][0] <= figures[name][3] if name in figures else None
    off = lambda name: figures[name][1] / figures[name][0] - 1 if name in figures else None
    util, told = (100 * value for value in figures['busy'][:2])
    memory = figures.get('gpu_memory')
    return {
        'util': math.log1p(told) - math.log1p(util), 'util_in': within('busy'), 'gpu_seconds': math.log1p(off('busy_seconds')),
        'gpu_seconds_in': within('busy_seconds'), 'memory': off('gpu_memory'), 'memory_in': within('gpu_memory'),
        'memory_below': memory[0] <= memory[3] if memory else None, 'step': off('step_seconds'), 'step_in': within('step_seconds'), 'busy': util >= hidden.BUSY}


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('predictions')
    a.add_argument('--learner', default='mean')
    a.add_argument('--without', nargs='*', default=[])
    a = a.parse_args()
    told = collections.defaultdict(dict)
    for row in hidden.read(a.predictions):
        if row['learner'] == a.learner:
            told[row['fold'], row['row'], row['family']][row['figure']] = tuple(float(row[name]) for name in ('actual', 'predicted', 'p05', 'p95'))
    if not told:
        sys.exit(f'held_out: {a.predictions} has no row of the learner {a.learner}')
    families = collections.defaultdict(list)
    for (_, _, family), figures in told.items():
        families[family].append(errors(figures))
    found = [e for part in families.values() for e in part]
    squares = lambda part: sum(e['util'] ** 2 for e in part)
    hidden.heading()
    hidden.line('all', found)
    if a.without:
        hidden.line('without ' + ', '.join(a.without), [e for family, part in families.items() if family not in a.without for e in part])
    for family in sorted(families, key=lambda f: -squares(families[f])):
        hidden.line(f'{family} ({100 * squares(families[family]) / squares(found):.0f} %)', families[family])


if __name__ == '__main__':
    main()
