#!/usr/bin/env python3
"""A deterministic training loop that knows nothing of pauses: same seed, same losses, to the last bit.

  tools/lab/pause_loop.py KIND STEPS RECORD [--ballast BYTES] [--stub] [--delay S]

KIND: conv, lstm or decoder. A line "STEP LOSS" goes to RECORD after each step (the loss's bits in hex), and a last line "end STEPS". With
$SHAREWELL_PROGRESS set, steps are told to the server too. --stub: no torch and no GPU; it registers itself with the stand-in for libcuda
(src/platform/process/fake_checkpoint.cc) where $SHAREWELL_FAKE_CHECKPOINT is set.
"""
import argparse
import os
import pathlib
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "zoo"))
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"      # cuBLAS is deterministic with it alone

import progress  # noqa: E402


def bits(loss):
    return struct.pack(">d", loss).hex()


def stub_steps():
    """Losses that depend on all that came before."""
    folder = os.environ.get("SHAREWELL_FAKE_CHECKPOINT")
    if folder:
        pathlib.Path(folder, str(os.getpid())).write_text("0")
    x = 0.5
    while True:
        if folder:                             # what the driver does: who is paused makes no step
            while pathlib.Path(folder, str(os.getpid())).read_text().strip() not in ("0", ""):
                time.sleep(0.01)
        time.sleep(0.02)
        x = 3.9 * x * (1 - x)
        yield x


def model_of(kind, torch):
    nn = torch.nn
    if kind == "conv":
        layers, width = [], 3
        for out in (64, 128, 256, 256):
            layers += [nn.Conv2d(width, out, 3, stride=2, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
            width = out
        return nn.Sequential(*layers, nn.AvgPool2d(6), nn.Flatten(), nn.Linear(width, 100)), "image"
    if kind == "lstm":
        class Lstm(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(5000, 256)
                self.lstm = nn.LSTM(256, 384, 2, batch_first=True)
                self.out = nn.Linear(384, 100)

            def forward(self, x):
                return self.out(self.lstm(self.words(x))[0][:, -1])
        return Lstm(), "text"
    if kind == "decoder":
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(5000, 512)
                layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True)
                self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
                self.out = nn.Linear(512, 100)

            def forward(self, x):
                return self.out(self.layers(self.words(x)).mean(1))
        return Decoder(), "text"
    sys.exit(f"pause_loop: {kind} is no kind: conv, lstm, decoder")


def torch_steps(kind, ballast):
    import torch
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True, warn_only=True)          # pause.py tells whether unpaused runs repeat
    torch.backends.cudnn.benchmark = False
    if not torch.cuda.is_available():
        progress.absent("there is no GPU that PyTorch can use")
    device = torch.device("cuda")
    torch.set_num_threads(1)
    model, feed = model_of(kind, torch)
    model.to(device).train()
    held = torch.full((max(ballast // 4, 1),), 1.0, device=device)    # noqa: F841: memory that has to be moved
    if kind == "decoder":                      # the fused kernels' backward is not deterministic
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    made = torch.Generator().manual_seed(11)   # data are made on the CPU, step by step
    while True:
        if feed == "image":
            x = torch.randn(32, 3, 96, 96, generator=made)
        else:
            x = torch.randint(0, 5000, (32, 64), generator=made)
        y = torch.randint(0, 100, (32,), generator=made)
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        yield loss.item() + float(held[-1] - 1.0)     # what was moved and brought back is still there


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind")
    parser.add_argument("steps", type=int)
    parser.add_argument("record")
    parser.add_argument("--ballast", type=int, default=0, metavar="BYTES", help="of GPU memory beside the model's")
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="after each step")
    parser.add_argument("--stub", action="store_true")
    args = parser.parse_args()
    told = progress.Progress(steps=args.steps)
    losses = stub_steps() if args.stub else torch_steps(args.kind, args.ballast)
    with open(args.record, "w", encoding="ascii") as record:
        for number in range(1, args.steps + 1):
            record.write(f"{number} {bits(next(losses))}\n")
            record.flush()
            if args.delay:
                time.sleep(args.delay)
            if not told.step():
                break
        record.write(f"end {number}\n")
    return 0 if number == args.steps else 1


if __name__ == "__main__":
    sys.exit(main())
