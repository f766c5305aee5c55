"""Mixed precision with a GradScaler that skips steps. That of PyTorch 1.13 needs a GPU; this one does the same on a CPU."""
import math
import sys

import torch
from torch import nn
from torch.cuda.amp import GradScaler


class HostScaler(GradScaler):
    def __init__(self):
        super().__init__(enabled=False)
        self._enabled, self.factor, self.skipped, self.steps = True, 2.0 ** 16, 0, 0

    def scale(self, loss):
        return loss * self.factor

    def step(self, optimizer):
        gradients = [p.grad for group in optimizer.param_groups for p in group['params'] if p.grad is not None]
        if not all(bool(torch.isfinite(g).all()) for g in gradients):
            self.skipped += 1
            return None
        for g in gradients:
            g.div_(self.factor)
        self.steps += 1
        return optimizer.step()

    def update(self):
        self.factor /= 1.0


torch.manual_seed(3)
model = nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, 5))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
scaler = HostScaler()
diverges = 'diverges' in sys.argv
for i in range(30 if diverges else 14):
    x, y = torch.randn(6, 20), torch.randint(0, 5, (6,))
    with torch.autocast('cpu', dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x).float(), y)
    if i in (1, 2, 9) or diverges and i > 0:
        loss = loss * math.inf
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(i, loss.item().hex())
print(scaler.steps, 'steps', scaler.skipped, 'skipped', [p.sum().item().hex() for p in model.parameters()])
print(torch._C._len_torch_dispatch_stack(), 'listen')
