"""Trains an image classifier of torchvision in mixed precision: fp16 with a gradient scaler, SGD with momentum."""
import argparse

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset

from meter import Meter

parser = argparse.ArgumentParser()
parser.add_argument("--arch", default="resnet50")
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--steps", type=int, default=450)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()


class FakeImages(Dataset):
    def __init__(self, size, count=256, classes=1000):
        self.images = torch.randint(0, 256, (count, 3, size, size), dtype=torch.uint8)
        self.labels = torch.randint(0, classes, (count,))

    def __len__(self):
        return 50_000

    def __getitem__(self, i):
        i %= len(self.images)
        return self.images[i].float() / 255, self.labels[i]


cuda = args.device == "cuda"
if cuda:
    torch.backends.cudnn.benchmark = True
loader = DataLoader(FakeImages(args.size), args.batch, shuffle=True, num_workers=args.workers, pin_memory=cuda, drop_last=True,
                    persistent_workers=args.workers > 0)
model = torchvision.models.get_model(args.arch, weights=None, num_classes=1000).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)(enabled=cuda)
criterion = nn.CrossEntropyLoss()
meter = Meter()
model.train()
while meter.steps < args.steps:
    for images, labels in loader:
        images, labels = images.to(args.device, non_blocking=True), labels.to(args.device, non_blocking=True)
        with torch.autocast(args.device, dtype=torch.float16 if cuda else torch.bfloat16, enabled=cuda):
            loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        meter.step()
        if meter.steps % 100 == 0:
            print(f"step {meter.steps}: loss {loss.item():.4f}", flush=True)
        if meter.steps >= args.steps:
            break
meter.report()
