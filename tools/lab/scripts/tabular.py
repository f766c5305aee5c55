"""A perceptron on a table that fits into the GPU's memory: batches are drawn by index, and it is evaluated after each epoch; fp32."""
import argparse

import torch
import torch.nn as nn

from meter import Meter


def accuracy(model, x, y, batch=8192):
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in zip(x.split(batch), y.split(batch)))
    model.train()
    return right / len(y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=0, help="not used: there is no loader")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    x = torch.randn(args.rows, args.columns, device=args.device)
    y = (x[:, :8].sum(1) > 0).long() + (x[:, 8:16].sum(1) > 0).long()
    held_out = args.rows // 10
    layers, width = [], args.columns
    for _ in range(args.layers):
        layers += [nn.Linear(width, args.hidden), nn.BatchNorm1d(args.hidden), nn.ReLU(), nn.Dropout(0.1)]
        width = args.hidden
    model = nn.Sequential(*layers, nn.Linear(width, 3)).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion, meter, epoch = nn.CrossEntropyLoss(), Meter(), 0
    while meter.steps < args.steps:
        for rows in (torch.randperm(args.rows - held_out, device=args.device) + held_out).split(args.batch):
            optimizer.zero_grad()
            loss = criterion(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            meter.step()
            if meter.steps >= args.steps:
                break
        epoch += 1
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {accuracy(model, x[:held_out], y[:held_out]):.4f}", flush=True)
    meter.report()


if __name__ == "__main__":
    main()
