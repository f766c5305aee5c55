"""What every loop of the zoo tells of itself: a line a step, a summary, and a clean end on SIGTERM.

The standard library only: plain.py needs no more.
"""
import json
import os
import signal
import sys
import time


ABSENT = 3                                     # exit status: what the loop needs is not installed, or not in this machine


def absent(message):
    print(f'zoo: {message}', file=sys.stderr)
    sys.exit(ABSENT)


class Progress:
    """Appends "STEP TIME" to $SHAREWELL_PROGRESS after each step; without it, nothing is written.

    `stopped` turns true on SIGTERM or SIGINT, and after `steps` steps or `seconds` seconds where those are given. A loop that has not
    ended PATIENCE seconds after the signal (a queue that a killed worker left half written) is ended here. `facts` go into the summary.
    """

    PATIENCE = 3.0

    def __init__(self, steps=0, seconds=0.0, warmup=0, **facts):
        self.most, self.seconds, self.warmup, self.facts = steps, seconds, warmup, facts
        self.done = 0
        self.began = self.steady = time.monotonic()
        self.stopped = False
        self.owner = os.getpid()
        path = os.environ.get('SHAREWELL_PROGRESS', '')
        self.file = None
        if path:                               # a pipe that is full takes no step, and holds nobody up
            self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        signal.signal(signal.SIGALRM, self._overdue)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, number, frame):
        if os.getpid() != self.owner:          # a forked worker has no loop to end
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.stopped = True
        signal.setitimer(signal.ITIMER_REAL, self.PATIENCE)

    def _overdue(self, number, frame):
        self.finish()
        os._exit(0)

    def step(self):
        """One more step is done. True: go on."""
        self.done += 1
        now = time.monotonic()
        if self.file is not None:
            try:
                os.write(self.file, f'{self.done} {time.time():.6f}\n'.encode())
            except BlockingIOError:
                pass
            except OSError as e:               # a full disk must not end the training
                print(f'zoo: the progress file cannot be written: {e}', file=sys.stderr)
                self.file = None
        if self.done == self.warmup:
            self.steady = now
        if (self.most and self.done >= self.most) or (self.seconds and now - self.began >= self.seconds):
            self.stopped = True
        return not self.stopped

    def rate(self):
        """Steps a second since the warm-up; None before there is one."""
        measured = self.done - self.warmup
        took = time.monotonic() - self.steady
        return measured / took if measured > 0 and took > 0 else None

    def finish(self, **facts):
        """The last line on stdout: what ran and how fast, as JSON."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        rate = self.rate()
        print(json.dumps({**self.facts, **facts, 'steps': self.done, 'seconds': round(time.monotonic() - self.began, 3),
                          'steps_per_second': None if rate is None else round(rate, 4)}), flush=True)
        if self.file is not None:
            os.close(self.file)
            self.file = None


def add_loop_flags(parser, batch):
    """The flags that all loops have in common."""
    parser.add_argument('--batch', type=positive, default=batch, metavar='N',
                        help='samples a step (default %s)' % (batch or "the model's"))
    parser.add_argument('--workers', type=natural, default=2, metavar='N',
                        help='processes that prepare data; 0: the loop does it itself (default %(default)s)')
    parser.add_argument('--steps', type=natural, default=0, metavar='N', help='end after so many (default: on SIGTERM)')
    parser.add_argument('--seconds', type=float, default=0.0, metavar='S', help='end after so long')
    parser.add_argument('--threads', type=natural, default=0, metavar='N', help='CPU threads of the loop (default: all it may use)')


def natural(text):
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def cores():
    """CPUs that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
