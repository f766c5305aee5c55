#!/usr/bin/env python3
"""What torch.compile compiles, watched: for a machine with PyTorch 2 (Debian has 1.13, so `make test` does not run this).

  python3 tests/watch/compiled_check.py [cuda|cpu] [WORD ...]

Each loop runs with the watcher and without it: the same losses, the same number of compiled graphs and recompilations, steps counted right, and a
told step that lists the compiled graph's operators. Dynamo may look at a few frames more, and break at one: the watcher's own. WORDs choose loops. Ends with 1 where one differs.
"""
import json
import sys
import tempfile

import told
import watched

watched.PYTHON = sys.executable  # a PyTorch 2

BEGIN = '''
import torch, torch._dynamo
from torch import nn
device = {device!r}
torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
def batch(): return torch.randn(16, 32, device=device), torch.randint(0, 10, (16,), device=device)
def end():
    counters = torch._dynamo.utils.counters
    print(counters['stats'].get('unique_graphs'), counters['recompiles'])
    print(torch.rand(1).item(), [p.sum().item() for p in model.parameters()])
'''
OWN = '''
class Own(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x)
'''
LOOP = '''
for i in range(8):
    x, y = batch()
    with torch.autocast(device, torch.bfloat16, enabled={autocast}):
        loss = nn.functional.cross_entropy(net(x).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
end()
'''
# Name: (lines after BEGIN, steps, whether the model's operators are told, what else is told)
LOOPS = {
    'eager': ('net = model' + LOOP.format(autocast=False), 8, True, {'compiled': False, 'autocast': None, 'modules': 'Sequential'}),
    'inductor': ('net = torch.compile(model)' + LOOP.format(autocast=False), 8, True, {'compiled': True, 'autocast': None}),
    'autocast': ('net = torch.compile(model)' + LOOP.format(autocast=True), 8, True, {'compiled': True, 'autocast': 'bf16'}),
    # A module of PyTorch's own, such as Sequential, is not compiled in place: Dynamo skips the frames of its files.
    'in place': (OWN + 'model = Own(model)\nmodel.compile()\nnet = model' + LOOP.format(autocast=False), 8, True, {'compiled': True}),
    'aot_eager': ('net = torch.compile(model, backend="aot_eager", fullgraph=True)' + LOOP.format(autocast=False), 8, True, {'compiled': True}),
    'reduce-overhead': ('net = torch.compile(model, mode="reduce-overhead")' + LOOP.format(autocast=False), 8, True, {'compiled': True}),
    'dynamic': ('net = torch.compile(model)\nsizes = iter([16, 16, 24, 40, 16, 8, 16, 16])\n'
                'def batch():\n    n = next(sizes)\n    return torch.randn(n, 32, device=device), torch.randint(0, 10, (n,), device=device)\n'
                + LOOP.format(autocast=False), 8, True, {'compiled': True}),
    'not used': ('unused = torch.compile(nn.Linear(3, 3))\nnet = model' + LOOP.format(autocast=False), 8, True, {'compiled': False}),
    'late': ('net = model\nlater = torch.compile(model)\n' + LOOP.format(autocast=False).replace('    x, y', '    if i == 4: net = later\n    x, y'),
             8, True, {'compiled': False}),
    'optimizer': ('step = torch.compile(optimizer.step)\nnet = model' + LOOP.format(autocast=False).replace('optimizer.step()', 'step()'), 8, False, None),
    'whole step': ('''
@torch.compile
def train(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss
for i in range(8):
    print(i, train(*batch()).item())
end()
''', 8, False, None),
    'checkpoint': ('''
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
        self.head = nn.Linear(32, 10)
    def forward(self, x):
        return self.head(checkpoint(self.inner, x, use_reentrant=False))
model = Block().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
net = torch.compile(model)
''' + LOOP.format(autocast=False), 8, False, {'compiled': True, 'checkpointing': True}),
    'many blocks': (OWN + '''
model = nn.Sequential(*[Own(nn.Sequential(nn.Linear(32, 32), nn.ReLU())) for _ in range(6)], nn.Linear(32, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for block in model[:6]:
    block.compile()
net = model
''' + LOOP.format(autocast=False), 8, True, {'compiled': True}),
    'scaler': ('''
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 16, growth_interval=3)
steps = 0
for i in range(8):
    x, y = batch()
    loss = nn.functional.cross_entropy(model(x), y) * (float('inf') if i in (1, 2, 6) else 1.0)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(i, loss.item())
end()
''', 5, True, {'grad_scaler': True, 'accumulation': 1}),
    'cuda graph': ('''
x, y = batch()
def step():
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(model(x), y).backward()
if device == 'cuda':
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3): step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph): step()
    for i in range(8):
        graph.replay()
        optimizer.step()
else:
    for i in range(8):
        step()
        optimizer.step()
end()
''', 8, False, None),
}


def differs(name, device, folder):
    lines, steps, operators, facts = LOOPS[name]
    script = folder + '/loop.py'
    with open(script, 'w', encoding='ascii') as file:
        file.write(BEGIN.format(device=device) + lines)
    more = {'CUBLAS_WORKSPACE_CONFIG': ':4096:8', 'HOME': folder}
    cold = watched.run([sys.executable, script], watcher=None, seconds=300, **more)  # fills the compiler's cache
    without = watched.run([sys.executable, script], watcher=None, seconds=300, **more)
    with_it = watched.run([sys.executable, script], seconds=300, **more)
    found = []
    if without.status != 0:
        return ['it does not run: ' + without.err.decode()[-600:]]
    if with_it[:2] != without[:2] or with_it.err != without.err and cold.err == without.err:
        found.append('with the watcher:\n{}\n{}\nwithout:\n{}\n{}'.format(with_it.out.decode(), with_it.err.decode()[-1500:], without.out.decode(),
                                                                         without.err.decode()[-1500:]))
    heard = with_it.heard
    if heard.off:
        found.append('off: {}'.format(heard.off))
    if heard.steps != steps:
        found.append('{} steps instead of {}'.format(heard.steps, steps))
    if facts is not None and len(heard.documents) != 1:
        found.append('{} documents'.format(len(heard.documents)))
    for step in heard.documents:
        try:
            told.check(step)
        except AssertionError as error:
            found.append('the told step: {}'.format(error))
        wrong = {k: step[k] for k, v in (facts or {}).items() if step[k] != v}
        if wrong:
            found.append('told {}'.format(wrong))
        per_pass = {run: sum(o['count'] for o in step['operators'] if o['pass'] == run and 'mm' in o['op']) for run in ('forward', 'backward')}
        print('   ', {k: v for k, v in step.items() if k not in ('operators',)}, len(step['operators']), 'operators', per_pass)
        if operators:
            many = {'many blocks': 6}.get(name, 2)    # its last layer is not compiled, and so not listed
            if per_pass['forward'] != many or not 2 * many - 1 <= per_pass['backward'] <= 2 * many:
                found.append('matrix products: {}'.format(per_pass))
            if not any(o['pass'] == 'update' for o in step['operators']):
                found.append('no operator of the optimizer')
    return found


def main():
    words = sys.argv[1:]
    device = words.pop(0) if words and words[0] in ('cuda', 'cpu') else 'cuda'
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for name in LOOPS:
            if words and name not in words:
                continue
            found = differs(name, device, folder)
            print('FAILED' if found else 'ok    ', name, *('\n    ' + line for line in found), flush=True)
            bad += [name] if found else []
    print(json.dumps({'failed': bad}))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
