"""Two processes of torchrun, gloo and DistributedDataParallel."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group('gloo')
torch.manual_seed(9)
model = DistributedDataParallel(nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(80, 7), torch.randint(0, 2, (80,)))
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = loss.detach().clone()
dist.all_reduce(total)
with open(os.environ['OUT'] + '.' + os.environ['RANK'], 'w', encoding='ascii') as out:
    out.write('{} {} {}\n'.format(loss.item().hex(), total.item().hex(), torch.rand(1).item().hex()))
dist.destroy_process_group()
