"""Twelve steps of a small model, and numbers that would show if one had been drawn elsewhere. Its arguments change how it ends."""
import os
import random
import signal
import sys
import threading

import torch
from torch import nn

mode = sys.argv[1] if len(sys.argv) > 1 else ''


class Halved(torch.optim.SGD):
    """A class that overrides an optimizer's step, and calls it."""

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                p.grad.mul_(0.5)
        return super().step(closure)


class Silent(torch.utils._python_dispatch.TorchDispatchMode if mode == 'mode' else object):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def train(steps=12):
    torch.manual_seed(1)
    random.seed(1)
    model = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    kind = {'override': Halved, 'closure': torch.optim.LBFGS}.get(mode, torch.optim.SGD)
    optimizer = kind(model.parameters(), lr=0.1)
    mine = None
    if mode == 'override':
        torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)  # its class is watched by itself, too
    if mode == 'files':
        os.closerange(3, 256)
        mine = open(os.environ['MINE'], 'w', encoding='ascii')
    for i in range(steps):
        x, y = torch.randn(4, 5), torch.randint(0, 2, (4,))

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss
        if mode == 'closure':
            loss = optimizer.step(closure)
        elif mode == 'mode' and i % 2 == 1:
            entered = Silent()
            entered.__enter__()
            loss = closure()
            optimizer.step()
            entered.__exit__(None, None, None)
        else:
            loss = closure()
            optimizer.step()
        if mode == 'report':
            import sharewell
            sharewell.report_step()
        if mode == 'fork' and i == 1:  # in the step that is recorded
            sys.stdout.flush()
            if os.fork() == 0:
                torch.ones(3).sum()
                os._exit(0)
            os.wait()
        if mode == 'files' and i == 3:
            mine.write('mine\n')
            mine.flush()
        print(i, loss.item().hex(), flush=True)
    print(random.random(), torch.rand(1).item().hex(), [p.sum().item().hex() for p in model.parameters()], flush=True)


if mode == 'thread':
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
elif mode == 'default':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    train()
else:
    train()
if mode == 'kill':
    os.kill(os.getpid(), signal.SIGTERM)
if mode == 'exit':
    os._exit(7)
if mode == 'again':
    os.execv(sys.executable, [sys.executable, sys.argv[0], 'once'])
