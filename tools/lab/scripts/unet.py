"""A U-Net that learns to take noise out of images: fp32, mean squared error, in a trainer class."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from meter import Meter


def block(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
                         nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width, depth=4):
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[-2::-1])
        self.merge = nn.ModuleList(block(2 * w, w) for w in widths[-2::-1])
        self.out = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        skipped = []
        for layer in self.down[:-1]:
            x = layer(x)
            skipped.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.down[-1](x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skipped.pop(), up(x)], 1))
        return self.out(x)


class Noisy(Dataset):
    def __init__(self, size):
        self.clean = torch.rand(128, 3, size, size)

    def __len__(self):
        return 8192

    def __getitem__(self, i):
        clean = self.clean[i % 128]
        return clean + 0.1 * torch.randn_like(clean), clean


class Trainer:
    def __init__(self, model, data, args):
        self.args, self.model, self.meter = args, model.to(args.device), Meter()
        self.loader = DataLoader(data, args.batch, shuffle=True, num_workers=args.workers, drop_last=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.criterion = nn.MSELoss()

    def training_step(self, noisy, clean):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(noisy.to(self.args.device)), clean.to(self.args.device))
        loss.backward()
        self.optimizer.step()
        return loss

    def epoch(self):
        for noisy, clean in self.loader:
            loss = self.training_step(noisy, clean)
            self.meter.step()
            if self.meter.steps >= self.args.steps:
                return
        print(f"after {self.meter.steps} steps: {loss.item():.5f}", flush=True)

    def fit(self):
        while self.meter.steps < self.args.steps:
            self.epoch()
        self.meter.report()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    Trainer(UNet(options.width), Noisy(options.size), options).fit()
