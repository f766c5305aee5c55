#!/usr/bin/env python3
"""Reinforcement learning: Q-learning from a replay buffer with a target network, the clipped policy gradient, and the soft actor-critic.

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


class SoftActor(nn.Module):
    """An actor and two critics. Its forward is the actor followed by the critics."""

    def __init__(self, hid=256, width=64, actions=8):
        super().__init__()
        three = lambda i, o: nn.Sequential(nn.Linear(i, hid), nn.ReLU(), nn.Linear(hid, hid), nn.ReLU(), nn.Linear(hid, o))
        self.actor, self.critics = three(width, 2 * actions), nn.ModuleList(three(width + actions, 1) for _ in range(2))

    def act(self, s):
        mean, spread = self.actor(s).float().chunk(2, 1)
        spread = spread.clamp(-5, 2)
        noise = torch.randn_like(mean)
        a = torch.tanh(mean + noise * spread.exp())
        return a, (-0.5 * noise ** 2 - spread - torch.log(1 - a ** 2 + 1e-6)).sum(1, keepdim=True)

    def judge(self, s, a):
        x = torch.cat([s, a], 1)
        return torch.cat([c(x) for c in self.critics], 1)

    def forward(self, s):
        return self.judge(s, torch.tanh(self.actor(s).chunk(2, 1)[0]))


class SoftStep(nn.Module):
    """What a step of the soft actor-critic computes. `target`, which is not trained, also stands for the actor where it runs without gradients."""

    def __init__(self, model, target):
        super().__init__()
        self.model, self.target = model, target

    def forward(self, s, a, r, s2):
        a2, p2 = self.target.act(s2)
        want = r + 0.99 * (self.target.judge(s2, a2).amin(1, keepdim=True) - 0.2 * p2)
        mine, p = self.model.act(s)
        return want, self.model.judge(s, a), 0.2 * p - self.model.judge(s, mine).amin(1, keepdim=True)


class Pair(nn.Module):
    """What a step of Q-learning computes: the model on a state, the target on the next."""

    def __init__(self, model, target):
        super().__init__()
        self.model, self.target = model, target

    def forward(self, s, s2):
        return self.model(s), self.target(s2).amax(1)


class Impala(nn.Module):
    """The residual network of IMPALA on four stacked frames of bytes; Q-values."""

    def __init__(self, width=32, actions=6):
        super().__init__()
        w = [4, width, 2 * width, 2 * width]
        conv = lambda a, b: nn.Conv2d(a, b, 3, padding=1)
        self.c = nn.ModuleList(nn.Sequential(conv(a, b), nn.MaxPool2d(3, 2, 1)) for a, b in zip(w, w[1:]))
        self.r = nn.ModuleList(nn.Sequential(nn.ReLU(), conv(b, b), nn.ReLU(), conv(b, b)) for b in w[1:] for _ in range(2))
        self.o = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(w[-1] * 121, 512), nn.ReLU(), nn.Linear(512, actions))

    def forward(self, x):
        x = x.float() / 255
        for i, c in enumerate(self.c):
            x = c(x)
            for r in self.r[2 * i:2 * i + 2]:
                x = x + r(x)
        return self.o(x)


def clipped(o, t):
    a, adv, ret, old = t.unbind(1)
    p = o[:, :-1].float().log_softmax(1)
    r = (p.gather(1, a.long().unsqueeze(1)).squeeze(1) - old).exp()
    entropy = -(p.exp() * p).sum(1).mean()
    return -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean() + 0.5 * F.mse_loss(o[:, -1].float(), ret) - 0.01 * entropy


def task(kind, rest, batch):
    if kind == 'sac':
        model, target = SoftActor(int(rest)), SoftActor(int(rest)).requires_grad_(False)

        def soft(model, optimizers, b, autocast):
            s, a, r, s2 = b
            with autocast():
                with torch.no_grad():
                    a2, p2 = model.act(s2)
                    want = r + 0.99 * (target.judge(s2, a2).float().amin(1, keepdim=True) - 0.2 * p2)
                loss = F.mse_loss(model.judge(s, a).float(), want.expand(-1, 2))
            optimizers[1].zero_grad(set_to_none=True)
            loss.backward()
            optimizers[1].step()
            with autocast():
                mine, p = model.act(s)
                gain = (0.2 * p - model.judge(s, mine).float().amin(1, keepdim=True)).mean()
            optimizers[0].zero_grad(set_to_none=True)
            gain.backward()
            optimizers[0].step()
            with torch.no_grad():
                for old, new in zip(target.parameters(), model.parameters()):
                    old.lerp_(new, 0.005)
            return loss
        s = torch.randn(batch, 64)
        whole = SoftStep(model, target), (s, torch.rand(batch, 8), torch.randn(batch, 1), torch.randn(batch, 64))
        return Task(model, (s,), feeds.Moves(64, 8), None, (model.actor, model.critics), soft, side=(target,), whole=whole)
    if kind in ('dqn', 'impala'):
        make = Q if kind == 'dqn' else lambda: Impala(int(rest))
        model, target = make(), make().requires_grad_(False)
        count = [0]

        def bellman(model, b):
            s, s2, a, r = b
            with torch.no_grad():
                if count[0] % 100 == 0:
                    target.load_state_dict(model.state_dict())
                want = r.float() + 0.99 * target(s2).max(1)[0].float()
            count[0] += 1
            return F.smooth_l1_loss(model(s).gather(1, a.unsqueeze(1)).squeeze(1).float(), want)
        frames = lambda: torch.zeros(batch, 4, 84, 84, dtype=torch.uint8)
        return Task(model, (frames(),), feeds.Replay(), bellman, side=(target,), whole=(Pair(model, target), (frames(), frames())))
    if kind == 'ppo':
        h = int(rest)
        return Task(ActorCritic(h), (torch.randn(batch, 64),), feeds.Rollouts(64), common.on(clipped))
    raise AssertionError(kind)


KINDS = ('dqn', 'ppo', 'sac', 'impala')
MODELS = {
    'dqn': ('dqn:atari', 128), 'ppo': ('ppo:256', 2048), 'sac': ('sac:256', 256), 'impala': ('impala:32', 64)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
