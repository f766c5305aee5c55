"""Adds the column kernels_per_step to tables of profiles: kernel_counts.py SHAREWELL PROFILES.csv...

Counts the launches of one step in each row's graph, with `sharewell inspect GRAPH --json`, and rewrites the files in place. The mean
time of a kernel follows: gpu_util / steps_per_s / kernels_per_step.
"""
import csv
import json
import os
import subprocess
import sys

COLUMN = 'kernels_per_step'
BEFORE = 'onnx'


def count(sharewell, folder, row):
    for place in (folder, os.path.join(folder, 'onnx')):
        graph = os.path.join(place, row['onnx'])
        if row['onnx'] and os.path.exists(graph):
            break
    else:
        return ''
    told = subprocess.run([sharewell, 'inspect', graph, '--batch', row['batch'], '--precision', row['precision'],
                           '--optimizer', row.get('optimizer') or 'sgd', '--json'], capture_output=True, check=True, text=True)
    return f"{json.loads(told.stdout)[COLUMN]:g}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for path in sys.argv[2:]:
        with open(path, newline='') as file:
            reader = csv.DictReader(file)
            names, rows = [n for n in reader.fieldnames if n != COLUMN], list(reader)
        names.insert(names.index(BEFORE), COLUMN)
        for row in rows:
            row[COLUMN] = count(sys.argv[1], os.path.dirname(path), row)
        with open(path, 'w', newline='') as file:
            writer = csv.DictWriter(file, names, lineterminator='\n')
            writer.writeheader()
            writer.writerows(rows)
        print(f'{path}: {len(rows)} rows, {sum(bool(row[COLUMN]) for row in rows)} with {COLUMN}')


if __name__ == '__main__':
    main()
