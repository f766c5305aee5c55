"""Trains, forks children that train on their own (one by os.fork, two by multiprocessing), one that does not, and goes on."""
import multiprocessing
import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)


def train(seed, steps):
    torch.manual_seed(seed)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(3, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item().hex()


def child(seed, steps, answers):
    answers.put((seed, train(seed, steps)))


print(train(1, 5))
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    print(train(2, 7))
    sys.stdout.flush()
    os._exit(3)
print('child', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
context = multiprocessing.get_context('fork')
answers = context.SimpleQueue()
children = [context.Process(target=child, args=(seed, 4, answers)) for seed in (3, 4)]
for process in children:
    process.start()
got = sorted(answers.get() for _ in children)
for process in children:
    process.join()
print(got, [process.exitcode for process in children])
if os.fork() == 0:
    os._exit(int(torch.ones(3).sum().item()))
print(os.waitstatus_to_exitcode(os.wait()[1]))
print(train(5, 6))
