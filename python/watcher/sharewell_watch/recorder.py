"""Listens to the ATen operators of one training step: their shapes and types, and how much memory was alive.

Keeps no tensor, draws no number, waits for no GPU. Read when a step is recorded, never before: it needs torch.
"""
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import memory

DISTINCT = 4000   # Operators that are listed at most
_DIMS, _LARGEST = 16, 2 ** 40

_DTYPES = {getattr(torch, name): short for name, short in (
    ('float64', 'f64'), ('float32', 'f32'), ('float16', 'f16'), ('bfloat16', 'bf16'), ('int64', 'i64'), ('int32', 'i32'),
    ('int16', 'i16'), ('int8', 'i8'), ('uint8', 'u8'), ('bool', 'b1'), ('complex64', 'c64'), ('complex128', 'c128'),
    ('float8_e4m3fn', 'f8'), ('float8_e5m2', 'f8'), ('float8_e4m3fnuz', 'f8'), ('float8_e5m2fnuz', 'f8')) if hasattr(torch, name)}
# Operators whose numbers say how much there is to do, and shapes do not.
_WITH_NUMBERS = ('conv', 'pool', 'attention', 'lstm', 'gru', 'rnn', 'upsample', 'grid_sampl', 'im2col', 'col2im')


class _Unlisted(Exception):
    """A shape that a told step has no room for."""


class _Known:
    """What its schema says of an operator."""

    def __init__(self, func):
        self.name = str(func)
        self.operands, self.numbers, self.writes = [], [], False
        schema = getattr(func, '_schema', None)
        self.listed = schema is not None and not self.name.startswith(('prim.', 'prims.', 'profiler.'))
        if schema is None:
            return
        with_numbers = any(word in self.name for word in _WITH_NUMBERS)
        for place, argument in enumerate(schema.arguments):
            kind = str(argument.type)
            alias = argument.alias_info
            self.writes |= alias is not None and alias.is_write
            if 'Tensor' in kind:
                self.operands.append((place, argument.name))
            elif with_numbers and 'Generator' not in kind:
                self.numbers.append((place, argument.name, argument.default_value))


class Recorder(TorchDispatchMode):
    """Enter it around what is to be listened to. `backward`, `update` and `feeding` are above 0 while autograd, an optimizer or
    a data loader runs."""

    supports_higher_order_operators = True

    def __init__(self, failed, device):
        super().__init__()
        self.failed = failed        # Called with an exception of the watcher's own
        self.device = device        # Operators on others (a loader's, on the host) are not listed.
        self.listening = True
        self.calls = self.feeding = 0
        self.memory = None
        self.backward = self.update = 0
        self.known = {}
        self.marks = {}             # 'w:' or 'p:' by storage
        self.gradients = {}         # Storages of gradients, and of what was made of them between backward and update
        self.kept = {}              # Weak references: a storage's address is not used again while there is one
        self.parameters = {}        # Storage: (elements, trained)
        self.convolutions = {'channels_last': 0, 'other': 0}
        self.clear()

    def clear(self):
        """Forget the operators: what is recorded begins now."""
        self.entries = {}
        self.dropped = 0

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if self.listening:
            self.calls += 1
            try:
                self._note(func, args, kwargs or {}, out)
            except Exception as error:
                self.listening = False
                self.failed(error)
        return out

    def parameter(self, x):
        """`x` is a parameter: trained where it wants a gradient."""
        found = memory.storage(x)
        if found is not None:
            key = found._cdata
            self.kept[key] = memory.StorageWeakRef(found)
            self.marks[key] = 'w:' if x.requires_grad else 'p:'
            self.parameters[key] = (x.numel(), x.requires_grad)

    def gradient(self, x):
        """`x` is a gradient, or made of gradients."""
        found = memory.storage(x)
        if found is not None and found._cdata not in self.marks:
            self.gradients[found._cdata] = memory.StorageWeakRef(found)

    def _note(self, func, args, kwargs, out):
        known = self.known.get(func)
        if known is None:
            known = self.known[func] = _Known(func)
        operands = [args[place] if place < len(args) else kwargs.get(name) for place, name in known.operands]
        tensors = [x for operand in operands for x in _tensors(operand)]
        results = _tensors(out)
        keys = {memory.key(x) for x in tensors}
        made = [memory.key(x) for x in results]
        for x in tensors:
            if isinstance(x, torch.nn.Parameter) and memory.key(x) not in self.marks:
                self.parameter(x)
        if self.memory is not None:
            self.memory.saw(tensors, results)
        if not known.listed or self.feeding or not any(x.device.type == self.device for x in tensors + results):
            return
        run = 'backward' if self.backward else 'update' if self.update or not keys.isdisjoint(self.gradients) else 'forward'
        if run == 'update':  # Between the backward pass and the step: gradients are clipped, or unscaled.
            for x in results:
                self.gradient(x)
        view = bool(made) and not known.writes and all(key is not None and key in keys for key in made)
        first = tensors[0] if tensors else None
        last = first is not None and _is_channels_last(first)
        if 'convolution' in known.name and run == 'forward' and first is not None and first.dim() == 4:
            self.convolutions['channels_last' if last else 'other'] += 1
        try:
            shapes = [self._shape(x) for x in operands], self._results(out)
        except _Unlisted:
            self.dropped += 1
            return
        self._count(known, run, shapes[0], shapes[1], self._numbers(known, args, kwargs), view, last)

    def _count(self, known, run, operands, results, numbers, view, last):
        entry = (known.name, run, tuple(operands), tuple(results), numbers, view, last)
        have = self.entries.get(entry)
        if have is not None:
            self.entries[entry] = have + 1
        elif len(self.entries) < DISTINCT:
            self.entries[entry] = 1
        else:
            self.dropped += 1

    def _shape(self, x):
        if isinstance(x, torch.Tensor):
            try:
                shape = tuple(int(n) for n in x.shape)
            except Exception as error:  # of nested tensors, whose sizes are no numbers
                raise _Unlisted() from error
            if len(shape) > _DIMS or any(n > _LARGEST for n in shape):
                raise _Unlisted()
            return (self.marks.get(memory.key(x), '') + _DTYPES.get(x.dtype, 'other'), shape)
        if isinstance(x, (list, tuple)):
            kinds = {}
            for item in x:
                if isinstance(item, torch.Tensor):
                    kind = self._shape(item)
                    kinds[kind] = kinds.get(kind, 0) + 1
            return ('list',) + tuple(kind + (many,) for kind, many in kinds.items())
        return None

    def _results(self, out):
        """A list is one result; of a tuple, each."""
        return [self._shape(x) for x in (out if isinstance(out, tuple) else (out,)) if isinstance(x, (torch.Tensor, list))]

    def _numbers(self, known, args, kwargs):
        found = []
        for place, name, default in known.numbers:
            value = args[place] if place < len(args) else kwargs.get(name, default)
            if isinstance(value, (list, tuple)) and len(value) <= 8 and all(isinstance(x, (bool, int, float)) for x in value):
                value = tuple(value)
            elif not isinstance(value, (bool, int, float)):
                continue
            found.append((name, value))
        return tuple(found)

    def operators(self):
        """What was heard, as the told step has it, in the order of the first calls."""
        return [_entry(entry, count) for entry, count in self.entries.items()]


def _tensors(x):
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [item for item in x if isinstance(item, torch.Tensor)]
    return []


def _is_channels_last(x):
    return x.dim() == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)


def _entry(entry, count):
    name, run, operands, results, numbers, view, last = entry
    told = {'op': name, 'pass': run, 'count': count, 'in': [_plain(x) for x in operands], 'out': [_plain(x) for x in results]}
    if numbers:
        told['arg'] = {key: list(value) if isinstance(value, tuple) else value for key, value in numbers}
    if view:
        told['view'] = True
    if last:
        told['cl'] = True
    return told


def _plain(x):
    if x is None:
        return None
    if x[0] == 'list':
        return {'list': [[dtype, list(shape), many] for dtype, shape, many in x[1:]]}
    return [x[0], list(x[1])]


def past_dynamo(function):
    """`function`, left alone by Dynamo where it is in use: within a call of a module that was compiled in place it compiles whatever
    Python is run, the watcher's too."""
    disable = getattr(sys.modules.get('torch._dynamo'), 'disable', None)
    return function if disable is None else disable(function)


def make(failed, device):
    """A recorder for one step."""
    listen = past_dynamo(Recorder.__torch_dispatch__)
    kind = Recorder if listen is Recorder.__torch_dispatch__ else type('Recorder', (Recorder,), {'__torch_dispatch__': listen})
    return kind(failed, device)
