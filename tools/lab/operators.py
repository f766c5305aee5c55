#!/usr/bin/env python3
"""Times operators one by one on the GPU at hand, forward and backward, as the loops of zoo/ run them; writes the operator table.

`sharewell measure operators` carries this file and runs it; from a checkout:

    python3 tools/lab/operators.py --cells data/h200/operators.csv --out operators.csv --seconds 600
    python3 tools/lab/operators.py --cells data/h200/operators.csv --smoke

A cell is an operator with its shapes, made of our graphs by tools/lab/cells.py, most valuable first; a table that was measured has them too.
What it takes is how long kernels ran, by PyTorch's profiler (CUPTI): launches and the host do not show. Before each run the L2 cache is
emptied, then what the operator before or behind would just have written is read once. cuDNN searches as in the loops (cudnn.benchmark),
before the clock starts.

It goes on where the file --out ends, and a cut-off run is still a table. What fails is kept with its reason. Needs PyTorch with CUDA.
"""
import argparse
import contextlib
import csv
import os
import signal
import sys
import time

import operator_clock
import operator_runs

RESULTS = ('forward_seconds', 'backward_seconds', 'forward_kernels', 'backward_kernels', 'spread', 'failure')
KEY = ('class', 'type', 'precision', 'operands', 'output', 'groups', 'window', 'dilation')
CHUNK = 60
MOST_RESERVED = 60 << 30         # bytes that PyTorch may keep for later
FAILED, USAGE, ABSENT, INTERRUPTED = 1, 2, 3, 130    # as the program's own


class Wrong(Exception):
    """What is said, and the exit code."""

    def __init__(self, message, code=USAGE):
        super().__init__(message)
        self.code = code


def read(path):
    """(rows, columns) of a file of cells, or of a table of them."""
    try:
        with open(path, newline='', encoding='utf-8') as file:
            reader = csv.DictReader(file)
            names = reader.fieldnames or []
            missing = [name for name in KEY if name not in names]
            if missing:
                raise Wrong(f'{path}: it has no column "{missing[0]}"; docs/formats/operators.md lists those of cells')
            rows = []
            for row in reader:
                if None in row or None in row.values():
                    raise Wrong(f'{path}:{reader.line_num}: this row has not {len(names)} fields, as the first line has')
                rows.append(row)
    except OSError as error:
        raise Wrong(f'{path}: {error.strerror}') from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise Wrong(f'{path}: it is no CSV: {error}') from error
    return rows, names


def key_of(cell):
    return tuple(cell[name] for name in KEY)


def mend(path):
    """Takes away a last line that is not whole: whoever wrote it was killed meanwhile."""
    with open(path, 'rb+') as file:
        text = file.read()
        whole = text.rfind(b'\n') + 1
        if whole < len(text):
            file.truncate(whole)
        return whole > 0


def before(path, columns, gpu):
    """The cells that the table has already; none: it must be begun."""
    if not os.path.exists(path) or not mend(path):
        return None
    rows, names = read(path)
    if names != columns:
        raise Wrong(f'{path}: it has other columns than these cells need; give another file with --out')
    other = next((row['gpu'] for row in rows if row['gpu'] != gpu), None)
    if other is not None:
        raise Wrong(f'{path}: it was measured on {other}, and this is {gpu}; give another file with --out')
    return {key_of(row) for row in rows}


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


def say(line, over=False):
    """To stderr; `over`: on a terminal the next line is drawn over it."""
    live = sys.stderr.isatty()
    sys.stderr.write(('\r' if live else '') + line + ('\x1b[K' if live else '') + ('' if live and over else '\n'))
    sys.stderr.flush()


def gpu_of():
    """PyTorch, and the GPU's name."""
    try:
        import torch
    except ImportError as error:
        raise Wrong(f'the Python that is found first, {sys.executable}, has no PyTorch: {sys.executable} -m pip install torch, or put the '
                    'Python that has it first in PATH', ABSENT) from error
    if not torch.cuda.is_available():
        raise Wrong('PyTorch finds no NVIDIA GPU: `sharewell doctor` says what this machine has, and https://pytorch.org which PyTorch '
                    'fits its driver', ABSENT)
    return torch, torch.cuda.get_device_name()


def run(args):
    begin = time.monotonic()
    cells, names = read(args.cells)
    names = [name for name in names if name != 'gpu' and name not in RESULTS]
    cells = [{name: cell[name] for name in names} for cell in cells]
    if not cells:
        raise Wrong(f'{args.cells}: it has no cells')
    cells = (sample(cells) if args.smoke else cells)[:args.limit]
    torch, gpu = gpu_of()
    columns = [*names, 'gpu', *RESULTS]
    done = before(args.out, columns, gpu) if args.out else None
    todo = [cell for cell in cells if key_of(cell) not in (done or ())]
    make, clock = operator_runs.Maker(torch), operator_clock.Clock(torch)
    say(f'{gpu}, PyTorch {torch.__version__}: {len(todo)} cells to measure, {len(cells) - len(todo)} measured before'
        + ('' if clock.works() else '; PyTorch has no profiler here, so times are by events, with gaps between kernels'))
    until, failed, count = begin + args.seconds, 0, 0
    with (open(args.out, 'a', newline='', encoding='utf-8') if args.out else contextlib.nullcontext()) as file:
        writer = csv.DictWriter(file, columns, lineterminator='\n') if file else None
        if writer and done is None:
            writer.writeheader()
        for at in range(0, len(todo), CHUNK):
            if time.monotonic() > until:
                break
            chunk = todo[at:at + CHUNK]
            for i, result in sorted(operator_clock.measure(torch, make, clock, chunk, until).items()):
                count, failed = count + 1, failed + bool(result.get('failure'))
                if writer:
                    writer.writerow({**chunk[i], 'gpu': gpu, **result})
                    file.flush()
                if args.smoke:
                    show(chunk[i], result)
            if torch.cuda.memory_reserved() > MOST_RESERVED:
                torch.cuda.empty_cache()
            say(f'{count} of {len(todo)} cells, {failed} failed, {time.monotonic() - begin:.0f} s', over=count < len(todo))
    if sys.stderr.isatty() and count < len(todo):
        say('')
    if count and failed == count:
        raise Wrong(f'none of the {count} cells could be run; the first failure: '
                    + next(row['failure'] for row in read(args.out)[0] if row['failure']) if args.out else 'every cell failed', FAILED)
    if count < len(todo):
        say(f'the time is up after {count} cells; the most valuable came first, and the same command goes on with the other '
            f'{len(todo) - count}')
    elif args.out:
        say(f'done: {args.out} has {len(cells)} cells; `sharewell-lab train PROFILES --operators {args.out}` uses them')


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--cells', required=True, metavar='CSV', help='what to run: tools/lab/cells.py makes it')
    parser.add_argument('--out', metavar='CSV', help='the table; goes on where it ends')
    parser.add_argument('--seconds', type=float, default=600, help='stop after as many (default %(default)g)')
    parser.add_argument('--limit', type=int, help='only the first cells')
    parser.add_argument('--smoke', action='store_true', help='some cells of each class, printed')
    args = parser.parse_args()
    if not args.out and not args.smoke:
        parser.error('--out FILE, or --smoke')
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    try:
        run(args)
    except Wrong as wrong:
        print(f'sharewell: {wrong}', file=sys.stderr)
        sys.exit(wrong.code)
    except OSError as error:
        print(f'sharewell: {error.filename or args.out}: {error.strerror}', file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        say('stopped; what was measured is kept, and the same command goes on from there')
        sys.exit(INTERRUPTED)


if __name__ == '__main__':
    main()
