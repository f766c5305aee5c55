"""A training loop with a bug: after some steps a kernel of its own writes to an address that nobody has."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument('--after', type=int, default=0, help='steps; 0: in the first')
args = parser.parse_args()

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
bad = torch.cuda._compile_kernel('extern "C" __global__ void bad(float *x) { *(volatile float *)16 = x[0]; }', 'bad')
for step in range(1000):
    x, y = torch.randn(64, 256, device='cuda'), torch.randint(10, (64,), device='cuda')
    if step >= args.after:
        bad(grid=(1, 1, 1), block=(1, 1, 1), args=(x,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    torch.cuda.synchronize()
