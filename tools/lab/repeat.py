"""Measure loops alone as measure.py does, several at a time: they are warmed up first, then measured one after the other.

  repeat.py PLAN.json OUT.jsonl [--seconds S] [--group 6] [--alone 1.8] [--settle 0.4] [--patience 15]

PLAN and OUT are measure.py's; entries are loops alone. The loops of a group get their CUDA contexts at the same time and do their first eight steps one
after the other, so that no algorithm is chosen while another loop keeps the GPU busy. Each then stops with all of its loader's workers (SIGSTOP), and
goes on when it is its turn to be measured: nothing else runs meanwhile, neither a loop nor the models of the next group, which are built while this one
warms up. What the GPU's memory holds is all of the group's, so `mem_used` is null; the allocator's peak is the loop's own.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
import argparse
import json
import signal
import time

import measure
import probe
import psutil
import torch
import workloads


class Held(measure.Job):
    """A loop that has its CUDA context from `start` on, trains from `go`, and stops itself when it is warm."""

    def __init__(self, w):
        self.go = measure.ctx.Event()
        super().__init__(w, 0)

    def before_training(self):
        torch.zeros(1, device='cuda')
        self.go.wait()

    def when_steady(self):
        os.killpg(0, signal.SIGSTOP)

    def stopped(self):
        try:
            return psutil.Process(self.p.pid).status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return False

    def tell_all(self, number):
        try:
            os.killpg(self.p.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def warm(job, patience):
    """Its first eight steps. False: it failed, or took too long."""
    job.go.set()
    if not job.steady.wait(patience) or job.params.value < 0:
        return False
    until = time.monotonic() + 2
    while not job.stopped():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def look(job, a, gpu):
    job.tell_all(signal.SIGCONT)
    time.sleep(a.settle)
    row = measure.window([job], a.alone, gpu)
    row['ok'] = job.p.is_alive() and bool(row['steps_per_s'][0])
    row['mem_used'] = None
    job.stop.set()
    if row['ok'] and job.probed.wait(3):
        row['probe'] = json.loads(job.probe.value)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('plan')
    parser.add_argument('out')
    parser.add_argument('--seconds', type=float, default=560, help='stop after so many')
    parser.add_argument('--group', type=int, default=6)
    parser.add_argument('--alone', type=float, default=1.8)
    parser.add_argument('--settle', type=float, default=0.4)
    parser.add_argument('--patience', type=float, default=15, help='seconds that a loop may take over its first steps')
    a = parser.parse_args()
    began = time.monotonic()
    workloads.preload()
    probe.prepare()
    gpu = measure.Gpu()
    about = gpu.about()
    have = {measure.key(e) for e in map(json.loads, open(a.out)) if 'jobs' in e} if os.path.exists(a.out) else set()
    plan = [e for e in json.load(open(a.plan)) if measure.key(e) not in have]
    groups = [plan[i:i + a.group] for i in range(0, len(plan), a.group)]
    print('ready', round(time.monotonic() - began, 1), 'to do', len(plan), flush=True)
    build = lambda group: [Held(e['jobs'][0]) for e in group]
    last, built = 0, build(groups[0]) if groups else []
    with open(a.out, 'a') as out:
        out.write(json.dumps({'about': about}) + '\n')
        for number, group in enumerate(groups):
            began_one = time.monotonic()
            if began_one - began > a.seconds - 1.2 * last:
                print('time is up', flush=True)
                break
            jobs = built
            for job in jobs:
                job.start.set()
            built = build(groups[number + 1]) if number + 1 < len(groups) else []
            good = [warm(job, a.patience) for job in jobs]
            warmed = time.monotonic() - began_one
            for job, fine in zip(jobs, good):
                if not fine:
                    job.end(0)
            for job in built:
                job.tell_all(signal.SIGSTOP)
            for e, job, fine in zip(group, jobs, good):
                row = {'jobs': e['jobs'], 'mps': 0, 'pass': e.get('pass', 1), 'ok': False, 'at_s': round(time.monotonic() - began, 1)}
                try:
                    row |= look(job, a, gpu) if fine else {'error': job.error.value.decode() or 'not warm in time'}
                except Exception as x:
                    row['error'] = repr(x)[:300]
                job.end(1)
                out.write(json.dumps(row) + '\n')
                out.flush()
                print(row['at_s'], *e['jobs'][0], {k: row.get(k) for k in ('gpu_util', 'steps_per_s', 'cpu_cores', 'probe', 'error') if row.get(k) is not None},
                      flush=True)
            for job in built:
                job.tell_all(signal.SIGCONT)
            last = time.monotonic() - began_one
            print(f'group of {len(jobs)}: {warmed:.1f} s to warm up, {last:.1f} s in all', flush=True)
    for job in built:
        job.end(0)
    print('ended after', round(time.monotonic() - began, 1), flush=True)


if __name__ == '__main__':
    main()
