"""Counts optimizer steps, and has one of the first recorded.

A step is a call of an optimizer's `step` that returned. A GradScaler that skips a step does not call it. Of several optimizers the
one that is called most often counts.
"""
import atexit
import functools
import os
import threading
import time
import weakref

from . import compiled

_AT_ONCE = 8    # The first steps are told at once, so that a job is seen to train from its second step on.
_TRIES = 20     # Steps after which a process that could not be recorded stays without a told step

WAITING, RECORDING, DONE = 'waiting', 'recording', None


class Watch:
    """What is known of this process. Everything in here that is called from a training loop returns quietly, whatever happens."""

    def __init__(self, torch, pipe):
        self.torch, self.pipe = torch, pipe
        self.off = False
        self.silent = False
        self.wrapped = set()   # The functions that stand in for optimizers' steps
        self.inside = set()    # Optimizers whose step runs now
        self.compiled = compiled.Compiled(self)
        self._begin()

    def _begin(self):
        self.lock = threading.Lock()
        self.counts = {}       # By id of the optimizer
        self.seen = {}         # Weak references to them, by the same ids
        self.best = 0
        self.lead = None       # A weak reference to the optimizer that counts
        self.pending = 0       # Counted, and not yet said
        self.said_at = 0.0
        self.stage = WAITING
        self.recording = None
        self.at_exits = False

    def start(self):
        try:
            self._watch_optimizers()
            self.compiled.start(self.torch)
            os.register_at_fork(after_in_child=self._forked)
            atexit.register(self._ending)
        except Exception as error:
            self.switch_off(error)

    def switch_off(self, error):
        """Something in the watcher failed: it does nothing more in this process, and says so once."""
        if self.off:
            return
        self.off = True
        try:
            recording, self.recording, self.stage = self.recording, None, DONE
            if recording is not None:
                recording.stop()
        except Exception:
            pass
        try:
            words = ' '.join('{}: {}'.format(type(error).__name__, error).split())
            self.pipe.tell([b'off ' + words.encode('ascii', 'replace')[:300]])
        except Exception:
            pass

    def silence(self, who):
        if not self.silent and not self.off:
            self.silent = True
            self.pipe.tell([b'by ' + who.encode('ascii', 'replace')])

    # Optimizers

    def _watch_optimizers(self):
        base = self.torch.optim.Optimizer
        for name in ('__init__', '__setstate__'):
            setattr(base, name, self._then_watch_class(getattr(base, name)))

    def _then_watch_class(self, function):
        watch = self

        @functools.wraps(function)
        def wrapper(self, *args, **kwargs):
            result = function(self, *args, **kwargs)
            watch._watch_class(type(self))
            return result
        return wrapper

    def _watch_class(self, kind):
        if self.off:
            return
        try:
            owner = next((c for c in kind.__mro__ if 'step' in c.__dict__), None)
            if owner is None or owner is self.torch.optim.Optimizer:
                return
            step = owner.__dict__['step']
            if step in self.wrapped or not callable(step):
                return
            watched = self._watched(step)
            self.wrapped.add(watched)
            owner.step = watched
        except Exception as error:
            self.switch_off(error)

    def _watched(self, step):
        watch, inside = self, self.inside
        # Where torch.compile compiles an optimizer's step, it sees the step as it is: this is a constant to it.
        compiling = getattr(getattr(self.torch, 'compiler', None), 'is_compiling', None) or (lambda: False)

        @functools.wraps(step)
        def watched(self, *args, **kwargs):
            if compiling() or watch.off:
                return step(self, *args, **kwargs)
            key = id(self)
            if key in inside:  # A class that overrides `step` calls the one that it overrides.
                return step(self, *args, **kwargs)
            inside.add(key)
            recording = watch.recording
            try:
                if recording is not None:
                    args, kwargs = recording.update_begins(self, args, kwargs)
                result = step(self, *args, **kwargs)
            finally:
                inside.discard(key)
                if recording is not None:
                    recording.update_ended()
            watch.ended(self)
            return result
        return watched

    def ended(self, optimizer):
        """A step of `optimizer` is done."""
        try:
            key = id(optimizer)
            with self.lock:
                count = self.counts.get(key)
                if count is None:
                    count = self._joined(key, optimizer)
                self.counts[key] = count = count + 1
                if count <= self.best:
                    return
                self.best = count
                self.pending += 1
                if self.lead is None or self.lead() is not optimizer:
                    self.lead = self.seen[key]
            now = time.monotonic()
            if now - self.said_at >= self.pipe.pause or count <= _AT_ONCE:
                self._say(now)
            if self.stage is not DONE:
                self._record(optimizer)
        except Exception as error:
            self.switch_off(error)

    def _joined(self, key, optimizer):
        """The count that a new optimizer starts with. One that trains beside another must not hold the count up until it has
        caught up, nor must one that follows another: it is as far as the one before, where that one is gone, else a step behind."""
        counts, seen = self.counts, self.seen

        def gone(reference):
            if seen.get(key) is reference:
                counts.pop(key, None)
                seen.pop(key, None)
        followed = self.lead is not None and self.lead() is None
        seen[key] = weakref.ref(optimizer, gone)
        if not self.at_exits:
            self._watch_exits()
        return self.best if followed else max(0, self.best - 1)

    # What is said

    def leads(self):
        """Whether this process tells: of several on a machine the first alone."""
        rank = os.environ.get('LOCAL_RANK')
        if rank is not None:
            return rank == '0'
        distributed = getattr(self.torch, 'distributed', None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank() == 0
        return True

    def _say(self, now):
        self.said_at = now
        if self.off or not self.pending:
            return
        if self.silent or not self.leads():
            self.pending = 0
            return
        number = self.pending
        if self.pipe.say(b'+%d' % number):
            with self.lock:
                self.pending -= number

    def _record(self, optimizer):
        """Between two steps: begin or end the recording of one."""
        if self.stage == RECORDING:
            recording = self.recording
            if not recording.done(optimizer):
                return
            self.recording, self.stage = None, DONE
            if not self.off:
                self.pipe.tell(recording.lines())
        elif self.best > _TRIES:
            self.stage = DONE
        elif self.leads() and self.pipe.ready():
            from . import recording
            started = recording.Recording(self, optimizer)
            self.recording = started
            if started.start():
                self.stage = RECORDING
            else:
                self.recording = None

    def give_up(self):
        """The step that is being recorded is none that can be told."""
        recording, self.recording, self.stage = self.recording, None, DONE
        if recording is not None:
            recording.stop()

    def compile_begins(self):
        """torch.compile is called for the first time. What is heard until then is not the step that will run."""
        try:
            if self.recording is not None:
                self.give_up()
                self.stage = WAITING
        except Exception as error:
            self.switch_off(error)

    # Ends and forks

    def _watch_exits(self):
        """os._exit and exec end a process without its atexit functions."""
        self.at_exits = True
        for name in ('_exit', 'execv', 'execve'):
            function = getattr(os, name)
            if function not in self.wrapped:
                wrapper = self._then(function)
                self.wrapped.add(wrapper)
                setattr(os, name, wrapper)

    def _then(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            self._ending()
            return function(*args, **kwargs)
        return wrapper

    def _ending(self):
        try:
            if self.best and not self.off:
                self._say(time.monotonic())
            self.pipe.end()
        except Exception:
            pass

    def _forked(self):
        """In a forked child. What the parent has counted is its own to say; a child that trains counts anew."""
        try:
            recording, at_exits = self.recording, self.at_exits
            if recording is not None:
                recording.stop()
            self.pipe.forked()
            self.inside.clear()
            self._begin()
            self.at_exits = at_exits
        except Exception as error:
            self.off = True
            del error
