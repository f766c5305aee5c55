"""What `sharewell monitor` costs a training loop: the loop runs on, the agent comes and goes.

  monitor_cost.py [--pairs 5] [--seconds 6] [--warmup 15] [--program sharewell] -- python3 zoo/vision.py --model resnet50 --batch 64 --precision bf16 --workers 4

The loop appends a line with the time to $SHAREWELL_PROGRESS at each step, as the loops of zoo/ do. Prints steps a second without and with the
agent for each pair, and the mean of their ratios. The loop is stopped at the end.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def rate(path, begin, end):
    """Steps a second between the first and the last step in the span, its edges left out."""
    with open(path, encoding='ascii') as lines:
        times = [float(line.split()[1]) for line in lines if line.endswith('\n')]
    times = [t for t in times if begin + 0.7 <= t < end - 0.3]
    if len(times) < 5:
        sys.exit(f'monitor_cost: {len(times)} steps in a phase are too few; give more --seconds or more --warmup')
    return (len(times) - 1) / (times[-1] - times[0])


def main():
    cut = sys.argv.index('--') if '--' in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--pairs', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=6)
    parser.add_argument('--warmup', type=float, default=15)
    parser.add_argument('--program', default='sharewell')
    args = parser.parse_args(sys.argv[1:cut])
    command = sys.argv[cut + 1:]
    if not command:
        parser.error('give the loop behind --')
    with tempfile.TemporaryDirectory() as folder:
        progress = os.path.join(folder, 'progress')
        loop = subprocess.Popen(command, env={**os.environ, 'SHAREWELL_PROGRESS': progress}, stdout=subprocess.DEVNULL)
        try:
            time.sleep(args.warmup)
            ratios = []
            for pair in range(args.pairs):
                begin = time.time()
                time.sleep(args.seconds)
                middle = time.time()
                subprocess.run([args.program, 'monitor', '--for', f'{args.seconds:g}s', '--listen', '127.0.0.1:10499',
                                '--store', os.path.join(folder, 'store.db')], check=True, stderr=subprocess.DEVNULL)
                end = time.time()
                without, with_it = rate(progress, begin, middle), rate(progress, middle, end)
                ratios.append(with_it / without)
                print(f'{pair + 1}: {without:.2f} steps/s without, {with_it:.2f} with: {100 * (ratios[-1] - 1):+.2f} %', flush=True)
            spread = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float('nan')
            print(f'mean {100 * (statistics.mean(ratios) - 1):+.2f} % (standard error {100 * spread:.2f} %)')
        finally:
            loop.send_signal(signal.SIGTERM)
            loop.wait(20)


if __name__ == '__main__':
    main()
