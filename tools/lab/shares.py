#!/usr/bin/env python3
"""What a limit on the SMs of one job does for its neighbour under CUDA MPS: shares.py spec | table

  shares.py spec --first LOOP --first LOOP --second LOOP [--percent 80,60] > shares.toml
  sharewell colocate shares.toml --out shares
  shares.py table shares > data/h200/shares.csv

`spec` writes the co-locations of each first loop with each second one, the second at all SMs and at each percentage of them. `table` makes the
table of what was measured. A LOOP is FILE,WORKLOAD,BATCH,PRECISION,WORKERS: recurrent,lstm:512x2,32,fp32,2 is a loop of zoo/recurrent.py.
"""
import argparse
import csv
import json
import os
import sys

HEAD = '''name = "shares"
throughput = "progress"
seconds = 3.5
interval = 0.5
at_most = 45
mps = "on"
'''
MARK = '%'                                     # "tv:vgg16@224%80": colocate has no column for a share


def read_loop(text):
    words = text.split(',')
    if len(words) != 5 or not (words[2].isdigit() and words[4].isdigit()):
        raise argparse.ArgumentTypeError(f'{text!r} is no loop; write FILE,WORKLOAD,BATCH,PRECISION,WORKERS')
    return words


def read_percents(text):
    words = text.split(',')
    if not all(word.isdigit() and 0 < int(word) < 100 for word in words):
        raise argparse.ArgumentTypeError(f'{text!r} is no list of percentages from 1 to 99, as in 80,60')
    return words


def workload(name, loop, percent=None):
    file, model, batch, precision, workers = loop
    text = f'''
[[workloads]]
name = "{name}"
command = ["python3", "zoo/{file}.py", "--model", "{model}", "--batch", "{batch}", "--precision", "{precision}", "--workers", "{workers}"]
workload = {{ name = "{model}{MARK + percent if percent else ''}", batch = {batch}, precision = "{precision}", workers = {workers} }}
'''
    return text + (f'environment = {{ CUDA_MPS_ACTIVE_THREAD_PERCENTAGE = "{percent}" }}\n' if percent else '')


def spec(args):
    firsts = {f'A{n}': loop for n, loop in enumerate(args.first, 1)}
    seconds, sets = {}, []
    for n, loop in enumerate(args.second, 1):
        limited = {f'B{n}' + (f'-{p}' if p else ''): (loop, p) for p in (None, *args.percent)}
        sets += [[a, b] for a in firsts for b in limited]  # a pair's shares one right after the other: the host's speed drifts
        seconds |= limited
    print(HEAD + 'sets = ' + json.dumps(sets))
    print(''.join([workload(name, loop) for name, loop in firsts.items()] +
                  [workload(name, loop, p) for name, (loop, p) in seconds.items()]), end='')


def number(value, digits):
    return f'{value:.{digits}f}'.rstrip('0').rstrip('.')


SAME = ('workload', 'batch', 'precision', 'workers')


def key_of(run):
    return tuple(str(run[name]) for name in SAME)


def row_of(pair, together, alone):
    """One row: `pair` of colocate's pairs.csv, and the journal's runs by what ran."""
    a, limited_b = (tuple(pair[f'{name}_{side}'] for name in SAME) for side in 'ab')
    b, _, percent = pair['workload_b'].partition(MARK)
    runs = together[a, limited_b]
    first, second, limited = alone[a], alone[b, *limited_b[1:]], alone[limited_b]
    told = lambda side, *names: {f'{name}_{side}': pair[f'{name}_{side}'] for name in names}
    measured = lambda name, digits: number(float(pair[name]), digits)
    return {
        **told('a', *SAME), 'steps_per_s_a': measured('steps_per_s_a', 4),
        'workload_b': b, **told('b', *SAME[1:]), 'sm_percent_b': percent or '100',
        'steps_per_s_b': measured('steps_per_s_b', 4),
        'uncertainty_percent_a': number(100 * runs[0]['uncertainty_ratio'], 1),
        'uncertainty_percent_b': number(100 * runs[1]['uncertainty_ratio'], 1), 'mps': pair['mps'], 'gpu': pair['gpu'],
        'gpu_util': measured('gpu_util', 2), 'power_w': measured('power_w', 2), 'gpm_sm': measured('gpm_sm', 3),
        'gpm_dram': measured('gpm_dram', 3), 'alone_steps_per_s_a': number(first['steps_per_second'], 4),
        'alone_steps_per_s_b': number(second['steps_per_second'], 4), 'limited_alone_steps_per_s_b': number(limited['steps_per_second'], 4),
        'alone_gpu_util_a': number(100 * first['gpu_busy_ratio'], 1), 'alone_gpu_util_b': number(100 * second['gpu_busy_ratio'], 1)}


def table(args):
    try:
        with open(os.path.join(args.folder, 'cells.jsonl'), encoding='utf-8') as file:
            cells = [json.loads(line)['runs'] for line in file if json.loads(line)['state'] == 'done']
        with open(os.path.join(args.folder, 'pairs.csv'), encoding='utf-8', newline='') as file:
            pairs = list(csv.DictReader(file))
    except OSError as e:
        sys.exit(f'shares: {e.filename}: {e.strerror}. Give the folder that sharewell colocate wrote to.')
    alone = {key_of(runs[0]): runs[0] for runs in cells if len(runs) == 1}
    together = {(key_of(runs[0]), key_of(runs[1])): runs for runs in cells if len(runs) == 2}
    rows = [row_of(pair, together, alone) for pair in pairs]
    if not rows:
        sys.exit(f'shares: {args.folder} has no pair that was measured')
    out = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator='\n')
    out.writeheader()
    out.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser('spec', help='write what sharewell colocate reads')
    one.add_argument('--first', action='append', required=True, type=read_loop, metavar='LOOP', help='has all SMs')
    one.add_argument('--second', action='append', required=True, type=read_loop, metavar='LOOP', help='has all SMs, then fewer')
    one.add_argument('--percent', default='80,60', type=read_percents, metavar='LIST', help='of the SMs (default %(default)s)')
    one.set_defaults(run=spec)
    one = commands.add_parser('table', help='make the table of what sharewell colocate measured')
    one.add_argument('folder', metavar='DIR')
    one.set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == '__main__':
    main()
