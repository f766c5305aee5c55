"""A short, fixed probe of how fast the host is at the moment: under 0.3 s, in a process that has a CUDA context already.

The figures of host_speed.py, over fewer and smaller chunks, and `loader_items_per_s`: images of 224 x 224 that one process crops, flips and
normalises a second, as a loader's worker does.
"""
import pathlib
import sys
import time

import host_speed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'zoo'))

CHUNKS = 5
PICTURES = []


def prepare():
    """Before processes are forked: the pictures are the same for all of them."""
    import feeds
    import torch
    threads = torch.get_num_threads()
    torch.set_num_threads(1)                               # a pool of threads would not survive the fork
    PICTURES.append(feeds.Images(224))
    torch.set_num_threads(threads)


def items(count):
    for i in range(count):
        PICTURES[0][i]


def short():
    import torch
    began = time.perf_counter()
    torch.set_num_threads(1)                               # as in a loader's worker
    found = {'python_loops_per_s': host_speed.rate(host_speed.python_loops, 100_000, CHUNKS)}
    found['launches_per_s'], found['launch_waits_per_s'] = host_speed.launches(1500, 250, CHUNKS)
    found['pipe_trips_per_s'] = host_speed.pipe_trips(250, CHUNKS)
    found['copy_bytes_per_s'] = host_speed.copies(1 << 24, CHUNKS)
    found['loader_items_per_s'] = host_speed.rate(items, 12, CHUNKS)
    found = {name: value and round(value) for name, value in found.items()}
    return found | {'seconds': round(time.perf_counter() - began, 3)}
