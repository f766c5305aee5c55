#!/usr/bin/env python3
"""Classifiers of video clips: torchvision's 3-D convolutions and video transformers.

  python3 zoo/video.py --model r3d --batch 8 --precision bf16 --workers 4
"""
import common
import feeds
import torch
from common import Task


def task(kind, rest, batch):
    if kind == 'video':
        import torchvision
        m, _, shape = rest.partition('@')
        frames, size = common.two(shape)
        model = getattr(torchvision.models.video, m)(weights=None, num_classes=400)
        return Task(model, (torch.randn(batch, 3, frames, size, size),), feeds.Clips(frames, size), common.classify)
    raise AssertionError(kind)


KINDS = ('video',)
MODELS = {
    'r3d': ('video:r3d_18@16x112', 8), 'r2plus1d': ('video:r2plus1d_18@16x112', 8), 'video-swin': ('video:swin3d_t@16x112', 4)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
