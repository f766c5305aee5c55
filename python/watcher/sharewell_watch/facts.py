"""What else is told of a training step: batch, optimizer, precision and so on. Read once; asks PyTorch for nothing that warns."""
import os
import sys

import torch

from . import memory

_PRECISION = {torch.float64: 'fp64', torch.float32: 'fp32', torch.float16: 'fp16', torch.bfloat16: 'bf16'}
_PARALLEL = {'DistributedDataParallel': 'ddp', 'FullyShardedDataParallel': 'fsdp', 'FSDPModule': 'fsdp', 'DataParallel': 'dp'}


class Noticed:
    """What was seen to happen in the recorded step."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.modules = []           # Modules that were called, in order; the step's alone, so nothing is kept alive for long
        self.known = set()
        self.evaluations = 0
        self.inputs = None          # The leading dimension of the first input
        self.loaders = []
        self.backwards = self.updates = 0
        self.scaler = False
        self.autocast = None
        self.checkpointing = self.graphs = self.compiled = False

    def called(self, module, inputs):
        if self.autocast is None:
            self.autocast = autocast()
        if id(module) in self.known:
            return
        self.known.add(id(module))
        self.modules.append(module)
        if not module.training and not torch.is_grad_enabled():
            self.evaluations += 1
        if self.inputs is None:
            first = next((x for x in inputs if isinstance(x, torch.Tensor) and x.dim() > 0), None)
            if first is not None:
                self.inputs = int(first.shape[0])

    def fed(self, loader):
        if not any(loader is known for known in self.loaders):
            self.loaders.append(loader)

    def checkpointed(self, run, args, kwargs):
        self.checkpointing = True
        return run(*args, **kwargs)

    def replayed(self, run, args, kwargs):
        self.graphs = True
        return run(*args, **kwargs)

    def evaluated(self):
        """Whether the step seems to have an evaluation in it."""
        return self.evaluations > 0

    def outermost(self):
        """Modules that no other one has called: those that are no part of another."""
        parts, found = set(), []
        for module in self.modules:
            if id(module) not in parts:
                found.append(module)
                parts.update(id(part) for part in module.modules())
        return found

    def parameters(self, optimizers):
        """Parameters of the step's modules and of optimizers, each once."""
        found = {}
        for module in self.outermost():
            for p in module.parameters():
                found.setdefault(id(p), p)
        for optimizer in optimizers:
            for p in parameters_of(optimizer):
                found.setdefault(id(p), p)
        return list(found.values())


def parameters_of(optimizer):
    return [p for group in getattr(optimizer, 'param_groups', ()) for p in group['params'] if isinstance(p, torch.Tensor)]


def state_of(optimizer):
    found = []
    for state in list(getattr(optimizer, 'state', {}).values()):
        for x in state.values() if isinstance(state, dict) else ():
            found += [y for y in (x if isinstance(x, (list, tuple)) else [x]) if isinstance(y, torch.Tensor)]
    return found


def tensors_of(optimizer):
    parameters = parameters_of(optimizer)
    return parameters + [p.grad for p in parameters if p.grad is not None] + state_of(optimizer)


def device_of(optimizer):
    """The kind of device that it trains on: 'cuda', 'cpu'."""
    return next((p.device.type for p in parameters_of(optimizer)), None)


def scalers():
    """Classes of gradient scalers that have a `step` of their own, of those that are loaded."""
    found = []

    def add(kind):
        if 'step' in kind.__dict__ and kind not in found:
            found.append(kind)
        for heir in kind.__subclasses__():
            add(heir)
    for name in ('torch.amp.grad_scaler', 'torch.cuda.amp.grad_scaler', 'torch.cpu.amp.grad_scaler', 'torch.distributed.fsdp.sharded_grad_scaler'):
        for kind in vars(sys.modules.get(name, object)).values() if name in sys.modules else ():
            if isinstance(kind, type) and kind.__name__.endswith('GradScaler'):
                add(kind)
    return found


def autocast():
    """The type that operators are cast to; None without."""
    if hasattr(torch, 'get_autocast_dtype'):  # The older functions warn where this one is.
        for kind in ('cuda', 'cpu'):
            if torch.is_autocast_enabled(kind):
                return _PRECISION.get(torch.get_autocast_dtype(kind))
        return None
    if torch.is_autocast_enabled():
        return _PRECISION.get(torch.get_autocast_gpu_dtype())
    if torch.is_autocast_cpu_enabled():
        return _PRECISION.get(torch.get_autocast_cpu_dtype())
    return None


def allocated(device):
    """The most that PyTorch ever had allocated on the current GPU. It is read, never reset: the program may read it too."""
    return torch.cuda.max_memory_allocated() if device == 'cuda' else None


def peak(device, before):
    """What PyTorch measured as the step's most: known exactly where no earlier moment had more."""
    after = allocated(device)
    return after if after is not None and before is not None and after > before else None


def precision(optimizer, device, convolutions):
    sizes = {}
    for p in parameters_of(optimizer):
        sizes[p.dtype] = sizes.get(p.dtype, 0) + p.numel()
    dtype = max(sizes, key=sizes.get) if sizes else None
    told = _PRECISION.get(dtype)
    return 'tf32' if told == 'fp32' and device == 'cuda' and _tf32(convolutions) else told


def _tf32(convolutions):
    if torch.version.cuda is None or torch.cuda.get_device_capability() < (8, 0):
        return False
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(convolution, 'conv'):  # PyTorch 2.9 and later; to ask for allow_tf32 makes them warn.
        return matmul.fp32_precision == 'tf32' or convolutions and convolution.conv.fp32_precision == 'tf32'
    return matmul.allow_tf32 or convolutions and convolution.allow_tf32


def style(operators):
    """How the optimizer goes through the parameters."""
    names = {operator['op'] for operator in operators if operator['pass'] == 'update'}
    if not names:
        return None
    if any('_fused_' in name for name in names):
        return 'fused'
    return 'foreach' if any('_foreach_' in name for name in names) else 'for-loop'


def _roots(noticed, optimizer):
    """The modules that the step trains. Of a compiled model no call was seen: then they are looked for among all objects."""
    found = noticed.outermost()
    if any(True for module in found for _ in module.parameters()):
        return found
    import gc
    wanted = {id(p) for p in parameters_of(optimizer)}
    modules = [x for x in gc.get_objects() if issubclass(type(x), torch.nn.Module) and type(x).__name__ != 'OptimizedModule']
    holders = [m for m in modules if any(id(p) in wanted for p in m.parameters())]
    holders.sort(key=lambda m: -sum(1 for _ in m.modules()))
    inner = set()
    roots = []
    for module in holders:
        if id(module) not in inner:
            roots.append(module)
            inner.update(id(part) for part in module.modules())
    return roots


def _parallel(roots):
    for module in roots:
        for part in module.modules():
            for kind in type(part).__mro__:
                if kind.__name__ in _PARALLEL and kind.__module__.startswith('torch.'):
                    return _PARALLEL[kind.__name__], part
    return None, None


def _name(roots):
    """The class of the outermost module with the most parameters, without what was put around it to run on several GPUs."""
    best, most = None, 0
    for module in roots:
        inner = module
        while type(inner).__name__ in ('DistributedDataParallel', 'DataParallel', 'OptimizedModule', 'FullyShardedDataParallel'):
            parts = list(inner.children())
            if not parts:
                break
            inner = parts[0]
        number = sum(p.numel() for p in inner.parameters())
        if number > most:
            best, most = type(inner).__name__, number
    return best


def _world_size():
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    return 1


def document(recording, measured):
    """The told step, as a value for JSON."""
    noticed, recorder, sizes = recording.noticed, recording.recorder, recording.sizes
    operators = recorder.operators()
    roots = _roots(noticed, recording.optimizer)
    parameters = {id(p): p for module in roots for p in module.parameters()}
    for optimizer in recording.optimizers():
        parameters.update((id(p), p) for p in parameters_of(optimizer))
    loader = noticed.loaders[-1] if noticed.loaders else None
    batch = getattr(getattr(loader, '_index_sampler', None), 'batch_size', None)
    convolutions = any('convolution' in operator['op'] for operator in operators)
    heard = recorder.convolutions
    return {
        'sharewell_step': 1,
        'framework': 'pytorch ' + str(torch.__version__),
        'python': '{}.{}.{}'.format(*sys.version_info[:3]),
        'device': recording.device,
        'batch': batch if isinstance(batch, int) else noticed.inputs,
        'accumulation': noticed.backwards or None,
        'optimizer': type(recording.optimizer).__name__,
        'optimizers': len(recording.optimizers()),
        'optimizer_style': style(operators),
        'precision': precision(recording.optimizer, recording.device, convolutions),
        'autocast': noticed.autocast,
        'grad_scaler': noticed.scaler,
        'workers': getattr(loader, '_num_workers', None),
        'compiled': noticed.compiled,
        'channels_last': heard['channels_last'] > heard['other'],
        'checkpointing': noticed.checkpointing,
        'cuda_graphs': noticed.graphs,
        'world_size': _world_size(),
        'parallel': _parallel(roots)[0],
        'parameters': sum(p.numel() for p in parameters.values()),
        'trainable': sum(p.numel() for p in parameters.values() if p.requires_grad),
        'modules': _name(roots),
        'memory': {name: sizes.get(name) for name in ('parameters', 'gradients', 'optimizer', 'peak', 'saved')},
        'measured_peak': measured,
        'operators': operators,
        'dropped': recorder.dropped,
    }
