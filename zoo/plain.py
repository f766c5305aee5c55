#!/usr/bin/env python3
"""A training loop that runs anywhere: matrix products in pure Python, fed by worker processes.

  python3 zoo/plain.py --batch 16 --workers 2 [--steps N] [--seconds S] [--threads N] [--size N]

Workers make samples (parse, shuffle, normalise), and send them in batches; the loop multiplies each with a weight matrix and
updates it, in --threads processes. A step needs so much CPU on both sides that its rate follows the cores it may use, until one
side holds the other back: a sweep over cores or workers has a knee. Exits 0 on SIGTERM, with a summary in JSON.
"""
import argparse
import math
import multiprocessing
import os
import queue
import random
import signal
import sys

import progress

AHEAD = 4                                      # batches that wait, a worker


def quiet():
    """A worker ends with its parent, not by a signal to the whole group: the parent would miss it in the middle of a step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def sample(rng, size):
    """A row of text parsed, shuffled and normalised: what a data loader does."""
    text = ','.join(str(rng.randrange(256)) for _ in range(size))
    row = [int(x) for x in text.split(',')]
    rng.shuffle(row)
    mean = sum(row) / size
    spread = math.sqrt(sum((x - mean) ** 2 for x in row) / size) or 1.0
    return [(x - mean) / spread for x in row]


def feed(seed, batch, size, out, parent):
    quiet()
    rng = random.Random(seed)
    while True:
        rows = [sample(rng, size) for _ in range(batch)]
        while True:
            if os.getppid() != parent:         # it was killed
                os._exit(1)
            try:
                out.put(rows, timeout=1)
                break
            except queue.Full:
                pass


def product(rows, weights):
    """rows x weights, and the gradient of the squared output by the weights."""
    size = len(weights)
    columns = list(zip(*weights))
    out = [[sum(map(float.__mul__, row, column)) for column in columns] for row in rows]
    loss = sum(x * x for row in out for x in row) / (len(rows) * size)
    gradient = [[0.0] * size for _ in range(size)]
    for row, result in zip(rows, out):
        for line, x in zip(gradient, row):
            for j, y in enumerate(result):
                line[j] += x * y
    return gradient, loss


def compute(pipe, parent):
    """One of --threads: Python's threads share one core, so they are processes."""
    quiet()
    while os.getppid() == parent:
        if pipe.poll(1):
            rows, weights = pipe.recv()
            pipe.send(product(rows, weights))
    os._exit(1)


class Model:
    def __init__(self, size, threads, context):
        rng = random.Random(1)
        self.weights = [[rng.gauss(0, 1 / size) for _ in range(size)] for _ in range(size)]
        self.helpers = []
        for _ in range(threads - 1):
            ours, theirs = context.Pipe()
            process = context.Process(target=compute, args=(theirs, os.getpid()), daemon=True)
            process.start()
            theirs.close()
            self.helpers.append((process, ours))

    def step(self, rows):
        parts = len(self.helpers) + 1
        shares = [rows[i::parts] for i in range(parts)]
        busy = [(pipe, share) for (_, pipe), share in zip(self.helpers, shares[1:]) if share]
        for pipe, share in busy:
            pipe.send((share, self.weights))
        results = [product(shares[0], self.weights)] + [pipe.recv() for pipe, _ in busy]
        rate = 1e-4 / len(rows)
        for gradient, _ in results:
            for line, change in zip(self.weights, gradient):
                for j, g in enumerate(change):
                    line[j] -= rate * g
        return sum(loss for _, loss in results) / len(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    progress.add_loop_flags(parser, batch=16)
    parser.add_argument('--size', type=progress.positive, default=48, metavar='N', help='width of the matrix (default %(default)s)')
    args = parser.parse_args()
    threads = args.threads or progress.cores()
    context = multiprocessing.get_context('fork')
    batches = context.Queue(maxsize=max(1, AHEAD * args.workers))
    workers = [context.Process(target=feed, args=(i, args.batch, args.size, batches, os.getpid()), daemon=True)
               for i in range(args.workers)]
    for worker in workers:
        worker.start()
    model = Model(args.size, threads, context)
    # After the workers, which have no loop to end.
    told = progress.Progress(args.steps, args.seconds, warmup=3, workload=f'plain:{args.size}', batch=args.batch,
                             workers=args.workers, threads=threads)
    rng = random.Random(0)
    loss = None
    while not told.stopped:
        if workers:
            try:
                rows = batches.get(timeout=0.2)
            except queue.Empty:
                if all(worker.is_alive() for worker in workers):
                    continue
                print('zoo: a worker process has ended', file=sys.stderr)
                os._exit(1)
        else:
            rows = [sample(rng, args.size) for _ in range(args.batch)]
        if told.stopped:
            break
        loss = model.step(rows)
        told.step()
    told.finish(loss=None if loss is None else round(loss, 6))
    for process in workers + [process for process, _ in model.helpers]:
        process.kill()
        process.join()
    os._exit(0)                                # the queue's thread would wait for a reader


if __name__ == '__main__':
    sys.exit(main())
