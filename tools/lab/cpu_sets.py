#!/usr/bin/env python3
"""What CPU sets cost training loops that share a GPU: cpu_sets.py OUT.jsonl [--rounds N]

Three loops at a time, each warmed up once and held, under CUDA MPS. In turn, with the same processes: each on the CPUs that it was given ("own"),
each on those and on all that nobody was given ("lent"), and all on all CPUs ("free"). Each also alone, on its own CPUs and on all. First,
how fast a spinning process is beside so many others: what the host's cores are worth together. A line for each window.
"""
import argparse
import json
import multiprocessing
import os
import time

import measure as m
import torch
import workloads

SETTLE, WINDOW = 0.8, 2.2
TRIOS = (((('tv:resnet50@224', 64, 'bf16', 4), 4), (('enc:256x2', 32, 'bf16', 1), 2), (('lstm:512x2', 32, 'fp32', 1), 2)),
         ((('tv:alexnet@224', 64, 'bf16', 4), 6), (('dlrm:4e6', 2048, 'fp32', 4), 6), (('tv:resnet18@32', 64, 'fp32', 2), 3)))


class Held(m.Job):
    """A job that trains only while `go_on` is set."""

    def __init__(self, loop):
        self.go_on, self.idle = m.ctx.Event(), m.ctx.Event()
        self.go_on.set()
        super().__init__([*loop, 'sgd'], True)

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

    def keep_to(self, cpus):
        """All threads of it and of its loader."""
        for process in [self.p.pid] + [q.pid for q in m.psutil.Process(self.p.pid).children(recursive=True)]:
            for thread in os.listdir(f'/proc/{process}/task'):
                try:
                    os.sched_setaffinity(int(thread), cpus)
                except OSError:
                    continue                                   # it has ended


def cpus_in_order():
    """One thread of each core before the second."""
    seen, keyed = {}, []
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            with open(f'/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list', encoding='ascii') as file:
                core = file.read().strip()
        except OSError:
            core = str(cpu)
        keyed.append((seen.setdefault(core, 0), cpu))
        seen[core] += 1
    return [cpu for _, cpu in sorted(keyed)], len(seen)


def spin(seconds, results):
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for _ in range(2000):
            count += 1
    results.put(count)


def spinners(number, seconds=1.0):
    results = multiprocessing.Queue()
    ones = [multiprocessing.Process(target=spin, args=(seconds, results)) for _ in range(number)]
    for one in ones:
        one.start()
    counts = [results.get() for _ in ones]
    for one in ones:
        one.join()
    return sum(counts) / len(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out')
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args()
    order, cores = cpus_in_order()
    with open(args.out, 'a', encoding='utf-8') as out:
        def keep(row):
            out.write(json.dumps(row) + '\n')
            out.flush()
            print(json.dumps(row)[:300], flush=True)

        gpu = None
        keep({'kind': 'host', 'cpus': len(order), 'cores': cores, 'order': order})
        alone = spinners(1)
        for number in sorted({1, 2, 4, 6, len(order) // 2, len(order) * 5 // 8, len(order) * 3 // 4, len(order)}):
            keep({'kind': 'spin', 'processes': number, 'speed_each': round(spinners(number) / alone, 3)})
        workloads.preload()
        gpu = m.Gpu()
        keep({'kind': 'about', **gpu.about()})
        for trio in TRIOS:
            m.mps(True)
            jobs = [Held(loop) for loop, _ in trio]
            for job in jobs:
                job.start.set()
            for job in jobs:
                job.steady.wait(90)
                job.hold()
            if any(job.params.value < 0 for job in jobs):
                keep({'kind': 'failed', 'errors': [job.error.value.decode() for job in jobs]})
            own, at = [], 0
            for _, count in trio:
                own.append(set(order[at:at + count]))
                at += count
            spare = set(order[at:])

            def look(kind, members, sets, number):
                for i in members:
                    jobs[i].keep_to(sets[i])
                    jobs[i].go_on.set()
                time.sleep(SETTLE)
                row = m.window([jobs[i] for i in members], WINDOW, gpu)
                for i in members:
                    jobs[i].go_on.clear()
                for i in members:
                    jobs[i].hold()
                keep({'kind': kind, 'round': number, 'jobs': [trio[i][0] for i in members], 'cores': [trio[i][1] for i in members],
                      **{k: row[k] for k in ('steps_per_s', 'steps_rel_std', 'gpu_util', 'cpu_cores') if k in row}})

            everything, all_of = [set(order)] * 3, range(3)
            lent = [cpus | spare for cpus in own]
            for number in range(args.rounds):
                for i in all_of:
                    look('alone free', [i], everything, number)
                    look('alone own', [i], own, number)
                for kind, sets in (('own', own), ('lent', lent), ('free', everything)):
                    look(kind, list(all_of), sets, number)
            for job in jobs:
                job.go_on.set()
                job.stop.set()
            for job in jobs:
                job.end(0.5)
            m.mps(False)


if __name__ == '__main__':
    main()
