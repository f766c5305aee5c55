#!/usr/bin/env python3
"""A short, fixed probe of how fast the host is at the moment: about 0.3 s, once PyTorch and a CUDA context are there.

`sharewell doctor --calibrate` carries this file and zoo/feeds.py and runs it; so do the measurements of tools/lab (probe.py, host_speed.py).
Prints JSON. What there is no PyTorch or no GPU for is null.
"""
import json
import os
import statistics
import time

CHUNKS, SHORT = 7, 5


def rate(work, count, chunks=CHUNKS):
    """Median over chunks of `count` things a second. `work` does `count` of them; one chunk goes before, to warm up."""
    rates = []
    for _ in range(chunks + 1):
        began = time.perf_counter()
        work(count)
        rates.append(count / (time.perf_counter() - began))
    return statistics.median(rates[1:])


def python_loops(count):
    total = 0
    for number in range(count):
        total += number & 7
    return total


def pipe_trips(count=2000, chunks=CHUNKS):
    """A byte to another process and back: what it costs to wake a process that sleeps."""
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(from_parent)
        while os.read(to_child, 1):
            os.write(from_child, b'.')
        os._exit(0)

    def trips(count):
        for _ in range(count):
            os.write(from_parent, b'.')
            os.read(to_parent, 1)
    found = rate(trips, count, chunks)
    os.close(from_parent)
    os.waitpid(pid, 0)
    for file in (to_child, to_parent, from_child):
        os.close(file)
    return found


def copies(size=1 << 26, chunks=CHUNKS):
    source, target = bytearray(size), bytearray(size)

    def copy(_):
        target[:] = source
    return rate(copy, 1, chunks) * len(source)


def launches(sent=10000, waited=2000, chunks=CHUNKS):
    """Kernels of one element a second: sent one after the other, and each waited for. None where there is no GPU."""
    try:
        import torch
    except ImportError:
        return None, None
    if not torch.cuda.is_available():
        return None, None
    one = torch.zeros(1, device='cuda')

    def send(count):
        for _ in range(count):
            one.add_(1)
        torch.cuda.synchronize()

    def wait(count):
        for _ in range(count):
            one.add_(1)
            torch.cuda.synchronize()
    return rate(send, sent, chunks), rate(wait, waited, chunks)


def items(count):
    """Images of 224 x 224 that one process crops, flips and normalises, as a loader's worker does."""
    for i in range(count):
        PICTURES[0][i]


PICTURES = []


def prepare():
    """Before processes are forked: the pictures are the same for all of them. False without PyTorch."""
    try:
        import feeds
        import torch
    except ImportError:
        return False
    threads = torch.get_num_threads()
    torch.set_num_threads(1)                               # a pool of threads would not survive the fork
    PICTURES.append(feeds.Images(224))
    torch.set_num_threads(threads)
    return True


def short():
    """The probe. Images only after prepare()."""
    began = time.perf_counter()
    if PICTURES:
        import torch
        torch.set_num_threads(1)                           # as in a loader's worker
    found = {'python_loops_per_s': rate(python_loops, 100_000, SHORT)}
    found['launches_per_s'], found['launch_waits_per_s'] = launches(1500, 250, SHORT)
    found['pipe_trips_per_s'] = pipe_trips(250, SHORT)
    found['copy_bytes_per_s'] = copies(1 << 24, SHORT)
    found['loader_items_per_s'] = rate(items, 12, SHORT) if PICTURES else None
    found = {name: value and round(value) for name, value in found.items()}
    return found | {'seconds': round(time.perf_counter() - began, 3)}


if __name__ == '__main__':
    prepare()
    print(json.dumps(short()), flush=True)
