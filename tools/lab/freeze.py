#!/usr/bin/env python3
"""What a stop of a few seconds does to a training loop that shares a GPU, and to its neighbours: freeze.py FOLDER [--limit S]

Three loops (ResNet-50, BERT, an LSTM; deterministic, losses recorded) share the GPU under CUDA MPS. Each is measured alone, while the others wait between
two steps, and then beside them. Some of them are then stopped for 3 and 5 s, by the freezer of their control groups (cgroup v2) and by SIGSTOP to the whole
process group, and go on. Afterwards many short stops, and what may happen during a stop: a neighbour allocates memory, a new loop starts, a loop ends (five
times), a loop is stopped while it connects, a stopped loop is killed. Then the same loops again without MPS: the losses of both runs, step by step, are to be the same.

FOLDER gets freeze.csv (a line a stop and loop), freeze.json (the rest) and freeze-steps.json (when each step was, each loss). Needs root.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'          # cuBLAS is deterministic with it alone
import argparse
import csv
import json
import math
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

import measure as m
import torch
import workloads

LOOPS = {'resnet50': ('tv:resnet50@224', 64, 'bf16', 4, 'sgd'), 'bert': ('hf:bert@128', 32, 'bf16', 1, 'sgd'), 'lstm': ('lstm:512x2', 32, 'fp32', 1, 'sgd')}
SPARE = ('enc:256x2', 32, 'bf16', 1, 'sgd')                # what starts and ends meanwhile
SETTLE, ALONE, GAP, BESIDE = 0.8, 2.4, 2.2, 2.0            # seconds: before a window alone, that window, between stops, windows before and after a stop
RUN, HOLD, ALLOCATE, END = range(4)
MOST = 40000                                               # steps that are recorded
COLUMNS = ('stop sharing method stop_s running meanwhile workload role alone_steps_per_s before_steps_per_s first_half_second_steps_per_s during_steps_per_s '
           'after_steps_per_s longest_gap_s frozen_within_s steps_while_frozen first_steps_after_s mem_before_bytes mem_during_bytes').split()
now = time.monotonic


class TimeIsUp(Exception):
    pass


class Loop(m.Job):
    """A loop in a control group of its own, where there is one. What parent and child share has no locks: a frozen process would keep them."""

    def __init__(self, name, w, mps, groups):
        self.name, self.group = name, groups and groups / f'{name}-{"mps" if mps else "slices"}'
        if self.group:
            self.group.mkdir()
        raw = m.ctx.RawValue
        self.order, self.marks, self.known, self.context_s, self.allocate_s = raw('i', RUN), raw('l', 0), raw('l', 0), raw('d', 0), raw('d', 0)
        self.times, self.losses = m.ctx.RawArray('d', MOST // 2), m.ctx.RawArray('d', MOST)
        self.pending, self.done, self.removed = [], 8, False
        super().__init__(w, mps)

    def child(self, mps):
        try:
            if self.group:
                (self.group / 'cgroup.procs').write_text(str(os.getpid()))
            torch.manual_seed(7)
        except BaseException as e:                         # noqa: BLE001, the parent is told
            self.error.value, self.params.value = repr(e)[:400].encode(), -1
            self.steady.set()
            os._exit(1)
        super().child(mps)

    def before_training(self):
        began = now()
        torch.zeros(1, device='cuda')
        self.context_s.value = now() - began
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.deterministic = True
        self.built.varies = True                           # no search for algorithms: it does not choose the same ones twice
        for fused in ('flash', 'mem_efficient', 'cudnn'):  # the backward passes of these are not deterministic
            getattr(torch.backends.cuda, f'enable_{fused}_sdp')(False)
        loss_of = self.built.loss

        def recorded(model, batch):
            loss = loss_of(model, batch)
            self.pending.append(loss.detach())
            return loss
        self.built.loss = recorded

    def between_steps(self):
        """After every step but the first eight. The loop has waited for the GPU at every second one."""
        self.done += 1
        if self.done % 2 == 0 and self.done <= MOST:
            for loss in torch.stack(self.pending).tolist():
                self.losses[self.known.value] = loss
                self.known.value += 1
            self.pending.clear()
            self.times[self.marks.value] = now()
            self.marks.value += 1
        if self.order.value == ALLOCATE:
            began = now()
            torch.cuda.empty_cache()                       # the next step has to allocate everything again
            block = torch.empty(2 ** 28, dtype=torch.uint8, device='cuda')
            block.zero_()
            torch.cuda.synchronize()
            self.allocate_s.value = now() - began
            self.order.value = RUN
        while self.order.value == HOLD:
            time.sleep(0.002)
        if self.order.value == END:
            torch.cuda.synchronize()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or the loader complains that its workers died
            for worker in getattr(self.built.fed, '_workers', []):
                worker.kill()                              # they hold its connection to the MPS server, and would notice after 5 s that it has ended
            os._exit(0)

    def hold(self):
        self.order.value = HOLD

    def go_on(self):
        self.order.value = RUN

    def signal_all(self, number):
        try:
            os.killpg(self.p.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def is_frozen(self, method):
        try:
            if method == 'cgroup':
                return 'frozen 1' in (self.group / 'cgroup.events').read_text()
            return all((task / 'stat').read_text().rsplit(')', 1)[1].split()[0] in 'TtZ' for task in pathlib.Path(f'/proc/{self.p.pid}/task').iterdir())
        except OSError:
            return True                                    # it has ended

    def freeze(self, method):
        if method == 'cgroup':
            (self.group / 'cgroup.freeze').write_text('1')
        else:
            self.signal_all(signal.SIGSTOP)

    def thaw(self, method):
        if method == 'cgroup':
            (self.group / 'cgroup.freeze').write_text('0')
        else:
            self.signal_all(signal.SIGCONT)

    def remove(self):
        """Whatever state it is in."""
        if self.removed:
            return
        self.removed = True
        if self.group:
            self.thaw('cgroup')
        self.signal_all(signal.SIGCONT)
        self.signal_all(signal.SIGKILL)
        self.p.kill()
        self.p.join()
        for _ in range(100 if self.group else 0):          # until the loader's workers are gone too
            try:
                return self.group.rmdir()
            except OSError:
                time.sleep(0.02)

    def marks_in(self, began, ended):
        return [t for t in self.times[:self.marks.value] if began <= t <= ended]

    def rate(self, began, ended):
        marks = self.marks_in(began, ended)
        return 2 * (len(marks) - 1) / (marks[-1] - marks[0]) if len(marks) > 1 else None

    def longest_gap(self, began, ended):
        """Between two marks, which are two steps apart."""
        marks = [began] + self.marks_in(began, ended) + [ended]
        return max(b - a for a, b in zip(marks, marks[1:]))


class Watch(threading.Thread):
    """What the GPU's memory holds, ten times a second."""

    def __init__(self, gpu):
        super().__init__(daemon=True)
        self.gpu, self.samples, self.over = gpu, [], threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.1):
            self.samples.append((now(), m.nv.nvmlDeviceGetMemoryInfo(self.gpu.h).used, m.nv.nvmlDeviceGetUtilizationRates(self.gpu.h).gpu))

    def mean(self, column, began, ended):
        found = [sample[column] for sample in self.samples if began <= sample[0] <= ended]
        return round(statistics.fmean(found), 1) if found else None

    def memory(self, began, ended):
        return max((sample[1] for sample in self.samples if began <= sample[0] <= ended), default=None)


class Sitting:
    """The loops of one way of sharing, and what was done to them."""

    def __init__(self, sharing, loops, watch, ends):
        self.sharing, self.loops, self.watch, self.ends = sharing, loops, watch, ends
        self.alone, self.stops, self.extra = {name: [] for name in loops}, [], {}

    def wait(self, seconds):
        if now() + seconds > self.ends:
            raise TimeIsUp
        time.sleep(seconds)

    def start(self):
        for loop in self.loops.values():
            loop.start.set()
        for loop in self.loops.values():
            if not loop.steady.wait(60) or loop.params.value < 0:
                raise RuntimeError(f'{loop.name} did not start: {loop.error.value.decode() or "not steady in time"}')

    def run_only(self, names):
        for name, loop in self.loops.items():
            loop.go_on() if name in names else loop.hold()

    def measure_alone(self):
        for name, loop in self.loops.items():
            self.run_only([name])
            self.wait(SETTLE)
            began = now()
            self.wait(ALONE)
            self.alone[name].append({'steps_per_s': loop.rate(began, now()), 'gpu_util': self.watch.mean(2, began, now())})

    def stop(self, running, frozen, seconds, method, gap=GAP, what='', meanwhile=None):
        """One stop; `meanwhile`, which is called `what`, is done once it holds. Then all go on for `gap` seconds."""
        began = now()
        for name in frozen:
            self.loops[name].freeze(method)
        while not all(self.loops[name].is_frozen(method) for name in frozen) and now() < began + 2:
            time.sleep(0.0005)
        held = now()
        try:
            if meanwhile:
                meanwhile()
            self.wait(max(0, began + seconds - now()))
        finally:
            thawed = now()
            for name in frozen:
                self.loops[name].thaw(method)
        self.stops.append(dict(running=list(running), frozen=list(frozen), seconds=seconds, method=method, meanwhile=what, began=began, held=held,
                               thawed=thawed))
        self.wait(gap)
        return self.stops[-1]

    def rows(self, number):
        alone = {name: statistics.fmean(rates) for name, windows in self.alone.items() if (rates := [w['steps_per_s'] for w in windows if w['steps_per_s']])}
        for stop in (s for s in self.stops if s['seconds'] >= 3):
            number += 1
            began, held, thawed = stop['began'], stop['held'], stop['thawed']
            for name in stop['running']:
                loop, frozen = self.loops[name], name in stop['frozen']
                after = loop.marks_in(thawed, thawed + GAP)
                yield dict(
                    stop=number, sharing=self.sharing, method=stop['method'], stop_s=stop['seconds'], running='+'.join(stop['running']),
                    meanwhile=stop['meanwhile'], workload=loop.w[0], role='frozen' if frozen else 'neighbour',
                    alone_steps_per_s=alone.get(name), before_steps_per_s=loop.rate(began - BESIDE, began),
                    first_half_second_steps_per_s=None if frozen else loop.rate(held, held + 0.5),
                    during_steps_per_s=None if frozen else loop.rate(held, thawed), after_steps_per_s=loop.rate(thawed, thawed + BESIDE),
                    longest_gap_s=None if frozen else loop.longest_gap(began, thawed + 1), frozen_within_s=held - began if frozen else None,
                    steps_while_frozen=2 * len(loop.marks_in(held, thawed)) if frozen else None,
                    first_steps_after_s=after[0] - thawed if frozen and after else None, mem_before_bytes=self.watch.memory(began - 1, began),
                    mem_during_bytes=self.watch.memory(held, thawed))


def rounds_under_mps(s, methods, spares):
    everybody, first = list(s.loops), methods[0]
    s.extra |= {'methods': methods, 'mps_clients': mps_clients()}
    s.wait(1)
    for _ in range(2):                                     # early, at steps that the loops without MPS make before anything stops them
        for name in everybody:
            s.stop(everybody, [name], 1, first, 0.5)
    s.measure_alone()
    for pair, lengths in ((('resnet50', 'lstm'), (3, 5)), (('resnet50', 'bert'), (3,))):
        s.run_only(pair)
        s.wait(GAP)
        for seconds in lengths:
            for name in pair:
                s.stop(pair, [name], seconds, first)
    s.run_only(everybody)
    s.wait(GAP)
    for method, seconds in [(first, 3), (first, 5)] + [(other, 3) for other in methods[1:]]:
        for name in everybody:                             # all but one
            s.stop(everybody, [other for other in everybody if other != name], seconds, method)
    for name in everybody:
        s.stop(everybody, [name], 3, first)
    s.measure_alone()
    s.run_only(everybody)
    s.wait(0.5)
    short_stops(s, methods)
    while_stopped(s, first, spares)


def short_stops(s, methods, number=40):
    """At any moment of a step: were a lock held then, a neighbour would hang."""
    draw, began, everybody = random.Random(1), now(), list(s.loops)
    for _ in range(number):
        s.stop(everybody, draw.sample(everybody, draw.choice((1, 2))), 0.25, draw.choice(methods), draw.uniform(0.1, 0.3))
    s.wait(0.5)
    stops = s.stops[-number:]
    s.extra['short_stops'] = {
        'number': number, 'seconds': 0.25, 'took_s': now() - began,
        'neighbours_longest_gap_s': max(s.loops[n].longest_gap(x['began'], x['thawed']) for x in stops for n in everybody if n not in x['frozen']),
        'frozen_longest_first_steps_after_s': max(s.loops[n].longest_gap(x['thawed'], x['thawed'] + 0.5) for x in stops for n in x['frozen'])}


def while_stopped(s, method, spares):
    """What may happen during a stop, each compared with the same where nobody is stopped."""
    everybody, lstm, seen = list(s.loops), s.loops['lstm'], s.extra

    def allocate():
        lstm.order.value = ALLOCATE
        until = now() + 4
        while lstm.order.value == ALLOCATE and now() < until:
            time.sleep(0.002)
        return lstm.allocate_s.value if lstm.order.value == RUN else None

    def start(spare):
        began = now()
        spare.start.set()
        spare.steady.wait(4.4)
        return {'steady_after_s': now() - began if spare.steady.is_set() else None, 'context_s': spare.context_s.value or None,
                'error': spare.error.value.decode()}

    def end(spare):
        before = mps_clients()
        began, spare.order.value = now(), END
        while spare.p.is_alive() and now() < began + 4:
            time.sleep(0.002)
        gone = now() - began if not spare.p.is_alive() else None
        time.sleep(0.5)                                    # the server notices
        return {'gone_after_s': gone, 'mps_clients_before': before, 'mps_clients_left': mps_clients()}

    seen['allocate_s'] = {'nobody_frozen': allocate()}
    s.wait(1)
    s.stop(everybody, ['resnet50', 'bert'], 3, method, what='allocate', meanwhile=lambda: seen['allocate_s'].update(others_frozen=allocate()))
    seen['start'] = {'nobody_frozen': start(spares[0])}
    s.stop(everybody, ['resnet50', 'bert'], 5, method, what='start', meanwhile=lambda: seen['start'].update(two_frozen=start(spares[1])))
    seen['end'] = {'nobody_frozen': end(spares[0])}
    s.stop(everybody, ['lstm'], 3, method, what='end', meanwhile=lambda: seen['end'].update(lstm_frozen=end(spares[1])))
    seen['end']['again'] = []
    for spare, frozen in zip(spares[4:], (['resnet50'], ['bert'], ['resnet50', 'bert'], ['bert', 'lstm'])):
        start(spare)
        s.wait(GAP)
        s.stop(everybody, frozen, 3, method, what='end', meanwhile=lambda: seen['end']['again'].append({'frozen': frozen} | end(spare)))
    began = now()                                          # a loop that is stopped while it connects to the MPS server
    spares[2].start.set()
    s.wait(0.15)
    spares[2].freeze(method)
    s.wait(0.1)
    held = now()
    seen['start']['another_frozen_while_it_starts'] = start(spares[3])
    s.wait(max(0, held + 3 - now()))
    seen['stopped_while_it_starts'] = {'neighbours_steps_per_s': {n: loop.rate(held, now()) for n, loop in s.loops.items()}}
    spares[2].thaw(method)
    spares[2].steady.wait(5)
    seen['stopped_while_it_starts'] |= {'steady_after_s': now() - began if spares[2].steady.is_set() else None, 'error': spares[2].error.value.decode()}
    for spare in spares[2:4]:
        end(spare)
    s.wait(GAP)
    began = now()                                          # a stopped loop is killed
    lstm.freeze(method)
    s.wait(1)
    killed = now()
    lstm.signal_all(signal.SIGKILL)
    while lstm.p.is_alive() and now() < killed + 5:
        time.sleep(0.001)
    gone = now()
    s.wait(3)
    others = {n: loop for n, loop in s.loops.items() if n != 'lstm'}
    seen['killed_while_frozen'] = {
        'gone_after_s': gone - killed if not lstm.p.is_alive() else None,
        'neighbours_steps_per_s': {n: {'before': loop.rate(began - BESIDE, began), 'frozen': loop.rate(began, killed), 'after': loop.rate(gone, now())}
                                   for n, loop in others.items()},
        'neighbours_longest_gap_s': {n: loop.longest_gap(began, now()) for n, loop in others.items()}}


def rounds_without(s, methods, _):
    everybody = list(s.loops)
    s.measure_alone()
    s.run_only(everybody)
    s.wait(GAP)
    for name in everybody:
        s.stop(everybody, [other for other in everybody if other != name], 3, methods[0])


def mps_clients():
    """How many processes the MPS servers serve."""
    def ask(line):
        return subprocess.run(['nvidia-cuda-mps-control'], input=line + '\n', text=True, capture_output=True, env=os.environ | m.MPS, timeout=10).stdout.split()
    return sum(len(ask(f'get_client_list {server}')) for server in ask('get_server_list'))


def mps_complaints():
    log = pathlib.Path(m.MPS['CUDA_MPS_LOG_DIRECTORY'], 'server.log')
    return [line for line in log.read_text(errors='replace').splitlines() if re.search('error|fail|fault|timeout', line, re.I)][:20] if log.exists() else None


def control_groups():
    """A folder for the control groups, or None: no cgroup v2, or not ours to write to."""
    try:
        folder = pathlib.Path(f'/sys/fs/cgroup/freeze-lab-{os.getpid()}')
        folder.mkdir()
        if (folder / 'cgroup.freeze').exists():
            return folder
        folder.rmdir()
    except OSError as e:
        print('no control groups:', e, flush=True)
    return None


def compare_losses(a, b):
    found = {}
    for name in a.loops:
        one, other = a.loops[name], b.loops[name]
        both = min(one.known.value, other.known.value)
        differs = next((i + 1 for i in range(both) if one.losses[i] != other.losses[i]), None)
        reached = [sum(name in stop['frozen'] and 2 * len(s.loops[name].marks_in(0, stop['began'])) + 8 < both for stop in s.stops) for s in (a, b)]
        found[name] = dict(steps=[one.known.value, other.known.value], compared=both, first_step_that_differs=differs,
                           stops_before_that_step=reached, finite=all(math.isfinite(x) for s in (one, other) for x in s.losses[:s.known.value]))
    return found


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--limit', type=float, default=320, help='seconds (default %(default)s)')
    args = parser.parse_args()
    began = now()
    import torchvision                                     # noqa: F401, once, before the loops are forked
    from transformers import BertForSequenceClassification  # noqa: F401
    args.folder.mkdir(parents=True, exist_ok=True)
    gpu = m.Gpu()
    about = gpu.about() | {'kernel': os.uname().release, 'workloads': LOOPS, 'spare': SPARE}
    groups = control_groups()
    methods = (['cgroup'] if groups else []) + ['sigstop']
    made = [[Loop(name, w, mps, groups) for name, w in LOOPS.items()] for mps in (True, False)]
    spares = [Loop(f'spare{i}', SPARE, True, groups) for i in range(8)]
    watch = Watch(gpu)
    sittings, errors = [], []
    print('ready', round(now() - began, 1), about, 'methods', methods, flush=True)
    try:
        for mps, rounds, loops in ((True, rounds_under_mps, made[0]), (False, rounds_without, made[1])):
            sitting = Sitting('mps' if mps else 'time slices', {loop.name: loop for loop in loops}, watch, began + args.limit - (0 if not mps else 45))
            sittings.append(sitting)
            if mps:
                m.mps(True)
            try:
                sitting.start()
                print(sitting.sharing, 'warm at', round(now() - began, 1), flush=True)
                rounds(sitting, methods, spares)
            except (TimeIsUp, RuntimeError, subprocess.TimeoutExpired) as e:
                errors.append(f'{sitting.sharing}: {e!r}')
            sitting.extra['ended'] = {loop.name: loop.error.value.decode() or 'killed while frozen' for loop in loops if not loop.p.is_alive()}
            print(sitting.sharing, 'done at', round(now() - began, 1), flush=True)
            for loop in loops + (spares if mps else []):
                loop.remove()
            if mps:
                sitting.extra['mps_log'] = mps_complaints()
                m.mps(False)
    finally:
        for loop in made[0] + made[1] + spares:
            loop.remove()
        if groups:
            groups.rmdir()
    watch.over.set()
    rows = []
    for sitting in sittings:
        rows += sitting.rows(rows[-1]['stop'] if rows else 0)
    with open(args.folder / 'freeze.csv', 'w', encoding='utf-8', newline='') as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        table.writeheader()
        table.writerows({key: '' if value is None else value for key, value in rounded(row).items()} for row in rows)
    said = {'about': about, 'seconds': now() - began, 'errors': errors, 'alone': {s.sharing: s.alone for s in sittings},
            'stops': {s.sharing: len(s.stops) for s in sittings}, 'extra': {s.sharing: s.extra for s in sittings},
            'losses': compare_losses(*sittings) if len(sittings) == 2 else None}
    (args.folder / 'freeze.json').write_text(json.dumps(rounded(said), indent=1) + '\n', encoding='utf-8')
    (args.folder / 'freeze-steps.json').write_text(json.dumps({s.sharing: {
        'stops': s.stops, **{n: {'times': s_loop.times[:s_loop.marks.value], 'losses': s_loop.losses[:s_loop.known.value]} for n, s_loop in s.loops.items()}}
        for s in sittings}), encoding='utf-8')
    print((args.folder / 'freeze.json').read_text(), (args.folder / 'freeze.csv').read_text(), sep='\n', flush=True)
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
