"""A word-level LSTM language model, in the style of PyTorch's own example: one long text cut into columns, the state carried on, fp32."""
import argparse

import torch
from torch import nn

from meter import Meter

parser = argparse.ArgumentParser()
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--words", type=int, default=10_000)
parser.add_argument("--length", type=int, default=200)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--steps", type=int, default=800)
parser.add_argument("--workers", type=int, default=0, help="not used: the text is on the device")
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
device = torch.device(args.device)


class LanguageModel(nn.Module):
    def __init__(self, words, hidden, layers):
        super().__init__()
        self.embed = nn.Embedding(words, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers, dropout=0.2 if layers > 1 else 0)
        self.decode = nn.Linear(hidden, words)

    def forward(self, tokens, state):
        out, state = self.lstm(self.embed(tokens), state)
        return self.decode(out), state


def detach(state):
    return tuple(part.detach() for part in state)


text = torch.randint(0, args.words, (1_000_000 // args.batch, args.batch)).to(device)  # columns of a text
model = LanguageModel(args.words, args.hidden, args.layers).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
meter = Meter()
while meter.steps < args.steps:
    state = tuple(torch.zeros(args.layers, args.batch, args.hidden, device=device) for _ in range(2))
    for i in range(0, len(text) - args.length - 1, args.length):
        tokens, targets = text[i:i + args.length], text[i + 1:i + 1 + args.length].reshape(-1)
        model.zero_grad()
        output, state = model(tokens, detach(state))
        loss = nn.functional.cross_entropy(output.view(-1, args.words), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        meter.step()
        if meter.steps % 200 == 0:
            print(f"| {meter.steps} batches | loss {loss.item():5.2f}", flush=True)
        if meter.steps >= args.steps:
            break
meter.report()
