"""Fine-tunes a BERT classifier, made from a configuration (nothing is downloaded), in bf16 with AdamW and a warm-up of the rate."""
import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

from meter import Meter

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=12)
parser.add_argument("--hidden", type=int, default=768)
parser.add_argument("--length", type=int, default=128)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--steps", type=int, default=420)
parser.add_argument("--workers", type=int, default=1)
parser.add_argument("--lr", type=float, default=5e-5)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def train(model, loader, optimizer, scheduler, steps, device):
    meter = Meter()
    while True:
        for tokens, mask, labels in loader:
            with torch.autocast(device, dtype=torch.bfloat16):
                out = model(input_ids=tokens.to(device), attention_mask=mask.to(device), labels=labels.to(device))
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            meter.step()
            if meter.steps % 50 == 0:
                print(f"{meter.steps}/{steps} loss={out.loss.item():.3f}", flush=True)
            if meter.steps == steps:
                return meter


if __name__ == "__main__":
    args = parser.parse_args()
    config = BertConfig(num_hidden_layers=args.layers, hidden_size=args.hidden, num_attention_heads=args.hidden // 64,
                        intermediate_size=4 * args.hidden, num_labels=2)
    model = BertForSequenceClassification(config).to(args.device).train()
    count = 8192
    data = TensorDataset(torch.randint(1000, 30000, (count, args.length)), torch.ones(count, args.length, dtype=torch.long),
                         torch.randint(0, 2, (count,)))
    loader = DataLoader(data, batch_size=args.batch, shuffle=True, num_workers=args.workers, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(optimizer, 50, args.steps)
    train(model, loader, optimizer, scheduler, args.steps, args.device).report()
