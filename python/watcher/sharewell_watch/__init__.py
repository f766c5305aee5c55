"""The watcher: counts the optimizer steps of a PyTorch job, and tells the operators of one of them (docs/watcher.md).

Started by sitecustomize.py when torch has been imported. Python 3.8 to 3.14, PyTorch 1.13 to 2.11, the standard library only.
"""
import os

from . import importing  # noqa: F401, what sitecustomize.py asks first

_watch = None


def start(torch):
    """Begin to watch this process. `torch` has just been imported."""
    global _watch
    if not hasattr(getattr(torch, 'optim', None), 'Optimizer'):
        return  # Another module of that name, or an import that was cut short.
    from . import pipe, steps
    _watch = steps.Watch(torch, pipe.Pipe(os.environ['SHAREWELL_WATCH_PIPE']))
    _watch.start()


def silence(who):
    """From now on the steps of this process are counted by `who` alone."""
    if _watch is not None:
        _watch.silence(who)
