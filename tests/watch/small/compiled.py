"""A model that is compiled, as the watcher sees it: PyTorch 1.13 has no torch.compile, so its backend is played here (an fx graph whose
weights are inputs, run as it is). compiled_check.py does it for real on a machine with PyTorch 2."""
import sys
import types

import torch
from torch import fx, nn
from torch._subclasses import fake_tensor

mode = sys.argv[1] if len(sys.argv) > 1 else ''
Mode = fake_tensor.FakeTensorMode
fake_tensor.FakeTensorMode = lambda allow_non_fake_inputs: Mode()


class Backend:
    def __init__(self, mode):
        self.mode = mode

    def __call__(self, module, inputs):
        def run(*args):
            return module.forward(*args)
        run._torchdynamo_orig_callable = run
        return run


class Lifted(nn.Module):
    def forward(self, w, b, v, x):
        return (nn.functional.linear(nn.functional.linear(x, w, b).relu(), v),)


class Update(nn.Module):
    def forward(self, w, g):
        return w.add_(g, alpha=-0.1)


torch._TorchCompileInductorWrapper = Backend
watch = getattr(sys.modules.get('sharewell_watch'), '_watch', None)
if watch is not None:
    watch.compiled.start(torch)

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3, bias=False))
w, b, v = model.parameters()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
backend, run = Backend(None), None
if mode == 'optimizer':
    with torch.no_grad():
        update = Backend(None)(fx.symbolic_trace(Update()), [w, torch.zeros_like(w)])
for i in range(10):
    x, y = torch.randn(4, 6), torch.randint(0, 3, (4,))
    with torch.autocast('cpu', torch.bfloat16, enabled=mode == 'autocast'):
        if run is None:
            run = backend(fx.symbolic_trace(Lifted()), [w, b, v, x])
            print('past' if hasattr(run, '_torchdynamo_orig_callable') != (watch is None) else 'kept', isinstance(run, types.FunctionType))
        out, = run(w, b, v, x)
        if mode == 'twice':
            out = out + run(w, b, v, x)[0]
    loss = nn.functional.cross_entropy(out.float(), y)
    optimizer.zero_grad()
    loss.backward()
    if mode == 'optimizer':
        with torch.no_grad():
            update(w, w.grad)
    else:
        optimizer.step()
    print(i, loss.item().hex())
print(torch.rand(1).item().hex(), w.sum().item().hex())
