#!/usr/bin/env python3
"""What the watcher costs a training loop: steps a second with it and without it, in turns, in one process.

  watch_cost.py FOLDER [--limit 500] [--seconds 8] [--device cuda|cpu] [--only NAME ...]
  watch_cost.py --call                                      microseconds of one call of an optimizer, anywhere

Ten loops, three of them compiled, each in a process of its own under the watcher. The batch stays on the device, so that no loader makes noise. After
the told step and a warm-up, blocks of two steps with the watcher (as a job has it) and without it (the optimizers' classes have PyTorch's own `step`
again) come in turns. FOLDER/watch-cost.jsonl gets a line a loop: rates, by how much the median block is longer with its standard error, how long the
told step took beside the one after it, and what a watched call of `step` costs by itself (`step_call_us`). What a compiled graph's wrapper costs is in
both kinds of blocks: it is timed by itself too (`graph_call_us`). What is in the file already is left out.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
import argparse
import json
import pathlib
import random
import signal
import statistics
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'python' / 'watcher'), str(ROOT / 'tests' / 'watch')]

import torch

import told
import workloads

# Workload, batch, precision, optimizer, compiled. Small models, whose step is short, show the most.
LOOPS = [('mlp:1024x4', 64, 'fp32', 'sgd', False), ('tv:resnet50@224', 64, 'bf16', 'sgd', False), ('hf:bert@128', 32, 'bf16', 'adamw', False),
         ('lstm:256x2', 32, 'fp32', 'sgd', False), ('mlp:1024x4', 64, 'fp32', 'sgd', True), ('gan:64@64', 64, 'fp32', 'sgd', False),
         ('dlrm:1e6', 2048, 'fp32', 'sgd', False), ('tv:resnet50@224', 64, 'bf16', 'sgd', True), ('enc:512x6', 32, 'bf16', 'adamw', False),
         ('hf:bert@128', 32, 'bf16', 'sgd', True)]
WARM_UP = 12       # steps; cuDNN has chosen by then, and a compiled model is compiled


class Same:
    """A loader that gives one batch for ever."""

    def __init__(self, loader, device):
        self.batch = [x.to(device) for x in next(iter(loader))]

    def __iter__(self):
        while True:
            yield self.batch


class Switch:
    """The watcher in and out of the classes of optimizers."""

    def __init__(self, watch):
        self.classes = [(kind, kind.__dict__['step']) for kind in every(torch.optim.Optimizer) if kind.__dict__.get('step') in watch.wrapped]

    def set(self, on):
        for kind, watched in self.classes:
            kind.step = watched if on else watched.__wrapped__


def every(kind):
    return [kind] + [heir for direct in kind.__subclasses__() for heir in every(direct)]


def graph_call_us(compiled):
    """Microseconds that the wrapper of a compiled graph adds to a call."""
    def nothing(*args):
        return args

    class Graph:
        updates, calls, trained_calls = False, 0, 0
    compiled.watch.stage, before = 'waiting', compiled.watch.stage
    wrapped = compiled._counted(torch, Graph(), nothing)
    compiled.watch.stage = before
    compiled.forget()

    def per_call(function):
        times = []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(20000):
                function(1, 2)
            times.append((time.perf_counter() - began) / 20000)
        return min(times)
    return round((per_call(wrapped) - per_call(nothing)) * 1e6, 3)


def step_call_us():
    """Microseconds that the watcher, which is on, adds to an optimizer's step: of an optimizer that does nothing, watched and not."""
    class Nothing(torch.optim.Optimizer):
        def __init__(self):
            super().__init__([torch.nn.Parameter(torch.zeros(1))], {})

        def step(self, closure=None):
            pass
    optimizer = Nothing()
    for _ in range(40):
        optimizer.step()
    watched, times = Nothing.step, {}
    for _ in range(15):
        for name, function in (('watched', watched), ('without', watched.__wrapped__)):
            began = time.perf_counter()
            for _ in range(20000):
                function(optimizer)
            times.setdefault(name, []).append((time.perf_counter() - began) / 20000)
    return round((min(times['watched']) - min(times['without'])) * 1e6, 3)


def in_turns(steps, seconds, switch, wait):
    """Seconds of blocks of two steps (the loop reads its loss after two), with the watcher and without it: one of each in turn, in an order that is drawn,
    so that the host's slow moods meet both alike."""
    draw, times = random.Random(1), {False: [], True: []}
    wait()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for on in draw.sample((False, True), 2):
            switch.set(on)
            began = time.perf_counter()
            next(steps)
            next(steps)
            wait()
            times[on].append(time.perf_counter() - began)
    return times


def overhead(times):
    """By how much the median block is longer with the watcher, in percent; and its standard error, from ten parts of the sitting."""
    def of(parts):
        return 100 * (statistics.median(parts[True]) / statistics.median(parts[False]) - 1)
    size = len(times[True]) // 10
    parts = [of({on: times[on][i * size:(i + 1) * size] for on in times}) for i in range(10)] if size >= 3 else []
    return round(of(times), 4), round(statistics.stdev(parts) / 10 ** 0.5, 4) if parts else None


def measured(loop, a, pipe):
    name, batch, precision, optimizer, compiled = loop
    os.environ['SHAREWELL_WATCH_PIPE'] = pipe
    import sharewell_watch
    sharewell_watch.start(torch)
    watch = sharewell_watch._watch
    cuda = a.device == 'cuda'
    wait = torch.cuda.synchronize if cuda else lambda: None
    task = workloads.build(name, batch, 1)
    task.loader = Same(workloads.common.make_loader(task.data, batch, 1, pin=False), a.device)
    if compiled:
        task.model = torch.compile(task.model)
    steps, took = workloads.common.steps(task, precision, optimizer, a.device), []
    for _ in range(WARM_UP):
        wait()
        began = time.perf_counter()
        next(steps)
        wait()
        took.append(time.perf_counter() - began)
    switch = Switch(watch)
    in_turns(steps, 0.5, switch, wait)
    times = in_turns(steps, a.seconds, switch, wait)
    heard = told.heard(pathlib.Path(pipe).read_bytes())
    if heard.off:
        raise RuntimeError('the watcher: ' + heard.off[0])
    percent, error = overhead(times)
    result = {'without_steps_per_s': round(2 / statistics.median(times[False]), 3), 'with_steps_per_s': round(2 / statistics.median(times[True]), 3),
              'overhead_percent': percent, 'standard_error_percent': error, 'blocks': len(times[True]),
              'told': len(heard.documents), 'steps_told': heard.steps, 'told_step_s': round(took[1], 4), 'step_s': round(statistics.median(took[4:]), 4)}
    if heard.documents:
        told.check(heard.documents[0])
        step = heard.documents[0]
        result |= {'operators': len(step['operators']), 'told_compiled': step['compiled'], 'told_batch': step['batch'],
                   'told_bytes': len(json.dumps(step, separators=(',', ':')))}
    result['step_call_us'] = step_call_us()
    if compiled:
        result['graph_call_us'] = graph_call_us(watch.compiled)
    return dict(result, ok=True)


def run(loop, a, folder):
    """A line of the loop, measured in a forked process."""
    answer, pipe = os.path.join(folder, 'answer'), os.path.join(folder, 'pipe')
    for path in (answer, answer + '.part', pipe):
        if os.path.exists(path):
            os.unlink(path)
    open(pipe, 'w', encoding='ascii').close()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        try:
            result = measured(loop, a, pipe)
        except BaseException as error:
            result = {'ok': False, 'error': (repr(error)[:300] + ' ' + ' | '.join(traceback.format_exc().strip().splitlines()[-3:]))[:700]}
        try:
            with open(answer + '.part', 'w', encoding='ascii') as file:
                json.dump(result, file)
            os.replace(answer + '.part', answer)
        finally:
            os.killpg(0, signal.SIGKILL)
    until, result = time.monotonic() + a.patience, {'ok': False, 'error': 'not ended after {:g} s'.format(a.patience)}
    gone = False
    while time.monotonic() < until and not os.path.exists(answer) and not gone:
        time.sleep(0.02)
        gone = os.waitpid(pid, os.WNOHANG) != (0, 0)
    if os.path.exists(answer):
        with open(answer, encoding='ascii') as file:
            result = json.load(file)
    elif gone:
        result = {'ok': False, 'error': 'its process ended without an answer'}
    for kill in () if gone else (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    if not gone:
        os.waitpid(pid, 0)
    return dict(zip(('workload', 'batch', 'precision', 'optimizer', 'compiled'), loop)) | result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path, nargs='?')
    parser.add_argument('--call', action='store_true', help='only what one call of an optimizer costs more, without a GPU')
    parser.add_argument('--limit', type=float, default=500, help='begin no loop after so many seconds')
    parser.add_argument('--seconds', type=float, default=8, help='of blocks, for each loop')
    parser.add_argument('--patience', type=float, default=120, help='seconds that a loop may take')
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda')
    parser.add_argument('--only', nargs='*', metavar='NAME', help='workloads, as KIND:SIZE')
    a = parser.parse_args()
    if a.call:
        with tempfile.NamedTemporaryFile() as pipe:
            os.environ['SHAREWELL_WATCH_PIPE'] = pipe.name
            import sharewell_watch
            sharewell_watch.start(torch)
            print('{:.2f} us a step'.format(step_call_us()))
        return
    if a.folder is None:
        parser.error('give the FOLDER')
    began = time.monotonic()
    try:
        workloads.preload()
    except ImportError as error:
        print('not there:', error, flush=True)
    a.folder.mkdir(parents=True, exist_ok=True)
    path = a.folder / 'watch-cost.jsonl'
    have = [json.loads(line) for line in path.read_text(encoding='ascii').splitlines()] if path.exists() else []
    have = {tuple(e[name] for name in ('workload', 'batch', 'precision', 'optimizer', 'compiled')) for e in have if e['ok']}
    with tempfile.TemporaryDirectory(prefix='watch-cost-') as folder:
        for loop in LOOPS:
            if loop in have or a.only and loop[0] not in a.only:
                continue
            if time.monotonic() - began > a.limit - 20:
                print('time is up', flush=True)
                break
            line = run(loop, a, folder)
            with open(path, 'a', encoding='ascii') as file:
                file.write(json.dumps(line) + '\n')
            print(round(time.monotonic() - began, 1), *loop[:4], 'compiled' if loop[4] else '', line.get('error') or
                  '{without_steps_per_s} steps/s without, {with_steps_per_s} with: {overhead_percent:+.3f} % (standard error '
                  '{standard_error_percent} %), {step_call_us} us a call, told step {told_step_s} s, others {step_s} s'.format(**line), flush=True)


if __name__ == '__main__':
    main()
