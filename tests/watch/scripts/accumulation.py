"""Four backward passes a step, a frozen part, and a part that is computed again in the backward pass."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 32).requires_grad_(False)
        self.block = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(checkpoint(self.block, self.body(x).requires_grad_()))


torch.manual_seed(4)
net = Net()
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
data = TensorDataset(torch.randn(96, 16), torch.randint(0, 3, (96,)))
steps = 0
for epoch in range(2):
    for i, (x, y) in enumerate(DataLoader(data, batch_size=4)):
        loss = nn.functional.cross_entropy(net(x), y) / 4
        loss.backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
            print(loss.item().hex())
print(steps, torch.randint(0, 1000, (3,)).tolist())
