"""Trains a GPT-2 from a configuration on made-up tokens: bf16, gradients accumulated over two batches and clipped, cosine rate."""
import argparse

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

from meter import Meter


class Tokens(Dataset):
    def __init__(self, words, length):
        self.text, self.length = torch.randint(0, words, (1_000_000,)), length

    def __len__(self):
        return len(self.text) // self.length

    def __getitem__(self, i):
        return self.text[i * self.length:(i + 1) * self.length]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(1)
    config = GPT2Config(n_layer=args.layers, n_embd=args.hidden, n_head=args.hidden // 64, n_positions=args.length)
    model = GPT2LMHeadModel(config).to(args.device)
    loader = DataLoader(Tokens(config.vocab_size, args.length), args.batch, shuffle=True, num_workers=args.workers, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    meter, seen = Meter(), 0
    while meter.steps < args.steps:
        for tokens in loader:
            tokens = tokens.to(args.device, non_blocking=True)
            with torch.autocast(device_type=args.device, dtype=torch.bfloat16):
                loss = model(tokens, labels=tokens).loss / args.accumulate
            loss.backward()
            seen += 1
            if seen % args.accumulate:
                continue
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            meter.step()
            if meter.steps % 20 == 0:
                print(f"iter {meter.steps}: loss {loss.item() * args.accumulate:.4f}", flush=True)
            if meter.steps >= args.steps:
                break
    meter.report()


if __name__ == "__main__":
    main()
