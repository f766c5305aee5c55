#!/usr/bin/env python3
"""A PyTorch training that tells of its steps, and goes on from where it was when its job was moved.

  sharewell submit --name digits -- python3 examples/train_pytorch.py --checkpoint digits.pt
  python3 examples/train_pytorch.py --steps 200                  # by hand: the same, nobody is told

Three lines make it a good neighbour: report_step() after each step lets the server see what neighbours cost it, on_stop() saves the work when it
has to leave, and the checkpoint is loaded at the start. `pip install ./python` brings them; without it they are left out.
"""
import argparse
import os
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("train_pytorch: PyTorch is not installed: pip install torch. zoo/plain.py is a loop that needs nothing.")

try:
    import sharewell
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    import sharewell


def batches(size, device):
    """Pictures of noise with one bright row, whose place is the answer: nothing to download."""
    while True:
        answer = torch.randint(0, 10, (size,), device=device)
        picture = torch.randn(size, 1, 10, 10, device=device)
        picture[torch.arange(size, device=device), 0, answer] += 1.0
        yield picture, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--checkpoint", metavar="FILE", help="to go on from, and to save to when the job has to leave")
    args = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(3200, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    step = 0
    if args.checkpoint and os.path.exists(args.checkpoint):
        kept = torch.load(args.checkpoint, map_location=device)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step = kept["step"]
        print(f"goes on from step {step}", flush=True)

    def save():
        if args.checkpoint:
            kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(kept, args.checkpoint + ".new")
            os.replace(args.checkpoint + ".new", args.checkpoint)   # never half a checkpoint
            print(f"saved at step {step}", flush=True)

    sharewell.on_stop(save)
    for picture, answer in batches(args.batch, device):
        if step >= args.steps:
            break
        loss = F.cross_entropy(model(picture), answer)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        sharewell.report_step(step)
        sharewell.report_metric("loss", loss, step)  # told once a second: the GPU is not waited for in each step
        if step % 200 == 0:
            print(f"step {step}: loss {loss.item():.3f} on {device}", flush=True)
    save()


if __name__ == "__main__":
    main()
