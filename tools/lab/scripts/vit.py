"""Trains a vision transformer of timm from scratch in bf16. Images travel as bytes and are normalised on the device."""
import argparse

import timm
import torch
import torch.nn.functional as F

from meter import Meter

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="vit_small_patch16_224")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return p.parse_args()


class Bytes(torch.utils.data.Dataset):
    images = torch.randint(0, 256, (512, 3, 224, 224), dtype=torch.uint8)
    labels = torch.randint(0, 1000, (512,))

    def __len__(self):
        return 512 * 40

    def __getitem__(self, i):
        return self.images[i % 512], self.labels[i % 512]


def batches(loader):
    while True:
        yield from loader


def main(args):
    device = torch.device(args.device)
    mean, std = (torch.tensor(v, device=device).view(1, 3, 1, 1) * 255 for v in (MEAN, STD))
    loader = torch.utils.data.DataLoader(Bytes(), args.batch, shuffle=True, num_workers=args.workers,
                                         pin_memory=device.type == "cuda", drop_last=True)
    net = timm.create_model(args.model, pretrained=False, num_classes=1000).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.05)
    meter = Meter()
    for step, (x, y) in enumerate(batches(loader), 1):
        x = (x.to(device, non_blocking=True).float() - mean) / std
        with torch.autocast(device.type, torch.bfloat16):
            loss = F.cross_entropy(net(x), y.to(device, non_blocking=True), label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.step()
        if step % 50 == 0:
            print(step, loss.item(), flush=True)
        if step == args.steps:
            break
    meter.report()


if __name__ == "__main__":
    main(get_args())
