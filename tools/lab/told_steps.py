#!/usr/bin/env python3
"""Told steps of the workloads of data/h200: what the watcher tells of each loop, beside the memory that the loop was measured to take.

  told_steps.py FOLDER [--limit 800] [--together 5] [--device cuda|cpu] [--only NAME ...]

Every workload that has a graph, the first of each family first: a loop as it was measured (batch, precision, optimizer) makes two steps under the
watcher (python/watcher), which tells the second, and a third, which PyTorch's allocator is asked about. Each is a process forked from one that has
imported everything. FOLDER/told-steps.jsonl.gz gets a line for each, as it goes, and what is there already is left out: run it again to go on. A loop
that fails or takes too long is a line with its error, and is tried again last. At the end all lines are compressed together. No more lines are added above 14 MB.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
import argparse
import csv
import gzip
import json
import pathlib
import signal
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'python' / 'watcher'), str(ROOT / 'tests' / 'watch')]

import torch

import told
import workloads

LARGEST = 14e6     # bytes of the file
STEPS = 8          # at most: the second is told (a later one where that has an evaluation in it), and the next one measured
GPU = 120e9        # bytes that loops may take at once


def rows():
    """Workloads with a graph: the first row of each, in the order of the files."""
    found = {}
    files = sorted((ROOT / 'data' / 'h200').glob('profiles*.csv'), key=lambda p: int(p.stem.partition('-')[2] or 1))
    for path in files:
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                if row.get('onnx'):
                    entry = {'workload': row['workload'], 'batch': int(row['batch']), 'precision': row['precision'],
                             'optimizer': row.get('optimizer') or 'sgd'}
                    entry |= {'workers': int(row['workers']), 'family': row['family'], 'onnx': row['onnx'],
                              'expected': float(row.get('reserved_bytes') or 4e9)}
                    found.setdefault(key(entry), entry)
    return list(found.values())


def key(entry):
    return tuple(entry[name] for name in ('workload', 'batch', 'precision', 'optimizer'))


def in_order(entries):
    """The first of each family, then the second of each, and so on; new architectures before others of the same one."""
    families, seen, again = {}, set(), []
    for entry in entries:
        if entry['workload'] in seen:
            again.append(entry)
        else:
            seen.add(entry['workload'])
            families.setdefault(entry['family'], []).append(entry)
    rounds = max(map(len, families.values()), default=0)
    return [mine[i] for i in range(rounds) for mine in families.values() if i < len(mine)] + again


def told_step(entry, device, pipe):
    """In a process of its own: steps until one is told, one more, and what was told and measured."""
    os.environ['SHAREWELL_WATCH_PIPE'] = pipe
    import sharewell_watch
    sharewell_watch.start(torch)
    began = time.monotonic()
    cuda = device == 'cuda'
    if not cuda:
        torch.set_num_threads(1)
    task = workloads.build(entry['workload'], entry['batch'], 1)
    built, took, result = time.monotonic() - began, [], {}
    last, is_told = time.monotonic(), False
    for done in workloads.common.steps(task, entry['precision'], entry['optimizer'], device):
        if cuda:
            torch.cuda.synchronize()
        took.append(round(time.monotonic() - last, 4))
        if is_told or done == STEPS:
            break
        is_told = b'\ndoc ' in pathlib.Path(pipe).read_bytes()
        if cuda and is_told:
            torch.cuda.reset_peak_memory_stats()
        last = time.monotonic()
    if cuda:
        result = {'measured_peak': torch.cuda.max_memory_allocated(), 'reserved': torch.cuda.max_memory_reserved()}
    heard = told.heard(pathlib.Path(pipe).read_bytes())
    if heard.off:
        raise RuntimeError('the watcher: ' + heard.off[0])
    if len(heard.documents) != 1 or heard.steps != done:
        raise RuntimeError('told {} documents and {} steps'.format(len(heard.documents), heard.steps))
    told.check(heard.documents[0])
    return dict(result, ok=True, built_s=round(built, 2), steps_s=took, told=heard.documents[0])


class Loop:
    """One loop in a process group of its own. It answers into a file."""

    def __init__(self, entry, device, folder, number):
        self.entry, self.began = entry, time.monotonic()
        self.answer = os.path.join(folder, 'answer-{}'.format(number))
        pipe = os.path.join(folder, 'pipe-{}'.format(number))
        open(pipe, 'w', encoding='ascii').close()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(device, pipe)

    def _run(self, device, pipe):
        os.setpgid(0, 0)
        try:
            result = told_step(self.entry, device, pipe)
        except BaseException as error:
            text = ' | '.join(traceback.format_exc().strip().splitlines()[-3:])
            result = {'ok': False, 'error': (repr(error)[:300] + ' ' + text)[:700]}
        try:
            with open(self.answer + '.part', 'w', encoding='ascii') as file:
                json.dump(result, file)
            os.replace(self.answer + '.part', self.answer)
        finally:
            os.killpg(0, signal.SIGKILL)                   # the loader's workers too

    def ended(self, patience):
        """Its line, or None while it runs."""
        if os.path.exists(self.answer):
            with open(self.answer, encoding='ascii') as file:
                result = json.load(file)
        elif time.monotonic() - self.began > patience:
            result = {'ok': False, 'error': 'not ended after {:g} s'.format(patience)}
        elif os.waitpid(self.pid, os.WNOHANG) != (0, 0):
            self.pid = None
            result = {'ok': False, 'error': 'its process ended without an answer'}
            if os.path.exists(self.answer):
                with open(self.answer, encoding='ascii') as file:
                    result = json.load(file)
        else:
            return None
        self.end()
        return self.entry | result | {'seconds': round(time.monotonic() - self.began, 1)}

    def end(self):
        if self.pid is not None:
            for kill in (os.killpg, os.kill):
                try:
                    kill(self.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
            os.waitpid(self.pid, 0)
            self.pid = None


def lines(path):
    if not path.exists():
        return []
    found = []
    try:
        with gzip.open(path, 'rt', encoding='ascii') as file:
            for line in file:
                found.append(json.loads(line))
    except (EOFError, OSError, json.JSONDecodeError) as error:
        print('the end of', path, 'is lost:', error, flush=True)
    return found


def write(path, entries):
    """The last line of each workload, all compressed together."""
    entries = {key(entry): entry for entry in entries}.values()
    part = path.with_suffix('.part')
    with gzip.open(part, 'wt', encoding='ascii', compresslevel=9) as file:
        for entry in entries:
            file.write(json.dumps(entry, separators=(',', ':')) + '\n')
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--limit', type=float, default=800, help='stop after so many seconds')
    parser.add_argument('--patience', type=float, default=75, help='seconds that a loop may take')
    parser.add_argument('--together', type=int, default=5, help='loops at once')
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda')
    parser.add_argument('--only', nargs='*', metavar='NAME', help='workloads, as KIND:SIZE')
    a = parser.parse_args()
    began = time.monotonic()
    try:
        workloads.preload()
    except ImportError as error:
        print('not there:', error, flush=True)
    a.folder.mkdir(parents=True, exist_ok=True)
    path = a.folder / 'told-steps.jsonl.gz'
    before = lines(path)
    write(path, before)                                    # whole again, whatever happened to its end
    have = {key(e): e['ok'] for e in before}
    plan = [e for e in in_order(rows()) if not have.get(key(e)) and (not a.only or e['workload'] in a.only)]
    plan.sort(key=lambda e: key(e) in have)                # what failed before comes last
    print('ready after', round(time.monotonic() - began, 1), 's, to do', len(plan), flush=True)
    running, number, good = [], 0, 0
    with tempfile.TemporaryDirectory(prefix='told-steps-') as folder:
        try:
            while plan or running:
                time_left = a.limit - (time.monotonic() - began)
                if plan and (time_left < 15 or path.stat().st_size > LARGEST):
                    print('left out:', len(plan), flush=True)
                    plan = []
                taken = sum(loop.entry['expected'] for loop in running)
                if plan and len(running) < a.together and (not running or taken + plan[0]['expected'] < GPU):
                    running.append(Loop(plan.pop(0), a.device, folder, number))
                    number += 1
                    continue
                time.sleep(0.02)
                for loop in list(running):
                    line = loop.ended(min(a.patience, max(1.0, a.limit - (loop.began - began))))
                    if line is None:
                        continue
                    running.remove(loop)
                    good += line['ok']
                    with open(path, 'ab') as file:         # a member of its own: what was written before stays whole
                        file.write(gzip.compress((json.dumps(line, separators=(',', ':')) + '\n').encode('ascii')))
                    step = line.get('told', {})
                    print(round(time.monotonic() - began, 1), *key(line), line['seconds'], 's', line.get('error') or
                          '{} operators, peak {} told, {} measured'.format(len(step['operators']), step['memory']['peak'],
                                                                           line.get('measured_peak')), flush=True)
        finally:
            for loop in running:
                loop.end()
    write(path, lines(path))
    print('ended after', round(time.monotonic() - began, 1), 's:', good, 'told now,', len(lines(path)), 'lines,', path.stat().st_size, 'bytes', flush=True)


if __name__ == '__main__':
    main()
