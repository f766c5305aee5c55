#!/usr/bin/env python3
"""Reinforcement learning: Q-learning from a replay buffer with a target network, and the clipped policy gradient.

  python3 zoo/reinforce.py --model dqn --batch 128 --workers 4
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Task


class Q(nn.Module):
    """The Atari network of DQN, on four stacked frames of bytes."""

    def __init__(self, actions=6):
        super().__init__()
        self.m = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
                               nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions))

    def forward(self, x):
        return self.m(x.float() / 255)


class ActorCritic(nn.Module):
    def __init__(self, hid=256, width=64, actions=8):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(width, hid), nn.Tanh(), nn.Linear(hid, hid), nn.Tanh())
        self.o = nn.Linear(hid, actions + 1)

    def forward(self, x):
        return self.o(self.b(x))


def clipped(o, t):
    a, adv, ret, old = t.unbind(1)
    p = o[:, :-1].float().log_softmax(1)
    r = (p.gather(1, a.long().unsqueeze(1)).squeeze(1) - old).exp()
    entropy = -(p.exp() * p).sum(1).mean()
    return -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean() + 0.5 * F.mse_loss(o[:, -1].float(), ret) - 0.01 * entropy


def task(kind, rest, batch):
    if kind == 'dqn':
        model, target = Q(), Q().requires_grad_(False)
        count = [0]

        def bellman(model, b):
            s, s2, a, r = b
            with torch.no_grad():
                if count[0] % 100 == 0:
                    target.load_state_dict(model.state_dict())
                want = r.float() + 0.99 * target(s2).max(1)[0].float()
            count[0] += 1
            return F.smooth_l1_loss(model(s).gather(1, a.unsqueeze(1)).squeeze(1).float(), want)
        return Task(model, (torch.zeros(batch, 4, 84, 84, dtype=torch.uint8),), feeds.Replay(), bellman, side=(target,))
    if kind == 'ppo':
        h = int(rest)
        return Task(ActorCritic(h), (torch.randn(batch, 64),), feeds.Rollouts(64), common.on(clipped))
    raise AssertionError(kind)


KINDS = ('dqn', 'ppo')
MODELS = {
    'dqn': ('dqn:atari', 128), 'ppo': ('ppo:256', 2048)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
