"""Trains a segmentation model of torchvision in bf16 with a polynomial rate, as its reference script does."""
import argparse

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset

from meter import Meter


class Scenes(Dataset):
    def __init__(self, size, classes):
        self.images = torch.rand(64, 3, size, size)
        self.masks = torch.randint(0, classes, (64, size, size))

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        image, mask = self.images[i % 64], self.masks[i % 64]
        return (image.flip(-1), mask.flip(-1)) if torch.rand(()) < 0.5 else (image, mask)


def criterion(output, target):
    losses = {name: nn.functional.cross_entropy(x, target, ignore_index=255) for name, x in output.items()}
    return losses["out"] + (0.5 * losses["aux"] if "aux" in losses else 0)


def train_one_epoch(model, loader, optimizer, scheduler, meter, args):
    model.train()
    for image, target in loader:
        image, target = image.to(args.device), target.to(args.device)
        with torch.autocast(args.device, dtype=torch.bfloat16):
            output = model(image)
            loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        meter.step()
        if meter.steps % 50 == 0:
            print(f"[{meter.steps}] loss: {loss.item():.4f} lr: {optimizer.param_groups[0]['lr']:.6f}", flush=True)
        if meter.steps >= args.steps:
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="deeplabv3_mobilenet_v3_large")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    net = torchvision.models.segmentation.__dict__[options.model](weights=None, weights_backbone=None, num_classes=options.classes)
    net.to(options.device)
    sgd = torch.optim.SGD(net.parameters(), lr=options.lr, momentum=0.9, weight_decay=1e-4)
    poly = torch.optim.lr_scheduler.PolynomialLR(sgd, options.steps, power=0.9)
    data = DataLoader(Scenes(options.size, options.classes), options.batch, shuffle=True, num_workers=options.workers, drop_last=True)
    count = Meter()
    while count.steps < options.steps:
        train_one_epoch(net, data, sgd, poly, count, options)
    count.report()
