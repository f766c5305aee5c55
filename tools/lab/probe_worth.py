"""What the probe of the host tells of loops that wait for it, over workloads that were measured in several sittings.

  probe_worth.py PROFILES.csv...

For each two sittings whose rows have a probe: by how much a step took longer in the later one (the median over workloads of both whose GPU was at most
60 % busy both times), and by how much the probe says so: the geometric mean of launches, pipe trips and loaded items a second, of which each
sitting has the median over its rows. One sitting in two files is two, named by the files. Standard library only.
"""
import collections
import csv
import math
import os
import statistics
import sys

RATES = ('launches_per_s', 'pipe_trips_per_s', 'loader_items_per_s')
WAITS = 60                                     # %, up to which a loop waits for its host


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    slowness, loops = {}, collections.defaultdict(dict)
    for path in sys.argv[1:]:
        with open(path, newline='') as file:
            rows = [row for row in csv.DictReader(file) if all(row.get(name) for name in RATES)]
        if not rows:
            continue
        name = os.path.basename(path)
        slowness[name] = statistics.median(-sum(math.log(float(row[rate])) for rate in RATES) / len(RATES) for row in rows)
        for row in rows:
            key = tuple(row.get(part) or 'sgd' for part in ('workload', 'batch', 'precision', 'workers', 'optimizer'))
            loops[key][name] = float(row['gpu_util']), -math.log(float(row['steps_per_s']))
    print('| earlier | later | loops | a step took | the probe says |\n|---|---|---|---|---|')
    names = list(slowness)
    for i, before in enumerate(names):
        for after in names[i + 1:]:
            both = [seen for seen in loops.values() if before in seen and after in seen and max(seen[before][0], seen[after][0]) <= WAITS]
            if len(both) < 2:
                continue
            took = statistics.median(seen[after][1] - seen[before][1] for seen in both)
            print(f'| {before} | {after} | {len(both)} | {math.exp(took):.2f} | {math.exp(slowness[after] - slowness[before]):.2f} |')


if __name__ == '__main__':
    main()
