#!/usr/bin/env python3
"""The plan of groups.py: loops of many short kernels beside loops of long, wide ones, which have all SMs and fewer.

  groups_plan.py [FIRST] > plan.json       rounds FIRST (1) and later
"""
import itertools
import json
import sys

ROUNDS = [                                     # victims, then hogs: name, batch, precision, workers
    ([('lstm:512x2', 32, 'fp32', 1), ('hf:bert@128', 16, 'bf16', 1), ('tv:mobilenet_v3_small@224', 128, 'bf16', 4), ('llama:512x8@256', 8, 'bf16', 1),
      ('enc:512x6', 32, 'bf16', 1), ('ds2:512x3@300', 16, 'bf16', 2), ('gat:128x3@207', 32, 'fp32', 2)],
     [('tv:resnet50@224', 64, 'fp32', 4), ('gan:64@64', 128, 'fp32', 4), ('timm:ese_vovnet19b_dw@224', 64, 'bf16', 4)]),
    ([('bilstm:256x2', 32, 'fp32', 1), ('hf:electra@128', 32, 'bf16', 1), ('timm:pit_ti_224@224', 64, 'bf16', 4), ('gpt2lm:768x6@128', 8, 'bf16', 1),
      ('conformer:144x8@400', 16, 'bf16', 2), ('dqn:atari', 128, 'fp32', 4), ('wav2vec2:32000', 8, 'bf16', 2)],
     [('tv:vgg16@224', 64, 'bf16', 4), ('tv:resnet18@224', 64, 'fp32', 4), ('deepfm:1e7', 2048, 'fp32', 4)]),
    ([('gru:512x2', 32, 'fp32', 1), ('hf:distilbert@128', 16, 'bf16', 1), ('bart:512x4@64', 16, 'bf16', 1), ('ddpm:64@32', 64, 'bf16', 2),
      ('seg:lraspp_mobilenet_v3_large@256', 16, 'bf16', 4), ('timm:swin_tiny_patch4_window7_224@224', 16, 'bf16', 4), ('sage:256x3@207', 64, 'bf16', 2)],
     [('tv:wide_resnet50_2@224', 32, 'bf16', 4), ('unet:32@128', 32, 'bf16', 4), ('tv:vit_b_16@224', 64, 'bf16', 4)]),
    ([('mamba2:512x8@256', 16, 'bf16', 1), ('whisper:384x4@600', 16, 'bf16', 2), ('pointnet2:64@1024', 16, 'fp32', 4), ('lm:mixtral-512x4@128', 8, 'bf16', 1),
      ('dit:384x12@64', 32, 'bf16', 4), ('text:convbert@128', 16, 'bf16', 1), ('impala:32', 64, 'fp32', 4)],
     [('edsr:128x8@64', 8, 'fp32', 4), ('dgcnn:20@1024', 16, 'bf16', 4), ('video:r3d_18@16x112', 8, 'bf16', 4)]),
    ([('s4d:256x6@512', 16, 'bf16', 1), ('clip:384x4@160', 64, 'tf32', 6), ('mpnn:128x3@1000', 16, 'bf16', 2), ('lm:gptneox-512x8@256', 8, 'bf16', 1),
      ('ds2:384x4@400', 8, 'fp32', 1), ('tr:m2m100-512x4@64', 16, 'fp32', 1), ('wavenet:64x20@4000', 4, 'bf16', 1)],
     [('vae:128@128', 16, 'fp32', 4), ('tcn:128x8@512', 64, 'fp32', 2), ('text:fnet@256', 16, 'tf32', 1)]),
]
SHARES = (80, 60, 40)


def round_of(victims, hogs):
    jobs = {f'v{i}': [*v, 100] for i, v in enumerate(victims)}
    jobs |= {f'h{i}-{p}': [*h, p] for i, h in enumerate(hogs) for p in (100, *SHARES)}
    groups = []
    for (i, _), (j, _) in itertools.product(enumerate(victims), enumerate(hogs)):      # a pair's shares one right after the other
        groups += [[f'v{i}', f'h{j}-100'], [f'v{i}', f'h{j}-{SHARES[(i + j) % 3]}']]
    groups += [[f'h{i}-{p}', f'h{j}-80'] for (i, j), p in zip(itertools.combinations(range(len(hogs)), 2), (100, 80, 60))]
    for n in range(7):                                                                 # triples
        a, b, h = n, (n + 2) % len(victims), n % len(hogs)
        groups += [[f'v{a}', f'v{b}', f'h{h}-100'], [f'v{a}', f'v{b}', f'h{h}-{SHARES[n % 2]}']]
    groups += [[f'v{n}', f'v{(n + 3) % len(victims)}'] for n in range(4)]
    return {'jobs': jobs, 'groups': groups}


if __name__ == '__main__':
    print(json.dumps({'rounds': [round_of(*r) for r in ROUNDS[int(sys.argv[1] if len(sys.argv) > 1 else 1) - 1:]]}, indent=1))
