#!/usr/bin/env python3
"""Times operators one by one on the GPU at hand, forward and backward, as the loops of zoo/ run them; writes the operator table.

    python3 tools/lab/operators.py --cells data/h200/cells.csv --out operators.csv --seconds 600
    python3 tools/lab/operators.py --cells data/h200/cells.csv --smoke

A cell is an operator with its shapes, made of our graphs by tools/lab/cells.py, most valuable first. What it takes is how long kernels
ran, by PyTorch's profiler (CUPTI): launches and the host do not show. Before each run the L2 cache is emptied, then what the operator
before or behind would just have written is read once. cuDNN searches as in the loops (cudnn.benchmark), before the clock starts.

It goes on where the file --out ends, and a cut-off run is still a table. What fails is kept with its reason. Needs PyTorch with CUDA.
"""
import argparse
import contextlib
import csv
import json
import math
import os
import statistics
import sys
import tempfile
import time

RESULTS = ('forward_seconds', 'backward_seconds', 'forward_kernels', 'backward_kernels', 'spread', 'failure')
KEY = ('class', 'type', 'precision', 'operands', 'output', 'groups', 'window', 'dilation')
TIMES, CHUNK = 3, 60
FLUSH_BYTES = 160 << 20          # more than any L2
MOST_BYTES = 40e9                # of a cell's operands; beyond, it is not run
LARGEST_INDEX = 1 << 24


class Operand:
    """'64x256x14x14:2g': dimensions, bytes an element, then g: wants a gradient, w: weight, c: constant, i: whole numbers."""

    def __init__(self, text):
        dims, _, rest = text.partition(':')
        self.dims = [] if dims == '1' else [int(d) for d in dims.split('x')]
        self.scalar = dims == '1'
        self.width = int(''.join(c for c in rest if c.isdigit()) or 4)
        self.grad, self.weight, self.constant, self.whole = ('g' in rest, 'w' in rest, 'c' in rest, 'i' in rest)

    def bytes(self):
        return math.prod(self.dims) * self.width


def operands_of(text):
    return [None if part in ('-', '') or part.startswith('?') else Operand(part) for part in text.split(' ')] if text else []


def sizes_of(text):
    return [int(d) for d in text.split('x')] if text else []


def window_of(n, m, k, d):
    """Stride and padding that take n places to m with a window of k, d apart: the least padding that does."""
    reach = d * (k - 1) + 1
    guess = max(1, round(n / max(m, 1)))
    for stride in dict.fromkeys((guess, guess + 1, max(1, guess - 1), max(1, n // max(m, 1)))):
        for pad in range(0, reach + 1):
            if n + 2 * pad >= reach and (n + 2 * pad - reach) // stride + 1 == m:
                return stride, pad
    return guess, d * (k - 1) // 2


def roots(window, space):
    """The sides of a window of so many elements."""
    side = round(window ** (1 / max(space, 1)))
    return [side] * space if side ** space == window else [window] + [1] * (space - 1)


class Maker:
    """Makes a cell's tensors and what runs it."""

    def __init__(self, torch):
        self.torch, self.F = torch, torch.nn.functional

    def tensor(self, operand):
        torch = self.torch
        if operand.whole:
            return torch.zeros(operand.dims, dtype=torch.long, device='cuda')
        made = torch.randn(operand.dims, dtype=torch.bfloat16 if operand.width == 2 else torch.float32, device='cuda')
        return made.requires_grad_(operand.grad)

    def __call__(self, cell):
        """(run, inputs that want gradients, what was just written): run() gives the output."""
        kind = cell['class']
        if kind == 'update':
            return self.update(cell)
        operands = operands_of(cell['operands'])
        if not operands or operands[0] is None:
            raise ValueError('its first operand is not known')
        if sum(o.bytes() for o in operands if o) > MOST_BYTES:
            raise ValueError('its operands are larger than it may take')
        out = sizes_of(cell['output'])
        how = getattr(self, {'stem': 'conv', 'pointwise': 'conv', 'depthwise': 'conv', 'grouped': 'conv'}.get(kind, kind))
        run, inputs, hot = how(cell, operands, out)
        return run, [t for t in inputs if t is not None and t.requires_grad], hot

    def conv(self, cell, operands, out):
        F, x, w = self.F, self.tensor(operands[0]), self.tensor(operands[1])
        bias = self.tensor(operands[2]) if len(operands) > 2 and operands[2] else None
        space, groups, dilation = len(operands[0].dims) - 2, int(cell['groups']), int(cell['dilation'])
        if not 1 <= space <= 3:
            raise ValueError(f'a convolution over {space} dimensions')
        kernel = operands[1].dims[2:]
        if 'ranspose' in cell['type']:
            steps, pads, extras = [], [], []
            for n, m, k in zip(operands[0].dims[2:], out[2:], kernel):
                stride = max(1, round(m / n))
                over = (n - 1) * stride + dilation * (k - 1) + 1 - m
                pad = max(0, -(-over // 2))
                steps.append(stride), pads.append(pad), extras.append(max(0, 2 * pad - over))
            call = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[space - 1]
            return lambda: call(x, w, bias, steps, pads, extras, groups, dilation), (x, w, bias), x
        found = [window_of(n, m, k, dilation) for n, m, k in zip(operands[0].dims[2:], out[2:], kernel)]
        steps, pads = [s for s, _ in found], [p for _, p in found]
        call = (F.conv1d, F.conv2d, F.conv3d)[space - 1]
        return lambda: call(x, w, bias, steps, pads, dilation, groups), (x, w, bias), x

    def matmul(self, cell, operands, out):
        torch, F = self.torch, self.F
        x, other = self.tensor(operands[0]), operands[1]
        if other.weight and len(other.dims) == 2:
            inner = operands[0].dims[-1]
            outer = other.dims[1] if other.dims[0] == inner else other.dims[0]
            w = torch.randn((outer, inner), dtype=torch.float32, device='cuda').requires_grad_(other.grad)
            bias = None
            if len(operands) > 2 and operands[2] and not operands[2].scalar:
                bias = torch.zeros(outer, device='cuda').requires_grad_(operands[2].grad)
            return lambda: F.linear(x, w, bias), (x, w, bias), x
        y = self.tensor(other)
        return lambda: torch.matmul(x, y), (x, y), x

    def attention(self, cell, operands, out):
        F = self.F
        q, k, v = (self.tensor(o) for o in operands[:3])
        turned = k.shape[-1] != q.shape[-1] or (k.shape[-2] != v.shape[-2] and k.shape[-1] == v.shape[-2])
        ahead = list(q.shape[:-2])
        if len(ahead) < 1 or any(list(t.shape[:-2]) != ahead for t in (k, v)):
            raise ValueError('queries, keys and values do not fit')
        heads = [-1, ahead[-1] if len(ahead) > 1 else 1]
        flat = lambda t: t.reshape(*heads, *t.shape[-2:])  # what fused kernels take: batch, heads, length, width
        mask, causal = None, False
        for o in operands[3:]:
            if o is None or o.scalar or len(o.dims) < 2:
                continue
            if o.grad:
                mask = self.tensor(o)
            elif o.dims[-1] == o.dims[-2] and math.prod(o.dims[:-2]) == 1:
                causal = mask is None
            elif mask is None:
                mask = self.torch.zeros(o.dims, dtype=q.dtype, device='cuda')
        causal = causal and mask is None and q.shape[-2] > 1

        def run():
            keys = k.transpose(-1, -2) if turned else k
            bias = mask if mask is None or mask.dtype == q.dtype else mask.to(q.dtype)
            if bias is not None and bias.dim() > 4:
                bias = bias.expand(*ahead, *bias.shape[-2:]).reshape(*heads, *bias.shape[-2:])
            return F.scaled_dot_product_attention(flat(q), flat(keys), flat(v), attn_mask=bias, is_causal=causal)
        return run, (q, k, v, mask), q

    def recurrent(self, cell, operands, out):
        nn = self.torch.nn
        kind = {'LSTM': (nn.LSTM, 4), 'GRU': (nn.GRU, 3)}.get(cell['type'].upper(), (nn.RNN, 1))
        x, w = operands[0], operands[1]
        both, hidden = out[1] if len(out) == 4 else 1, out[-1]
        layer = kind[0](w.dims[-1], hidden, 1, bidirectional=both == 2).cuda()
        source = self.tensor(x)
        return lambda: layer(source)[0], (source, *layer.parameters()), source

    def norm(self, cell, operands, out):
        torch, F, x, kind = self.torch, self.F, self.tensor(operands[0]), cell['type']
        dims = operands[0].dims

        def pair(shape):
            return (torch.ones(shape, device='cuda').requires_grad_(), torch.zeros(shape, device='cuda').requires_grad_())
        if 'atch' in kind:
            w, b = pair(dims[1])
            mean, var = torch.zeros(dims[1], device='cuda'), torch.ones(dims[1], device='cuda')
            return lambda: F.batch_norm(x, mean, var, w, b, True), (x, w, b), x
        if 'nstance' in kind:                              # how exporters write a group norm: a channel is a group
            return lambda: F.group_norm(x, dims[1]), (x,), x
        if 'roup' in kind:
            groups = next(g for g in (32, 16, 8, 4, 2, 1) if dims[1] % g == 0)
            w, b = pair(dims[1])
            return lambda: F.group_norm(x, groups, w, b), (x, w, b), x
        scale = next((o.dims for o in operands[1:] if o and o.weight and o.dims), dims[-1:])
        shape = scale if scale == dims[-len(scale):] else dims[-1:]
        w, b = pair(shape)
        if 'RMS' in kind or 'implified' in kind:
            return lambda: F.rms_norm(x, shape, w), (x, w), x
        return lambda: F.layer_norm(x, shape, w, b), (x, w, b), x

    def activation(self, cell, operands, out):
        torch, F, x = self.torch, self.F, self.tensor(operands[0])
        calls = {'Gelu': F.gelu, 'Silu': F.silu, 'Sigmoid': torch.sigmoid, 'HardSwish': F.hardswish, 'HardSigmoid': F.hardsigmoid,
                 'Clip': F.relu6, 'LeakyRelu': lambda t: F.leaky_relu(t, .1), 'Tanh': torch.tanh, 'Elu': F.elu, 'Softplus': F.softplus,
                 'Sin': torch.sin, 'Cos': torch.cos, 'Mish': F.mish, 'Exp': torch.exp, 'Log': lambda t: torch.log(t.abs() + 1),
                 'Erf': torch.erf, 'Selu': F.selu, 'Dropout': lambda t: F.dropout(t, .1, True)}
        call = calls.get(cell['type'], F.relu)
        return lambda: call(x), (x,), x

    def elementwise(self, cell, operands, out):
        if cell['type'].startswith(('Reduce', 'Arg', 'Cum')):
            return self.reduction(cell, operands, out)
        torch = self.torch
        made = [2.0 if o.scalar or not o.dims else self.tensor(o) for o in operands if o]
        tensors = [t for t in made if not isinstance(t, float)]
        if not tensors:
            raise ValueError('it has no operand of more than one element')
        a, b, kind = made[0], made[1] if len(made) > 1 else 2.0, cell['type']
        if kind == 'Where':
            where = tensors[0].detach() != 5
            values = [t for t in made[1:]] + [1.0, 1.0]
            return lambda: torch.where(where, values[0], values[1]), tensors, tensors[0]
        if kind in ('Equal', 'Not', 'Less', 'Greater', 'And', 'Or', 'IsNaN', 'GreaterOrEqual', 'LessOrEqual'):
            return lambda: torch.ne(tensors[0].detach(), 0), (), tensors[0]
        if kind == 'Cast':
            return lambda: tensors[0].to(torch.float32 if tensors[0].dtype != torch.float32 else torch.bfloat16), tensors, tensors[0]
        unary = {'Sqrt': lambda t: torch.sqrt(t.abs()), 'Reciprocal': torch.reciprocal, 'Neg': torch.neg, 'Abs': torch.abs,
                 'Exp': torch.exp, 'Log': lambda t: torch.log(t.abs() + 1)}
        if kind in unary or len(made) == 1:
            call = unary.get(kind, torch.neg)
            return lambda: call(tensors[0]), tensors, tensors[0]
        binary = {'Add': lambda: a + b, 'Sub': lambda: a - b, 'Mul': lambda: a * b, 'Div': lambda: a / b,
                  'Pow': lambda: tensors[0] ** 2, 'Max': lambda: torch.maximum(a, b), 'Min': lambda: torch.minimum(a, b)}
        return binary.get(kind, binary['Mul']), tensors, tensors[0]

    def reduction(self, cell, operands, out):
        torch, x, dims = self.torch, self.tensor(operands[0]), operands[0].dims
        if len(out) == len(dims):
            axes = [i for i, (n, m) in enumerate(zip(dims, out)) if n != m]
        else:                                              # those left over when the output's are found in order
            axes, left = [], list(out)
            for i, n in enumerate(dims):
                if left and left[0] == n:
                    left.pop(0)
                else:
                    axes.append(i)
        keep, kind = len(out) == len(dims), cell['type']
        if not axes:
            axes = [len(dims) - 1]
        if kind.startswith('Arg'):
            return lambda: x.detach().argmax(axes[0]), (), x
        if kind.startswith('Cum'):
            return lambda: x.cumsum(-1), (x,), x
        if kind == 'ReduceSum':
            return lambda: x.sum(axes, keepdim=keep), (x,), x
        if kind == 'ReduceMax':
            return lambda: x.amax(axes, keepdim=keep), (x,), x
        if kind == 'ReduceL2':
            return lambda: torch.linalg.vector_norm(x, dim=axes, keepdim=keep), (x,), x
        return lambda: x.mean(axes, keepdim=keep), (x,), x

    def softmax(self, cell, operands, out):
        x = self.tensor(operands[0])
        return lambda: self.F.softmax(x, -1), (x,), x

    def pool(self, cell, operands, out):
        F, x, space = self.F, self.tensor(operands[0]), len(operands[0].dims) - 2
        if not 1 <= space <= 3 or len(out) != space + 2:
            raise ValueError('a pool of no such dimensions')
        if 'Global' in cell['type'] or all(m == 1 for m in out[2:]):
            if 'Max' in cell['type']:
                return lambda: x.amax(list(range(2, space + 2)), keepdim=True), (x,), x
            return lambda: (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[space - 1](x, 1), (x,), x
        kernel = roots(int(cell['window']), space)
        found = [window_of(n, m, k, 1) for n, m, k in zip(operands[0].dims[2:], out[2:], kernel)]
        steps, pads = [s for s, _ in found], [min(p, k // 2) for (_, p), k in zip(found, kernel)]
        calls = (F.max_pool1d, F.max_pool2d, F.max_pool3d) if 'Max' in cell['type'] else (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
        call = calls[space - 1]
        return lambda: call(x, kernel, steps, pads), (x,), x

    def embedding(self, cell, operands, out):
        table = next(o for o in operands if o and not o.whole)
        ids = next((o for o in operands if o and o.whole), None)
        count = math.prod(ids.dims) if ids else math.prod(out) // max(1, table.dims[-1])
        w = self.tensor(table)
        index = self.torch.randint(0, table.dims[0], (max(1, count),), device='cuda')
        return lambda: self.F.embedding(index, w), (w,), index

    def move(self, cell, operands, out):
        torch, F, kind = self.torch, self.F, cell['type']
        made = [self.tensor(o) for o in operands if o and not o.scalar and (kind == 'Concat' or not o.whole)]
        if not made:
            raise ValueError('it has no operand to copy')
        x = made[0]
        if kind == 'Concat' and len(made) > 1:
            axis = next((i for i in range(x.dim()) if sum(t.shape[i] for t in made) == out[i]), None)
            if axis is not None and all(t.dim() == x.dim() for t in made):
                floats = [t if t.is_floating_point() else t.float() for t in made]
                return lambda: torch.cat(floats, axis), made, x
        if kind == 'Resize' and x.dim() == 4 and len(out) == 4:
            return lambda: F.interpolate(x, size=out[2:], mode='bilinear', align_corners=False), (x,), x
        if kind == 'Pad' and len(out) == x.dim() and all(m >= n for n, m in zip(x.shape, out)):
            pads = [p for n, m in reversed(list(zip(x.shape, out))) for p in ((m - n) // 2, m - n - (m - n) // 2)]
            return lambda: F.pad(x, pads), (x,), x
        if kind.startswith('Gather') and len(out) == x.dim():
            axis = next((i for i, (n, m) in enumerate(zip(x.shape, out)) if n != m), 0)
            index = torch.randint(0, x.shape[axis], (out[axis],), device='cuda')
            return lambda: x.index_select(axis, index), (x,), x
        if x.dim() > 2:
            return lambda: x.transpose(1, -1).clone(memory_format=torch.contiguous_format), (x,), x
        return lambda: x.clone(), (x,), x

    def update(self, cell):
        """The optimizer's pass over weights of these sizes: '64*3 9408*1' is three of 64 and one of 9408 elements."""
        torch, weights = self.torch, []
        for part in cell['operands'].split(' '):
            size, _, count = part.partition('*')
            for _ in range(int(count or 1)):
                weights.append(torch.zeros(int(size), device='cuda').requires_grad_())
        for w in weights:
            w.grad = torch.ones_like(w)
        kind = cell['type']
        optimizer = torch.optim.AdamW(weights, 1e-4) if kind == 'adamw' else torch.optim.SGD(weights, 0.01, momentum=0.9)
        return optimizer.step, [], None


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


def read(path):
    with open(path, newline='', encoding='utf-8') as file:
        reader = csv.DictReader(file)
        return list(reader), reader.fieldnames


def key_of(cell):
    return tuple(cell[name] for name in KEY)


def sample(cells):
    """About thirty that differ: of every class and precision the first, then other types."""
    chosen, seen = [], set()
    for what in (('class', 'precision'), ('class', 'type')):
        for cell in cells:
            kind = tuple(cell[name] for name in what)
            if kind not in seen and len(chosen) < 60:
                seen.add(kind)
                if cell not in chosen:
                    chosen.append(cell)
    return chosen


def show(cell, result):
    got = [float(result.get(name) or 0) * 1e6 for name in RESULTS[:2]]
    print(f"{cell['class']:11} {cell['type'][:16]:16} {cell['precision']:4} {got[0]:10.1f} {got[1]:10.1f} us  "
          f"{result.get('forward_kernels', ''):>5} {result.get('backward_kernels', ''):>5}  {result.get('spread', ''):>6}  "
          f"{cell['operands'][:60]}  {result.get('failure', '')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--cells', required=True, metavar='CSV', help='what to run: tools/lab/cells.py makes it')
    parser.add_argument('--out', metavar='CSV', help='the table; goes on where it ends')
    parser.add_argument('--seconds', type=float, default=600, help='stop after as many (default %(default)g)')
    parser.add_argument('--limit', type=int, help='only the first cells')
    parser.add_argument('--smoke', action='store_true', help='some cells of each class, printed')
    args = parser.parse_args()
    begin = time.monotonic()
    try:
        import torch
    except ImportError:
        sys.exit('operators.py: PyTorch is not installed: pip install torch')
    if not torch.cuda.is_available():
        sys.exit('operators.py: PyTorch finds no GPU; see `sharewell doctor`')
    if not args.out and not args.smoke:
        parser.error('--out FILE, or --smoke')
    cells, names = read(args.cells)
    if args.smoke:
        cells = sample(cells)
    cells = cells[:args.limit]
    done, columns = set(), [*names, 'gpu', *RESULTS]
    if args.out and os.path.exists(args.out):
        done = {key_of(row) for row in read(args.out)[0]}
    todo = [cell for cell in cells if key_of(cell) not in done]
    gpu = torch.cuda.get_device_name()
    make, clock = Maker(torch), Clock(torch)
    print(f'{gpu}, torch {torch.__version__}: {len(todo)} cells, {len(done)} done before; ready after {time.monotonic() - begin:.1f} s; '
          + (f'kernels by the profiler, marks are {clock.mark_name[:40]}' if clock.works() else 'NO PROFILER: by events'), flush=True)
    until, failed, count = begin + args.seconds, 0, 0
    with (open(args.out, 'a', newline='', encoding='utf-8') if args.out else contextlib.nullcontext()) as file:
        writer = csv.DictWriter(file, columns, lineterminator='\n') if file else None
        if writer and not done:
            writer.writeheader()
        for at in range(0, len(todo), CHUNK):
            if time.monotonic() > until:
                break
            chunk = todo[at:at + CHUNK]
            for i, result in sorted(measure(torch, make, clock, chunk, until).items()):
                count, failed = count + 1, failed + bool(result.get('failure'))
                if writer:
                    writer.writerow({**chunk[i], 'gpu': gpu, **result})
                    file.flush()
                if args.smoke:
                    show(chunk[i], result)
            if torch.cuda.memory_reserved() > 60 << 30:
                torch.cuda.empty_cache()
            print(f'{count} of {len(todo)} cells, {failed} failed, {time.monotonic() - begin:.0f} s', flush=True)
    print('stopped by the time' if count < len(todo) else 'done', flush=True)


if __name__ == '__main__':
    main()
