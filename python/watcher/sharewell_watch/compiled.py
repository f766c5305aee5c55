"""Models that torch.compile compiles: the graphs that its backend is given.

A TorchDispatchMode would keep such a model from being compiled, and does not see what compiled code does. So the graph that Dynamo
captured is kept as it is given to the backend, and run once with tensors that have no data, later, between two steps.
"""
import contextlib
import functools
import types

_SCALARS = (int, float, bool, complex)


class Graph:
    """A graph and what went into it. Holds no tensor of the program but those that the graph itself has as attributes."""

    def __init__(self, module, inputs):
        import torch
        from torch import fx
        copy = fx.Graph()
        copy.output(copy.graph_copy(module.graph, {}))
        for node in copy.nodes:
            node.meta.clear()
        self.module = fx.GraphModule(module, copy)
        self.inputs = [_described(torch, x) for x in inputs]
        names = ' '.join(str(node.target) for node in copy.nodes if node.op in ('call_function', 'call_method'))
        self.updates = _updates(torch, module, inputs)
        self.autocast = _autocast(torch)  # What surrounds a compiled model is not in its graph.
        self.checkpoints = 'tag_activation_checkpoint' in names or 'checkpoint' in names
        self.calls = 0          # Within the recorded step
        self.trained_calls = 0  # Of these, with gradients


class Compiled:
    def __init__(self, watch):
        self.watch = watch
        self.used = False   # torch.compile was called,
        self.backends = 0   # and so many graphs were compiled.
        self.graphs = []
        self.counting = False
        self.autocast = None

    def start(self, torch):
        for name in ('_TorchCompileInductorWrapper', '_TorchCompileWrapper'):
            backend = getattr(torch, name, None)
            if backend is not None:
                backend.__init__ = self._init(backend.__init__)
                backend.__call__ = self._call(torch, backend.__call__)

    def forget(self):
        """The step is told: graphs are wanted no more."""
        self.counting, self.graphs = False, []

    def _init(self, function):
        @functools.wraps(function)
        def wrapper(backend, *args, **kwargs):
            if not self.used:
                self.used = True
                self.watch.compile_begins()
            return function(backend, *args, **kwargs)
        return wrapper

    def _call(self, torch, function):
        @functools.wraps(function)
        def wrapper(backend, module, inputs, *args, **kwargs):
            graph = None
            self.backends += 1
            if not self.watch.off:
                try:
                    graph = Graph(module, inputs)
                except Exception:
                    graph = None
            result = function(backend, module, inputs, *args, **kwargs)
            try:
                if graph is not None and isinstance(result, types.FunctionType):
                    return self._counted(torch, graph, result)
            except Exception as error:
                self.watch.switch_off(error)
            return result
        return wrapper

    def _called(self, torch, graph):
        try:
            graph.calls += 1
            graph.trained_calls += torch.is_grad_enabled()
            from . import facts
            self.autocast = self.autocast or facts.autocast()
        except Exception as error:
            self.watch.switch_off(error)

    def _counted(self, torch, graph, function):
        """What the backend made, counted: how often it runs in the recorded step, and steps where it is an optimizer's."""
        updates = graph.updates
        if not updates:
            if self.watch.stage is None:
                return function
            self.graphs.append(graph)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if self.counting:
                self._called(torch, graph)
            result = function(*args, **kwargs)
            if updates and not self.watch.off:
                self.watch.ended(wrapper)
            return result
        # disable() of Dynamo goes by this to the function inside, past the wrapper.
        wrapper.__dict__.pop('_torchdynamo_orig_callable', None)
        return wrapper


def _autocast(torch):
    """The kinds of device that are cast for now, each with the type."""
    if hasattr(torch, 'get_autocast_dtype'):  # From PyTorch 2.4 on, where the older functions warn.
        return [(kind, torch.get_autocast_dtype(kind)) for kind in ('cuda', 'cpu') if torch.is_autocast_enabled(kind)]
    found = [('cuda', torch.get_autocast_gpu_dtype())] if torch.is_autocast_enabled() else []
    return found + ([('cpu', torch.get_autocast_cpu_dtype())] if torch.is_autocast_cpu_enabled() else [])


def _described(torch, x):
    """Of a tensor its kind; of anything else the thing itself."""
    if isinstance(x, torch.Tensor):
        return ('tensor', _numbers(x.shape), _numbers(x.stride()), x.dtype, x.device, x.requires_grad, isinstance(x, torch.nn.Parameter))
    if isinstance(x, _SCALARS) or x is None:
        return ('plain', x)
    hint = getattr(getattr(x, 'node', None), 'hint', None)  # A size that may change
    if isinstance(hint, _SCALARS):
        return ('plain', hint)
    raise TypeError('a graph with an input of type ' + type(x).__name__)


def _numbers(sizes):
    return tuple(x if isinstance(x, int) else int(getattr(x.node, 'hint')) for x in sizes)


def _updates(torch, module, inputs):
    """Whether a graph is an optimizer's step: it changes trained parameters in place."""
    graph = module.graph
    places = [node for node in graph.nodes if node.op == 'placeholder']
    trained = {node for node, x in zip(places, inputs) if isinstance(x, torch.nn.Parameter) and x.requires_grad}
    for node in graph.nodes:
        if node.op == 'get_attr' and isinstance(getattr(module, str(node.target), None), torch.nn.Parameter):
            trained.add(node)
        if node.op not in ('call_function', 'call_method') or not node.args:
            continue
        name = str(getattr(node.target, '__name__', node.target))
        if not (name.endswith('_') and not name.endswith('__') or name.startswith('_fused_')):
            continue
        first = node.args[0]
        if any(x in trained for x in (first if isinstance(first, (list, tuple)) else [first])):
            return True
    return False


def run(torch, graphs, recorder):
    """Run graphs forward and backward on tensors without data, under `recorder`, as often as each ran in the step. Returns how many
    could not be run."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    lost = 0
    for graph in graphs:
        if graph.calls == 0:
            continue
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):
                inputs = [_made(torch, recorder, x) for x in graph.inputs]
                for name, p in graph.module.named_parameters():
                    recorder.parameter(p)
                for _ in range(graph.calls):
                    _once(torch, graph, inputs, recorder)
        except Exception:
            lost += 1
    return lost


def _made(torch, recorder, described):
    if described[0] == 'plain':
        return described[1]
    _, shape, stride, dtype, device, trained, parameter = described
    x = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if parameter:
        x = torch.nn.Parameter(x, requires_grad=trained)
        recorder.parameter(x)
    elif trained:
        x.requires_grad_(True)
    return x


def _once(torch, graph, inputs, recorder):
    wants = graph.trained_calls > 0
    with contextlib.ExitStack() as around:
        around.enter_context(torch.set_grad_enabled(wants))
        for kind, dtype in graph.autocast:
            around.enter_context(torch.autocast(kind, dtype=dtype))
        around.enter_context(recorder)
        out = graph.module.forward(*inputs)  # Its __call__ prints where that fails.
    out = [x for x in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not wants or not out:
        return
    gradients = [torch.empty_like(x) for x in out]
    asked = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    asked += [p for p in graph.module.parameters() if p.requires_grad]
    recorder.backward += 1
    try:
        with recorder:
            torch.autograd.grad(out, asked, gradients, allow_unused=True)
    finally:
        recorder.backward -= 1
