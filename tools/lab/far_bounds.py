#!/usr/bin/env python3
"""How much wider bounds must be for models unlike all others: python3 tools/lab/far_bounds.py [data/h200/model.json]

Of the rows that the model was trained on, those whose nearest row of another family is farther than 1 (predictor.cc calls such a model
unlike all that was learnt from), each with what was predicted without its family. For every figure: the factor on the bounds within
which nine in ten of these rows lie, and the share that lies within the bounds as they are. All rows are printed beside them.
"""
import json
import math
import sys

FIGURES = 'busy_seconds step_seconds busy sm dram tensor gpu_memory reserved pcie cores host_memory power'.split()
SHARES = {'busy', 'sm', 'dram', 'tensor'}


def scaled(figure, value):
    return math.log1p(100 * max(0, value)) if figure in SHARES else math.log(max(value, 1e-12))


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else 'data/h200/model.json') as file:
        model = json.load(file)
    known = model['known']
    far = [row for row in known
           if min(math.dist(row['place'], other['place']) for other in known if other['family'] != row['family']) > model['far']]
    print(f"{len(known)} workloads, {len(far)} of {len({row['family'] for row in far})} families unlike all others")
    print(f"{'figure':14}{'all: within':>12}{'under':>8}{'unlike: rows':>14}{'within':>8}{'under':>8}{'factor':>8}")
    for at, figure in enumerate(FIGURES):
        low, _, high = model['figures'][figure]['interval']['pooled']

        def off(rows):
            return [scaled(figure, row['measured'][at]) - scaled(figure, row['held_out'][at])
                    for row in rows if row['measured'][at] is not None and row['held_out'][at] is not None]

        def share(rows, test):
            return sum(map(test, rows)) / len(rows)

        every, these = off(known), off(far)
        needed = sorted(x / high if x > 0 else x / low for x in these)
        factor = needed[min(len(needed), math.ceil(0.9 * (len(needed) + 1))) - 1]
        print(f'{figure:14}{share(every, lambda x: low <= x <= high):12.3f}{share(every, lambda x: x <= high):8.3f}{len(these):14}'
              f'{share(these, lambda x: low <= x <= high):8.3f}{share(these, lambda x: x <= high):8.3f}{factor:8.2f}')


if __name__ == '__main__':
    main()
