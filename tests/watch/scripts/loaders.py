"""A recurrent network fed by two loaders at once, labelled and unlabelled, with an optimizer that takes all tensors in one call."""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Series(IterableDataset):
    def __init__(self, seed, many):
        self.seed, self.many = seed, many

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        for i in range(self.many):
            yield torch.randn(9, 5, generator=generator), i % 4


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 16, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


torch.manual_seed(7)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
for epoch in range(2):
    labelled = DataLoader(Series(epoch, 48), batch_size=6, num_workers=1)
    unlabelled = DataLoader(Series(epoch + 10, 48), batch_size=6)
    for (x, y), (u, _) in zip(labelled, unlabelled):
        sure = model(u).softmax(1)
        loss = nn.functional.cross_entropy(model(x), y) - 0.1 * (sure * sure.log()).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item().hex(), torch.rand(1).item().hex())
