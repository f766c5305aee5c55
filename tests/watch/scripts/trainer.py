"""A trainer class with callbacks, a schedule, clipped gradients and bf16 autocast, as larger programs have it."""
import argparse
import hashlib
import io

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr, steps):
        self.model, self.steps = model, steps
        decay = [p for p in model.parameters() if p.dim() > 1]
        rest = [p for p in model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.1}, {'params': rest, 'weight_decay': 0.0}], lr=lr)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda i: min(1.0, (i + 1) / 5))
        self.log = []

    def training_step(self, batch):
        x, y = batch
        with torch.autocast('cpu', dtype=torch.bfloat16):
            out = self.model(x)
            return nn.functional.cross_entropy(out.flatten(0, 1).float(), y.flatten())

    def fit(self, batches):
        self.model.train()
        for _, batch in zip(range(self.steps), batches):
            loss = self.training_step(batch)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.schedule.step()
            self.log.append((loss.item(), float(norm), self.schedule.get_last_lr()[0]))


class Tagger(nn.Module):
    def __init__(self, words=100, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True)
        self.head = nn.Linear(width, 12)

    def forward(self, x):
        return self.head(self.layer(self.words(x)))


def batches():
    while True:
        yield torch.randint(0, 100, (4, 16)), torch.randint(0, 12, (4, 16))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(2)
    trainer = Trainer(Tagger(), 1e-3, args.steps)
    trainer.fit(batches())
    for loss, norm, rate in trainer.log:
        print(loss.hex(), norm.hex(), rate)
    for value in trainer.optimizer.state_dict()['state'].values():
        print(sorted(value), hashlib.sha256(value['exp_avg'].numpy().tobytes()).hexdigest()[:16])
    torch.save(trainer.optimizer.state_dict(), io.BytesIO())


if __name__ == '__main__':
    main()
