#!/usr/bin/env python3
"""How fast the host is at the moment, and how fast loops are that wait for it.

  tools/lab/host_speed.py OUT.csv --rounds 3 --every 120        rows are appended
  tools/lab/host_speed.py OUT.csv --plain                       without a GPU: proves the plumbing alone
  tools/lab/host_speed.py --probe                               one probe, as JSON

A round is: a probe of the host, a loop under `sharewell profile`, for each of three loops. One loop waits for the launches of its kernels, one for its
loader, and one for the GPU, so it should not change. Start it through zoo/warm.py to save the import of PyTorch:

  python3 zoo/warm.py enc:512x6 deepfm:4e6 tv:vgg16@224 -- python3 tools/lab/host_speed.py OUT.csv
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / 'zoo'))

import hand_over  # noqa: E402
from host_probe import copies, launches, pipe_trips, python_loops, rate  # noqa: E402

LOOPS = (('language.py', 'enc:512x6', 32, 'bf16', 1), ('recommend.py', 'deepfm:4e6', 2048, 'fp32', 4),
         ('vision.py', 'tv:vgg16@224', 64, 'bf16', 4))
PROBES = ('python_loops_per_s', 'launches_per_s', 'launch_waits_per_s', 'pipe_trips_per_s', 'copy_bytes_per_s')
COLUMNS = ('machine', 'time', 'round', *PROBES, 'workload', 'batch', 'precision', 'workers', 'seconds', 'steps_per_s', 'gpu_util', 'gpm_sm')


def probe():
    found = {'python_loops_per_s': rate(python_loops, 1_000_000), 'pipe_trips_per_s': pipe_trips(), 'copy_bytes_per_s': copies()}
    found['launches_per_s'], found['launch_waits_per_s'] = launches()
    return {name: found[name] and round(found[name]) for name in PROBES}


def probed():
    """In a process of its own: this one makes no CUDA context."""
    done = subprocess.run([sys.executable, __file__, '--probe'], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def percent(value):
    return None if value is None else round(100 * value, 3)


def looped(args, loop):
    file, workload, batch, precision, workers = loop
    command = [sys.executable, str(ROOT / 'zoo' / file), '--batch', str(batch), '--workers', str(workers)]
    if not args.plain:
        command += ['--model', workload, '--precision', precision]
    with tempfile.TemporaryDirectory(prefix='host-') as folder:
        out = os.path.join(folder, 'profile.json')
        subprocess.run([args.program, 'profile', '--store', 'none', '--interval', '0.5s', '--for', '3.5s', '--name', workload, '--out', out,
                        '--', *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(out, encoding='utf-8') as profile:
            p = json.load(profile)['profiles'][0]
    return {'workload': workload, 'batch': batch, 'precision': precision, 'workers': workers, 'seconds': round(p['window_seconds'], 2),
            'steps_per_s': round(p['steps_per_second'], 4), 'gpu_util': percent(p.get('gpu_util')), 'gpm_sm': percent(p.get('sm_ratio'))}


def study(args):
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as file:
        machine = file.read()[:8]
    loops = (('plain.py', 'plain:48', 16, 'fp32', 2),) if args.plain else LOOPS
    new = not os.path.exists(args.out) or os.path.getsize(args.out) == 0
    with open(args.out, 'a', encoding='utf-8', newline='', buffering=1) as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        if new:
            table.writeheader()
        began = time.monotonic()
        for number in range(args.rounds):
            time.sleep(max(0.0, began + number * args.every - time.monotonic()))
            for loop in loops:
                row = {'machine': machine, 'time': round(time.time()), 'round': args.first + number, **probed()}
                try:
                    row |= looped(args, loop)
                except (subprocess.CalledProcessError, OSError, KeyError, TypeError) as e:
                    sys.exit(f'host_speed: {loop[1]} could not be profiled: {e!r}. Run the loop by itself to see why.')
                table.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('out', nargs='?', metavar='OUT.csv', help='rows are appended')
    parser.add_argument('--probe', action='store_true', help='one probe alone')
    parser.add_argument('--rounds', type=int, default=1, metavar='N')
    parser.add_argument('--first', type=int, default=1, metavar='N', help='number of the first round (default %(default)s)')
    parser.add_argument('--every', type=float, default=0.0, metavar='S', help='a round begins so many seconds after the one before')
    parser.add_argument('--plain', action='store_true', help='the loop is zoo/plain.py, which needs no GPU')
    parser.add_argument('--program', default=str(ROOT / 'build/release/sharewell'), metavar='FILE')
    args = parser.parse_args()
    if args.probe:
        hand_over.hand_over()
        print(json.dumps(probe()), flush=True)
    elif args.out:
        study(args)
    else:
        parser.error('give the file that the rows go to')


if __name__ == '__main__':
    main()
