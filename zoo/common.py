"""What the families of the zoo share: tasks, losses, loader, precision, optimizer, the loop, and the command line.

A family file has KINDS, a function task(kind, rest, batch) and MODELS, short names of workloads. A workload is named KIND:REST
("tv:resnet50@224"), as in data/h200.
"""
import argparse
import contextlib
import os
import signal
import sys

import hand_over
import progress

hand_over.hand_over()

try:
    import torch
except ImportError:
    progress.absent('PyTorch is not installed: pip install torch torchvision; zoo/plain.py runs without it')

import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Task:
    """What a workload is made of: a model, example inputs on the CPU, a loader, and `loss(model, batch on the device)`.

    `split` names parts of the model that have optimizers of their own, and `step(model, optimizers, batch, autocast)` replaces the
    usual step then; `side` are modules that are not trained. Where a step runs more than the model once, `whole` is a module whose
    forward is all that it runs, and its example inputs: that is the graph to export. What runs without gradients has weights of its
    own there that want none. `varies`: the shapes of its convolutions differ from step to step, so that cuDNN is not to try out
    algorithms for each.
    """

    def __init__(self, model, example, data, loss, split=None, step=None, side=(), whole=None, varies=False):
        self.model, self.example, self.data, self.loss, self.split, self.step, self.side = model, example, data, loss, split, step, side
        self.whole, self.varies = whole or (model, example), varies
        self.loader = None


class Logits(nn.Module):
    """A Hugging Face model as a function of its ids alone."""

    def __init__(self, m, **kw):
        super().__init__()
        self.m, self.kw = m, kw

    def forward(self, x):
        return self.m(x, **self.kw).logits


def on(criterion):
    """A loss of (output, target) as one of (model, batch): the last of the batch is the target, the others are the inputs."""
    return lambda model, b: criterion(model(*b[:-1]), b[-1])


classify = on(F.cross_entropy)
tokenwise = on(lambda o, t: F.cross_entropy(o.flatten(0, 1), t.flatten()))
click = on(lambda o, t: F.binary_cross_entropy_with_logits(o, t.to(o.dtype)))


def two(text):
    return map(int, text.split('x'))


def make_optimizer(parameters, kind):
    if kind == 'sgd':
        return torch.optim.SGD(parameters, 0.01, momentum=0.9)
    if kind == 'adamw':
        return torch.optim.AdamW(parameters, 1e-4)
    raise SystemExit(f'unknown optimizer {kind}')


def stay(_):
    """A worker ends with its loop, not before: who stops a job signals all of its processes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def make_loader(data, batch, workers, pin=True):
    """Loader processes that work ahead, into pinned memory where a GPU fetches it."""
    return DataLoader(data, batch_size=batch, num_workers=workers, pin_memory=pin, persistent_workers=workers > 0,
                      prefetch_factor=4 if workers else None, worker_init_fn=stay)


def steps(t, precision, optimizer, device):
    """Trains the task for ever, a step at a time; yields how many are done. Every second step has waited for the device."""
    cuda = device == 'cuda'
    if cuda:
        torch.backends.cudnn.benchmark = not t.varies
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != 'fp32'
    model = t.model.to(device).train()
    for m in t.side:
        m.to(device)
    optimizers = [make_optimizer(m.parameters(), optimizer) for m in t.split or (model,)]
    autocast = lambda: torch.autocast(device, torch.bfloat16, enabled=precision == 'bf16')
    opt, loss_of = optimizers[0], t.loss
    done = 0
    t.fed = iter(t.loader)
    for b in t.fed:
        b = [x.to(device, non_blocking=cuda) for x in b]
        if t.step:
            loss = t.step(model, optimizers, b, autocast)
        else:
            with autocast():
                loss = loss_of(model, b)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        done += 1
        if done % 2 == 0:
            loss.item()                                    # like most loops, look at the loss now and then
        yield done


def profiler(path):
    """PyTorch's own, for `sharewell import kineto`: eight steps left out, then five recorded."""
    if not path:
        return contextlib.nullcontext()
    from torch.profiler import ProfilerActivity, profile, schedule
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    return profile(activities=activities, schedule=schedule(wait=6, warmup=2, active=5, repeat=1),
                   on_trace_ready=lambda p: p.export_chrome_trace(path))


def end(t):
    """Leaves at once: to let the loader's workers end by themselves can take seconds, and to wait for the killed ones lets the thread
    that reads from them complain."""
    sys.stdout.flush()
    for worker in getattr(getattr(t, 'fed', None), '_workers', []):
        worker.kill()
    os._exit(0)


def main(doc, kinds, task, models):
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument('--model', required=True, metavar='NAME',
                        help=f'{", ".join(models)}; or KIND:SIZE as in data/h200, with KIND one of {", ".join(kinds)}')
    progress.add_loop_flags(parser, batch=None)
    parser.add_argument('--precision', choices=('fp32', 'tf32', 'bf16'), default='fp32', help='default %(default)s')
    parser.add_argument('--optimizer', choices=('sgd', 'adamw'), default='sgd', help='default %(default)s')
    parser.add_argument('--device', choices=('auto', 'cuda', 'cpu'), default='auto', help='auto: a GPU if there is one')
    parser.add_argument('--trace', metavar='FILE.json', help='write a profiler trace of five steps, for `sharewell import kineto`')
    args = parser.parse_args()
    name, batch = models.get(args.model, (args.model, 32))
    batch = args.batch or batch
    kind, colon, rest = name.partition(':')
    if kind not in kinds or not colon:
        parser.error(f'no model {args.model!r}; there are {", ".join(models)}')
    device = args.device
    if device == 'auto':
        device = 'cuda' if torch.cuda.is_available() else 'cpu'
    if device == 'cuda' and not torch.cuda.is_available():
        progress.absent('PyTorch finds no GPU; give --device cpu, or see `sharewell doctor`')
    torch.set_num_threads(args.threads or progress.cores())
    told = progress.Progress(args.steps, args.seconds, warmup=8, workload=name, batch=batch, precision=args.precision,
                             workers=args.workers, optimizer=args.optimizer, device=device, framework=f'torch {torch.__version__}')
    try:
        t = task(kind, rest, batch)
    except ImportError as e:
        progress.absent(f'{name} needs the package {e.name or e}, which is not installed: pip install {e.name or "it"}')
    except (ValueError, AttributeError) as e:
        parser.error(f'{name}: {e}; there are {", ".join(models)}')
    told.facts['params'] = sum(p.numel() for p in t.model.parameters())
    t.loader = make_loader(t.data, batch, args.workers, pin=device == 'cuda')
    with profiler(args.trace) as profiling:
        for _ in steps(t, args.precision, args.optimizer, device):
            if profiling is not None:
                profiling.step()
            if not told.step():
                break
    if device == 'cuda':
        torch.cuda.synchronize()
        told.facts['reserved_bytes'] = torch.cuda.max_memory_reserved()
    told.finish()
    end(t)
