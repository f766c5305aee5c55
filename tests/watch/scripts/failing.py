"""Ends in the middle by an exception that nobody catches, after one that the loop catches."""
import torch
from torch import nn

torch.manual_seed(8)
model = nn.Sequential(nn.Linear(6, 6), nn.Sigmoid(), nn.Linear(6, 1))
optimizer = torch.optim.Adagrad(model.parameters())
for i in range(20):
    try:
        x = torch.randn(5, 6 if i != 1 else 7)
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(i, loss.item().hex(), flush=True)
    except RuntimeError:
        print('skipped', i, flush=True)
    if i == 9:
        raise ValueError('a label that there is not')
