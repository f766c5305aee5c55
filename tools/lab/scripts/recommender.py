"""A click model: 26 categories in one large embedding table, 13 numbers, an MLP over both. The loader yields whole batches."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from meter import Meter


class Clicks(IterableDataset):
    def __init__(self, rows, batch, count=200_000):
        self.batch = batch
        self.categories = torch.randint(0, rows, (count, 26))
        self.numbers = torch.rand(count, 13)
        self.clicked = torch.randint(0, 2, (count,)).float()

    def __iter__(self):
        while True:
            start = int(torch.randint(0, len(self.clicked) - self.batch, (1,)))
            part = slice(start, start + self.batch)
            yield self.categories[part], self.numbers[part], self.clicked[part]


class Recommender(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=True)
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(27 * width, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, categories, numbers):
        return self.top(torch.cat([self.table(categories).flatten(1), self.bottom(numbers)], 1)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    model = Recommender(args.rows, args.width).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    loader = DataLoader(Clicks(args.rows, args.batch), batch_size=None, num_workers=args.workers, pin_memory=args.device == "cuda")
    meter, loss_of = Meter(), nn.BCEWithLogitsLoss()
    for categories, numbers, clicked in loader:
        categories, numbers, clicked = (part.to(args.device, non_blocking=True) for part in (categories, numbers, clicked))
        loss = loss_of(model(categories, numbers), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.step()
        if meter.steps % 1000 == 0:
            print(f"{meter.steps}: {loss.item():.4f}", flush=True)
        if meter.steps >= args.steps:
            break
    meter.report()


if __name__ == "__main__":
    main()
