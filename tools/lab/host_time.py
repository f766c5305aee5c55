"""Adds the column host_time to a table of profiles of a new sitting: host_time.py NEW.csv OLD.csv...

How long the host took for the same work, relative to the first sitting: of the loops that stand in OLD too and wait for the host (their GPU was less
than 60 % busy both times), the median of the old host_time times new over old step time. One figure for the whole sitting, from repeated rows alone:
nothing of a new row goes into it. NEW is rewritten in place.
"""
import csv
import statistics
import sys

KEY = ('workload', 'batch', 'precision', 'workers', 'optimizer')
WAITS = 60                                     # %, below which a loop waits for its host


def read(path):
    with open(path, newline='') as file:
        reader = csv.DictReader(file)
        return list(reader.fieldnames), list(reader)


def key(row):
    return tuple(row.get(k) or ('sgd' if k == 'optimizer' else '') for k in KEY)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    names, rows = read(sys.argv[1])
    old = {}
    for path in sys.argv[2:]:
        for row in read(path)[1]:
            old.setdefault(key(row), []).append(row)
    found = []
    for row in rows:
        for before in old.get(key(row), []):
            ratio = float(before['steps_per_s']) / float(row['steps_per_s'])
            waits = max(float(row['gpu_util']), float(before['gpu_util'])) < WAITS
            print(f"{row['workload']} {row['batch']}: step {ratio:.3f} of before, GPU {before['gpu_util']} then {row['gpu_util']} %, host_time then "
                  f"{before.get('host_time')}{'' if waits else ' (not used)'}")
            if waits and before.get('host_time'):
                found.append(ratio * float(before['host_time']))
    if not found:
        sys.exit('host_time: no loop that waits for the host is in both')
    value = round(statistics.median(found), 3)
    print(f'host_time {value}: median of {len(found)}, from {min(found):.3f} to {max(found):.3f}')
    with open(sys.argv[1], 'w', newline='') as file:
        table = csv.DictWriter(file, [n for n in names if n != 'host_time'] + ['host_time'], lineterminator='\n')
        table.writeheader()
        table.writerows(row | {'host_time': value} for row in rows)


if __name__ == '__main__':
    main()
