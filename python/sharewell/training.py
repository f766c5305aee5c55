"""What a training loop tells the server (steps) and hears from it (that it has to end).

A job finds the pipe (or file) to tell in $SHAREWELL_PROGRESS. Outside of a job there is none, and nothing happens.
"""
import mmap
import os
import signal
import sys
import threading
import time
from typing import Callable, Optional

_PATIENCE = 5.0  # seconds that a stop waits for the end of a step; the server's grace is 20
_HEARD, _LEAVING = 1, 2

_file: Optional[int] = None  # None: not looked for yet; -1: there is none
_reported = False
_callback: Optional[Callable[[], None]] = None
_owner = 0  # the process that on_stop was called in; its forked workers have the handler too
_asked_at: Optional[float] = None
_shared: Optional[mmap.mmap] = None  # one byte that forked workers see: what the owner was told


def report_step(step: Optional[int] = None) -> None:
    """One more step is done. `step`: its number, so that a loop that went on from a checkpoint says where it is.

    Costs microseconds and never raises: a full disk does not end a training. Where on_stop() is used and the job was told to
    end, its callback runs here, between two steps, and the process exits.
    """
    global _file, _reported
    _reported = True
    try:
        if _file is None:
            path = os.environ.get("SHAREWELL_PROGRESS")
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a full pipe: dropped
            _file = os.open(path, flags, 0o600) if path else -1
            watcher = sys.modules.get("sharewell_watch")
            if path and watcher is not None:
                watcher.silence("report_step")  # or each step would be counted twice
        if _file >= 0:
            os.write(_file, b"\n" if step is None else b"%d\n" % step)
    except Exception:  # noqa: BLE001, whatever it is, the training matters more
        if _file is None:
            _file = -1
    if _asked_at is not None and os.getpid() == _owner:
        _leave()


def on_stop(callback: Callable[[], None]) -> None:
    """Have `callback` save what was done when the job is told to end (SIGTERM: it is moved, cancelled or out of time).

    It runs in the main thread at the next report_step(), so that no half-done step is saved; at once where the loop reports no
    steps, and after 5 seconds where a step takes longer. Then the process exits with 143. The server waits 20 seconds before it kills.
    Data loader processes that are forked later stay until the loop has ended. Call it in the main thread.
    """
    global _callback, _owner, _asked_at, _shared
    _callback, _owner, _asked_at = callback, os.getpid(), None
    _shared = mmap.mmap(-1, 1)
    signal.signal(signal.SIGTERM, _told)


def stopping() -> bool:
    """True once the job was told to end: for loops that look for themselves."""
    return _asked_at is not None


def _told(number: int, frame: object) -> None:
    global _asked_at
    if os.getpid() != _owner:
        _worker_told(number)
        return
    first = _asked_at is None
    if first:
        _asked_at = time.monotonic()
        if _shared:
            _shared[0] = _HEARD
    if not _reported or time.monotonic() - (_asked_at or 0.0) >= _PATIENCE:
        _leave()
    elif first:
        # A handler runs in the main thread alone: a long step is interrupted by the same signal again.
        timer = threading.Timer(_PATIENCE + 0.1, os.kill, (os.getpid(), signal.SIGTERM))
        timer.daemon = True
        timer.start()


def _worker_told(number: int) -> None:
    """A job's end is told to all of its processes at once. A worker that went first would fail the loop before it has saved; one
    that its loop ends (no end was told to the loop) goes."""
    until = time.monotonic() + 0.3
    while _shared and not _shared[0] and time.monotonic() < until:
        time.sleep(0.01)
    if not _shared or _shared[0] != _HEARD:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _leave() -> None:
    global _callback
    callback, _callback = _callback, None
    if callback is None:  # it is being called, further up
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        callback()
    finally:
        if _shared:
            _shared[0] = _LEAVING
    raise SystemExit(128 + signal.SIGTERM)
