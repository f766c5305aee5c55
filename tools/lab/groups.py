#!/usr/bin/env python3
"""Training loops together on one NVIDIA GPU under CUDA MPS, with limits on their SMs: groups.py measure | table | compare

  groups.py measure PLAN.json OUT.jsonl [--limit S]
  groups.py table OUT.jsonl > data/h200/groups.csv
  groups.py compare data/h200/groups.csv

PLAN is {"rounds": [{"jobs": {KEY: [name, batch, precision, workers, percent], ...}, "groups": [[KEY, ...], ...]}, ...]}. `percent` is the most
of the SMs that the loop may use. In a round every job is one process that is warmed up once and then held; a group costs its window and
not a start. Each job is measured alone before the groups, and each that has all SMs once more after them. What is in OUT already is
skipped. `table` writes a line for each member of each group. `compare` says what a limit on the last member's SMs did, over the groups that were
measured with and without it.
"""
import argparse
import csv
import json
import os
import sys
import time

SETTLE, WINDOW = 0.7, 1.9


def key_of(job):
    return '{} {} {} {} {}'.format(*job)


def measure(args):
    import measure as m
    import torch
    import workloads

    class Held(m.Job):
        """A job that trains only while `go_on` is set. `percent` of the SMs at most."""

        def __init__(self, w, percent):
            self.go_on, self.idle, self.percent = m.ctx.Event(), m.ctx.Event(), percent
            self.go_on.set()
            super().__init__([*w, 'sgd'], True)

        def child(self, mps):
            if self.percent != 100:
                os.environ['CUDA_MPS_ACTIVE_THREAD_PERCENTAGE'] = str(self.percent)
            super().child(mps)

        def between_steps(self):
            super().between_steps()
            if not self.go_on.is_set():
                torch.cuda.synchronize()
                self.idle.set()
                self.go_on.wait()
                self.idle.clear()

        def hold(self):
            self.go_on.clear()
            self.idle.wait(10)

    def look(jobs, seconds=WINDOW):
        for job in jobs:
            job.go_on.set()
        time.sleep(SETTLE)
        row = m.window(jobs, seconds, gpu)
        for job in jobs:
            job.go_on.clear()
        for job in jobs:
            job.hold()
        return row

    began = time.monotonic()
    workloads.preload()
    gpu = m.Gpu()
    about = gpu.about()
    print('ready', round(time.monotonic() - began, 1), about, flush=True)
    have = set()
    if os.path.exists(args.out):
        with open(args.out, encoding='utf-8') as file:
            have = {json.dumps(row['jobs']) for row in map(json.loads, file) if 'jobs' in row and row['kind'] == 'together'}
    with open(args.plan, encoding='utf-8') as file:
        rounds = json.load(file)['rounds']
    with open(args.out, 'a', encoding='utf-8') as out:
        def keep(row):
            out.write(json.dumps(row) + '\n')
            out.flush()
            print(row.get('kind'), ' + '.join(key_of(j) for j in row.get('jobs', [])),
                  {k: row[k] for k in ('gpu_util', 'steps_per_s', 'error') if k in row}, flush=True)

        keep({'kind': 'about', **about})
        for number, plan in enumerate(rounds):
            if time.monotonic() - began > args.limit - 60:
                break
            m.mps(True)
            started = time.monotonic()
            jobs = {key: Held(w[:4], w[4]) for key, w in plan['jobs'].items()}
            for job in jobs.values():
                job.start.set()
            until, ready = time.monotonic() + 75, {}
            for key, job in jobs.items():
                if job.steady.wait(max(0.1, until - time.monotonic())) and job.params.value >= 0:
                    ready[key] = job
                    job.hold()
                else:
                    keep({'kind': 'failed', 'jobs': [plan['jobs'][key]], 'error': job.error.value.decode() or 'not steady in time'})
            print('round', number, 'warm after', round(time.monotonic() - started, 1), flush=True)

            def together(kind, keys):
                row = {'kind': kind, 'round': number, 'jobs': [plan['jobs'][k] for k in keys]}
                try:
                    row |= look([ready[k] for k in keys])
                except Exception as e:                     # noqa: BLE001, the next group may be well
                    row['error'] = repr(e)[:300]
                keep(row)

            for key in ready:
                together('alone', [key])
            for group in plan['groups']:
                if time.monotonic() - began > args.limit - 25:
                    break
                if all(k in ready and ready[k].p.is_alive() for k in group) and json.dumps([plan['jobs'][k] for k in group]) not in have:
                    together('together', group)
            for key in ready:
                if plan['jobs'][key][4] == 100 and time.monotonic() - began < args.limit - 8:
                    together('alone after', [key])
            for job in jobs.values():
                job.go_on.set()
                job.stop.set()
            for job in jobs.values():
                job.end(0.5)
            m.mps(False)
    print('ended after', round(time.monotonic() - began, 1), flush=True)


COLUMNS = ('group member workload batch precision workers sm_percent steps_per_s alone_steps_per_s alone_after_steps_per_s '
           'limited_alone_steps_per_s uncertainty_percent alone_gpu_util alone_gpm_sm alone_gpm_dram alone_cpu_cores group_gpu_util group_gpm_sm').split()


def figure(value, digits):
    return '' if value is None else f'{value:.{digits}f}'.rstrip('0').rstrip('.')


def table(args):
    try:
        with open(args.out, encoding='utf-8') as file:
            rows = [json.loads(line) for line in file]
    except OSError as e:
        sys.exit(f'groups: {e.filename}: {e.strerror}. Give the file that `groups.py measure` wrote.')
    rows = [row for row in rows if row['kind'] in ('alone', 'alone after', 'together') and 'error' not in row]
    single = {(row['round'], row['kind'], key_of(row['jobs'][0])): row for row in rows if row['kind'] != 'together'}
    out = csv.writer(sys.stdout, lineterminator='\n')
    out.writerow(COLUMNS)
    group = args.first
    for row in (r for r in rows if r['kind'] == 'together'):
        whole = [(row['round'], key_of([*job[:4], 100])) for job in row['jobs']]
        before = [single.get((r, 'alone', k)) for r, k in whole]
        after = [single.get((r, 'alone after', k)) for r, k in whole]
        limited = [single.get((row['round'], 'alone', key_of(job))) for job in row['jobs']]
        if None in before:
            continue
        for i, job in enumerate(row['jobs']):
            rate = lambda r: r['steps_per_s'][0] if r else None
            spread = row['steps_rel_std'][i]
            out.writerow([group, i, *job[:4], job[4], figure(row['steps_per_s'][i], 4), figure(rate(before[i]), 4), figure(rate(after[i]), 4),
                          figure(rate(limited[i]), 4) if job[4] != 100 else '', figure(None if spread is None else 100 * spread, 1),
                          figure(before[i]['gpu_util'], 2), figure(before[i]['gpm']['sm'], 3), figure(before[i]['gpm']['dram'], 3),
                          figure(before[i]['cpu_cores'][0], 3), figure(row['gpu_util'], 2), figure(row['gpm']['sm'], 3)])
        group += 1


def compare(args):
    try:
        with open(args.table, encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file))
    except OSError as e:
        sys.exit(f'groups: {e.filename}: {e.strerror}. Give the file that `groups.py table` wrote.')
    groups = {}
    for row in rows:
        groups.setdefault(row['group'], []).append(row)

    def speed(row):
        """Against the mean of its rates alone, with all SMs, before and after."""
        alone = [float(row[name]) for name in ('alone_steps_per_s', 'alone_after_steps_per_s') if row[name]]
        return float(row['steps_per_s']) * len(alone) / sum(alone)

    found = {}                                 # (who, the last one's percent) -> speeds
    for members in groups.values():
        if all(row['sm_percent'] == '100' for row in members[:-1]):
            who = tuple(key_of([row[name] for name in ('workload', 'batch', 'precision', 'workers')] + ['']) for row in members)
            found[who, int(members[-1]['sm_percent'])] = [speed(row) for row in members]
    out = csv.writer(sys.stdout, lineterminator='\n')
    out.writerow(['members', 'sm_percent', 'groups', 'others_all_sms', 'others_limited', 'last_all_sms', 'last_limited', 'sum_all_sms', 'sum_limited',
                  'groups_gaining'])
    mean = lambda values: sum(values) / len(values)
    for size, percent in sorted({(len(who), percent) for who, percent in found if percent != 100}, key=lambda k: (k[0], -k[1])):
        both = [(found[who, 100], speeds) for (who, p), speeds in found.items()
                if p == percent and len(who) == size and (who, 100) in found]
        if both:
            out.writerow([size, percent, len(both), *(f'{mean([f(pair[i]) for pair in both]):.3f}' for f in
                          (lambda x: mean(x[:-1]), lambda x: x[-1], sum) for i in (0, 1)), sum(sum(b) > sum(a) for a, b in both)])
    spread = {row['workload']: abs(float(row['alone_after_steps_per_s']) / float(row['alone_steps_per_s']) - 1)
              for row in rows if row['alone_after_steps_per_s']}
    if spread:
        print(f'alone again: {100 * mean(list(spread.values())):.1f} % apart on the mean, {100 * max(spread.values()):.1f} % at most, '
              f'{len(spread)} loops')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser('measure', help='run the rounds of a plan')
    one.add_argument('plan')
    one.add_argument('out')
    one.add_argument('--limit', type=float, default=570, help='seconds (default %(default)s)')
    one.set_defaults(run=measure)
    one = commands.add_parser('table', help='make the table of what was measured')
    one.add_argument('out')
    one.add_argument('--first', type=int, default=1, help='number of the first group (default %(default)s)')
    one.set_defaults(run=table)
    one = commands.add_parser('compare', help='what a limit on the SMs did')
    one.add_argument('table')
    one.set_defaults(run=compare)
    args = parser.parse_args()
    args.run(args)


if __name__ == '__main__':
    main()
