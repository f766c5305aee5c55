"""The recording of one whole training step: from the end of one optimizer step to the end of the next.

What is put into PyTorch's place for that step is taken out again behind it.
"""
import os
import time

import torch
from torch.utils import _python_dispatch

from . import compiled, facts, memory, told
from . import recorder as recorders

_RETRIES = 3      # A step with an evaluation in the middle is no usual step: the next one is recorded instead, so often at most.
_SKIPS = 10       # A scaler looks for its scale for a few steps. One that skips on and on skips all: the loss has diverged, and nothing is told.
_CALLS = 400000   # Operators after which a step is given up: whatever goes on here, it is no usual step.


class Recording:
    """Begun and ended between two steps, in the thread that trains."""

    def __init__(self, watch, optimizer):
        self.watch = watch
        self.compiled = watch.compiled
        self.patches = []
        self.hook = None
        self.inside = False      # The dispatch mode is entered.
        self.optimizer = optimizer
        self.device = facts.device_of(optimizer)
        self.recorder = recorders.make(watch.switch_off, self.device)
        self.known = set()       # Optimizers whose parameters are marked
        self.retries = 0
        self.skips = 0
        self.noticed = facts.Noticed()
        self.sizes = {}
        self.document = None

    def start(self):
        """False: not now, somebody else listens to the operators."""
        if self.device not in ('cuda', 'cpu', 'meta') or self._others_listen():
            return False
        self._patch()
        self._begin()
        return True

    def _begin(self):
        self.noticed.clear()
        self.recorder.clear()
        for optimizer in self.optimizers():
            self._register(optimizer)
        self.whole = not self._is_compiled()  # Every operator is heard; else those of the optimizer alone.
        if self.whole:
            self.recorder.memory = memory.Memory(self.device)
            self.recorder.memory.began_with(x for o in self.optimizers() for x in facts.tensors_of(o))
            self.recorder.__enter__()
            self.inside = True
        else:
            for graph in self.compiled.graphs:
                graph.calls = graph.trained_calls = 0
            self.compiled.counting = True
        self.allocated = facts.allocated(self.device)

    def _is_compiled(self):
        return self.compiled.backends > 0

    def optimizers(self):
        """Those that have made a step, the one that counts first."""
        found = [self.optimizer]
        for reference in list(self.watch.seen.values()):
            other = reference()
            if other is not None and other is not self.optimizer:
                found.append(other)
        return found

    @staticmethod
    def _others_listen():
        return torch._C._len_torch_dispatch_stack() > 0

    # What happens within the step

    def _patch(self):
        noticed = self.noticed
        engine = '_engine_run_backward' if hasattr(torch.autograd, '_engine_run_backward') else 'backward'
        self._around(torch.autograd, engine, self._backward)
        if engine == 'backward':
            self._around(torch.autograd, 'grad', self._backward)
        from torch.utils.data import dataloader
        self._around(dataloader._BaseDataLoaderIter, '__next__', self._fed)
        for place in facts.scalers():
            self._around(place, 'step', self._scaled)
        if not self._is_compiled():
            from torch.utils import checkpoint
            for name in ('_checkpoint_without_reentrant', '_checkpoint_without_reentrant_generator'):
                self._around(checkpoint, name, noticed.checkpointed)
            self._around(checkpoint.CheckpointFunction, 'forward', noticed.checkpointed, static=True)
            self.hook = torch.nn.modules.module.register_module_forward_pre_hook(recorders.past_dynamo(self._called))
        if hasattr(torch.cuda, 'CUDAGraph'):
            self._around(torch.cuda.CUDAGraph, 'replay', noticed.replayed)

    def _around(self, place, name, handler, static=False):
        """Have `handler(run, args, kwargs)` called in place of a function, for this step."""
        old = place.__dict__.get(name) if isinstance(place, type) else getattr(place, name, None)
        if old is None:
            return
        run = old.__func__ if isinstance(old, staticmethod) else old

        def instead(*args, **kwargs):
            return handler(run, args, kwargs)
        instead.__name__ = name
        self.patches.append((place, name, old))
        setattr(place, name, staticmethod(instead) if static else instead)

    def _called(self, module, inputs):
        try:
            self.noticed.called(module, inputs)
            if self.recorder.calls > _CALLS:
                self.watch.give_up()
        except Exception as error:
            self.watch.switch_off(error)

    def _fed(self, run, args, kwargs):
        self._quietly(self.noticed.fed, args[0])
        self.recorder.feeding += 1
        try:
            return run(*args, **kwargs)
        finally:
            self.recorder.feeding -= 1

    def _backward(self, run, args, kwargs):
        recorder = self.recorder
        if recorder.backward == 0:
            self._quietly(self._backward_begins)
        recorder.backward += 1
        try:
            return run(*args, **kwargs)
        finally:
            recorder.backward -= 1
            if recorder.backward == 0:
                self._quietly(self._backward_ended)

    def _backward_begins(self):
        self.noticed.backwards += 1
        if self.recorder.memory is not None:
            alive = self.recorder.memory.alive() - sum(self._held())
            self.sizes['saved'] = max(self.sizes.get('saved', 0), alive)

    def _backward_ended(self):
        for optimizer in self.optimizers():
            for p in facts.parameters_of(optimizer):
                if p.grad is not None:
                    self.recorder.gradient(p.grad)

    def _held(self):
        """Bytes of weights, gradients and optimizers' states on the device, now."""
        parameters = self.noticed.parameters(self.optimizers())
        state = [x for optimizer in self.optimizers() for x in facts.state_of(optimizer)]
        return (memory.size(parameters, self.device), memory.size([p.grad for p in parameters], self.device), memory.size(state, self.device))

    def _scaled(self, run, args, kwargs):
        self.noticed.scaler = bool(getattr(args[0], '_enabled', True))
        before = self.noticed.updates
        result = run(*args, **kwargs)
        if self.noticed.scaler and self.noticed.updates == before:
            self._quietly(self._skipped)
        return result

    def _skipped(self):
        """The scaler found no finite gradients: this was no step, and the recorded one begins here."""
        self.skips += 1
        if self.skips > _SKIPS:
            return self.watch.give_up()
        self.recorder.clear()
        self.noticed.clear()
        self.sizes.clear()

    def update_begins(self, optimizer, args, kwargs):
        self.recorder.update += 1
        self._quietly(self._update_begins, optimizer)
        if len(args) == 1 and callable(args[0]):
            return (self._closure(args[0]),), kwargs
        if callable(kwargs.get('closure')):
            return args, dict(kwargs, closure=self._closure(kwargs['closure']))
        return args, kwargs

    def _update_begins(self, optimizer):
        self.noticed.updates += 1
        self._register(optimizer)
        if optimizer is self.optimizer:
            self.sizes['gradients'] = self._held()[1]
        if not self.whole and not self.inside and not self._others_listen():
            self.recorder.__enter__()
            self.inside = True

    def update_ended(self):
        self.recorder.update -= 1
        if not self.whole:
            self._quietly(self._leave)

    def _closure(self, function):
        """A closure runs the model again within the optimizer's step."""
        def closure():
            recorder, depth = self.recorder, self.recorder.update
            recorder.update = 0
            try:
                return function()
            finally:
                recorder.update = depth
        return closure

    def _register(self, optimizer):
        if id(optimizer) not in self.known:
            self.known.add(id(optimizer))
            for p in facts.parameters_of(optimizer):
                self.recorder.parameter(p)
                if p.grad is not None:
                    self.recorder.gradient(p.grad)

    def _quietly(self, function, *args):
        try:
            function(*args)
        except Exception as error:
            self.watch.switch_off(error)

    # Its end

    def done(self, optimizer):
        """The step has ended. False: it was no usual one, and another is being recorded."""
        if self.watch.off:
            return True
        if self.noticed.evaluated() and self.retries < _RETRIES:
            self.retries += 1
            self._leave()
            if not self.inside:
                self._begin()
                return False
        self._leave()
        self.recorder.listening = False
        self._restore()
        parameters, _, state = self._held()
        self.sizes.update(parameters=parameters, optimizer=state)
        if self.recorder.memory is not None:
            self.sizes['peak'] = max(self.recorder.memory.peak, 0)
        measured = facts.peak(self.device, self.allocated)
        if not self.whole:
            self.noticed.compiled = True
            self.noticed.autocast = self.noticed.autocast or self.compiled.autocast
            self.noticed.checkpointing |= any(graph.checkpoints and graph.calls for graph in self.compiled.graphs)
            self.recorder.listening = True
            compiled.run(torch, self.compiled.graphs, self.recorder)
            self.recorder.listening = False
        self.document = facts.document(self, measured)
        self.compiled.forget()
        return True

    def lines(self):
        """The document in pieces, as lines of the watch pipe."""
        if self.document is None:
            return []
        text = told.fitted(self.document)
        name = '{}.{}'.format(os.getpid(), int(time.monotonic() * 1000) % 1000000)
        return told.pieces(name, text)

    def stop(self):
        """Given up: the watcher is switched off, or this is a forked child."""
        self.recorder.listening = False
        self._leave()
        self._restore()
        self.compiled.forget()

    def _leave(self):
        """Out of the dispatch mode, if it is the innermost one. One that was entered within this step and is still on stays above it:
        then this one only passes operators on until that is gone."""
        if self.inside and torch._C._len_torch_dispatch_stack() > 0 and _python_dispatch._get_current_dispatch_mode() is self.recorder:
            self.recorder.__exit__(None, None, None)
            self.inside = False

    def _restore(self):
        patches, self.patches = self.patches, []
        for place, name, old in reversed(patches):
            setattr(place, name, old)
        if self.hook is not None:
            self.hook.remove()
            self.hook = None
