"""What a training loop tells of itself beside its steps: its loss, say. The server draws it over the job's life.

A job finds the pipe to tell in $SHAREWELL_METRICS (docs/formats/steps.md). Where there is none, nothing happens.
"""
import atexit
import math
import operator
import os
import re
import sys
import time
from typing import Any, Dict, Optional, Set

_MOST = 4  # of a job
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,32}")
_LARGEST, _LAST_STEP = 1e30, 10 ** 15 - 1
_EVERY = 1.0  # seconds between two lines of a metric


class _Metric:
    def __init__(self) -> None:
        self.told_at = -math.inf
        self.waiting: Optional[bytes] = None  # a line that is told when the process ends, where none follows


_file = -1   # -1: there is nobody to tell
_owner = 0   # the process that all of this is of; a forked one begins anew
_metrics: Dict[str, _Metric] = {}
_refused: Set[str] = set()


def report_metric(name: str, value: Any, step: Optional[int] = None) -> None:
    """The job's `name` ("loss") is `value` now; `step`: at which step.

    Call it as often as you like: of each name about one value a second is told, and the last one when the process ends. It never
    raises, and does nothing outside of a job. A tensor is asked for its value only when that is told, so no step waits for a GPU.
    Of several processes with a $RANK the first one tells.
    """
    try:
        if _owner != os.getpid():
            _begin()
        if _file >= 0:
            _report(name, value, step)
    except Exception:  # noqa: BLE001, whatever it is, the training matters more
        pass


def _begin() -> None:
    global _file, _owner
    first, _owner = _owner == 0, os.getpid()
    _metrics.clear()
    path = os.environ.get("SHAREWELL_METRICS")
    _file = -1
    if not path or os.environ.get("RANK", "0") != "0":
        return
    _file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    if first:
        atexit.register(_tell_the_last)


def _report(name: Any, value: Any, step: Any) -> None:
    now = time.monotonic()
    metric = _metrics.get(name) if isinstance(name, str) else None
    early = metric is not None and now - metric.told_at < _EVERY
    if early and hasattr(value, "detach"):
        return
    problem = _name_problem(name) if metric is None else None
    number = _number(value)
    if problem is None and number is None:
        problem = f"{str(value)[:40]} is not allowed; give a finite number, at most 1e30"
    if problem is None and step is not None and not 0 <= operator.index(step) <= _LAST_STEP:
        problem = f"the step {step} is not allowed; give a whole number from 0"
    if problem is not None:
        _refuse(str(name)[:64], problem)
        return
    if metric is None:
        metric = _metrics[name] = _Metric()
    line = f"{name} {number!r}\n" if step is None else f"{name} {number!r} {operator.index(step)}\n"
    metric.waiting = line.encode("ascii")
    if not early:
        metric.told_at = now
        _tell(metric)


def _name_problem(name: Any) -> Optional[str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "this is no name; give 1 to 32 letters, digits, and _ . - /"
    return f"a job has at most {_MOST} metrics; this is one more" if len(_metrics) >= _MOST else None


def _number(value: Any) -> Optional[float]:
    try:
        if isinstance(value, (str, bytes)):
            return None
        number = float(value.detach() if hasattr(value, "detach") else value)
    except Exception:  # noqa: BLE001, it is no number
        return None
    return number if abs(number) <= _LARGEST else None


def _refuse(name: str, problem: str) -> None:
    if name not in _refused and len(_refused) < 100:
        _refused.add(name)
        print(f"sharewell: report_metric({name!r}): {problem}. It is left out, and this is said once", file=sys.stderr)


def _tell(metric: _Metric) -> None:
    try:
        os.write(_file, metric.waiting or b"")
        metric.waiting = None
    except BlockingIOError:  # the pipe is full
        pass


def _tell_the_last() -> None:
    try:
        for metric in _metrics.values() if _owner == os.getpid() else ():
            if metric.waiting:
                _tell(metric)
    except Exception:  # noqa: BLE001, as above
        pass
