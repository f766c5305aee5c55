"""Times cells of the operator table on the GPU: how long kernels ran, by PyTorch's profiler (operators.py)."""
import contextlib
import json
import math
import os
import statistics
import tempfile
import time
import warnings

TIMES = 3
FLUSH_BYTES = 160 << 20          # more than any L2

warnings.filterwarnings('ignore', message='.*Profiler clears events')   # each session here has one cycle


class Clock:
    """How long kernels ran, by the profiler: every run stands between two marks, kernels that nothing else launches."""

    def __init__(self, torch):
        self.torch = torch
        self.flushed = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device='cuda')
        self.number = torch.zeros(1, dtype=torch.complex128, device='cuda')
        self.mark, self.mark_name = None, None
        for mark in (lambda: torch.cuda._sleep(100), lambda: self.number.cos_()):
            try:
                mark()
                kernels = self.record(lambda m=mark: [m() for _ in range(4)])
            except (RuntimeError, AttributeError):
                continue
            names = {k[2] for k in kernels}
            if len(kernels) == 4 and len(names) == 1:
                self.mark, self.mark_name = mark, names.pop()
                break

    def works(self):
        return self.mark is not None

    def record(self, work):
        """(start, end, name) of everything the GPU did meanwhile, in seconds, by start."""
        from torch.profiler import ProfilerActivity, profile
        self.torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as session:
            work()
            self.torch.cuda.synchronize()
        handle, path = tempfile.mkstemp(suffix='.json')
        os.close(handle)
        try:
            session.export_chrome_trace(path)
            with open(path, encoding='utf-8', errors='replace') as file:
                events = json.load(file)['traceEvents']
        finally:
            os.unlink(path)
        found = [(float(e['ts']) * 1e-6, (float(e['ts']) + float(e['dur'])) * 1e-6, e['name']) for e in events
                 if e.get('ph') == 'X' and e.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset')]
        return sorted(found)

    def between(self, hot, run):
        self.flushed.zero_()
        if hot is not None and hot.numel():
            hot.detach().view(-1).max() if hot.is_contiguous() else hot.detach().max()
        self.mark()
        result = run()
        self.mark()
        return result

    def segments(self, kernels):
        """[(busy seconds, kernels)] of what stood between marks 1 and 2, 3 and 4, and so on; None when marks are missing."""
        found, open_, inside = [], False, []
        for start, end, name in kernels:
            if name != self.mark_name:
                if open_:
                    inside.append((start, end))
                continue
            if open_:
                busy, until = 0.0, -math.inf
                for a, b in inside:
                    busy += max(0.0, b - max(a, until))
                    until = max(until, b)
                found.append((busy, len(inside)))
            open_, inside = not open_, []
        return None if open_ else found


def settings(torch, precision):
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != 'fp32'
    return torch.autocast('cuda', torch.bfloat16) if precision == 'bf16' else contextlib.nullcontext()


def passes(torch, make, cell):
    """(forward, backward or None, hot): callables; forward gives the output, backward takes it and its gradient."""
    run, inputs, hot = make(cell)
    precision = cell['precision']

    def forward():
        with settings(torch, precision):
            return run()

    def backward(out, gradient):
        return torch.autograd.grad(out, inputs, gradient, retain_graph=True, allow_unused=True)
    return forward, backward if inputs else None, hot


def gradient_of(torch, out):
    differentiable = out is not None and isinstance(out, torch.Tensor) and out.requires_grad
    return torch.randn_like(out) if differentiable else None


def rehearse(torch, make, cell):
    """Once before the clock: cuDNN searches, libraries load."""
    forward, backward, _ = passes(torch, make, cell)
    out = forward()
    gradient = gradient_of(torch, out)
    if backward and gradient is not None:
        backward(out, gradient)
        backward(out, gradient)
    torch.cuda.synchronize()


def perform(torch, make, clock, cell):
    """All runs of a cell between marks; how many forward and how many backward."""
    forward, backward, hot = passes(torch, make, cell)
    forward()
    for _ in range(TIMES):
        out = clock.between(hot, forward)
    gradient = gradient_of(torch, out)
    if not backward or gradient is None:
        return TIMES, 0
    for _ in range(TIMES):
        clock.between(gradient, lambda: backward(out, gradient))
    return TIMES, TIMES


def by_events(torch, make, cell):
    """Without a profiler: events around runs that wait behind a long kernel, so that the host is ahead."""
    forward, backward, _ = passes(torch, make, cell)
    out = forward()
    gradient = gradient_of(torch, out)
    found = []
    for run in (forward, (lambda: backward(out, gradient)) if backward and gradient is not None else None):
        if run is None:
            found.append(0.0)
            continue
        run()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(4_000_000)
        start.record()
        for _ in range(5):
            run()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) * 1e-3 / 5)
    return {'forward_seconds': f'{found[0]:.4g}', 'backward_seconds': f'{found[1]:.4g}'}


def why(error):
    return ' '.join(str(error).split())[:160] or type(error).__name__


def measure(torch, make, clock, chunk, until):
    """Results of the cells, in order; it stops when the time is up."""
    results, ready = {}, []
    for i, cell in enumerate(chunk):
        if time.monotonic() > until:
            break
        try:
            rehearse(torch, make, cell)
            ready.append(i)
        except Exception as error:                         # whatever a library says: the cell has failed, not the table
            results[i] = {'failure': why(error)}
            recover(torch, error)
    if not clock.works():
        for i in ready:
            try:
                results[i] = by_events(torch, make, chunk[i])
            except Exception as error:
                results[i] = {'failure': why(error)}
                recover(torch, error)
        return results
    plan = []

    def work():
        for i in ready:
            if time.monotonic() > until + 20:
                break
            try:
                plan.append((i, *perform(torch, make, clock, chunk[i])))
            except Exception as error:
                results[i] = {'failure': 'the second time: ' + why(error)}
                recover(torch, error)
                raise
    try:
        kernels = clock.record(work)
    except Exception as error:                             # marks are out of step now: these cells one by one
        if len(ready) == 1:
            results.setdefault(ready[0], {'failure': why(error)})
            return results
        kernels = None
    segments = clock.segments(kernels) if kernels is not None else None
    if segments is None or len(segments) != sum(f + b for _, f, b in plan):
        if len(chunk) == 1:
            return results or {0: {'failure': 'the profiler lost marks'}}
        for i in ready:
            if i not in results and time.monotonic() < until:
                results.update({i: r for r in measure(torch, make, clock, [chunk[i]], until).values()})
        return results
    at = 0
    for i, forwards, backwards in plan:
        ahead, back = segments[at:at + forwards], segments[at + forwards:at + forwards + backwards]
        at += forwards + backwards
        total = [sum(pair) for pair in zip([s for s, _ in ahead], [s for s, _ in back] or [0.0] * forwards)]
        middle = statistics.median(total)
        results[i] = {'forward_seconds': f'{statistics.median(s for s, _ in ahead):.4g}',
                      'backward_seconds': f'{statistics.median(s for s, _ in back) if back else 0:.4g}',
                      'forward_kernels': statistics.median_low(n for _, n in ahead),
                      'backward_kernels': statistics.median_low(n for _, n in back) if back else 0,
                      'spread': f'{(max(total) - min(total)) / middle:.3f}' if middle else ''}
    return results


def recover(torch, error):
    if 'memory' in str(error).lower():
        torch.cuda.empty_cache()
