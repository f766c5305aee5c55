"""Turn measure.py's lines into the tables of data/h200.

  tables.py ROWS.jsonl DATA SITTING [--suffix -2]      writes DATA/profilesSUFFIX.csv and DATA/pairsSUFFIX.csv
"""
import argparse
import csv
import json
import os
import re

PROFILE = ('workload batch precision workers gpu seconds gpu_util mem_util power_w mem_used_bytes gpm_graphics gpm_sm gpm_occupancy gpm_tensor gpm_dram '
           'pcie_tx_mib_s pcie_rx_mib_s steps_per_s cpu_cores host_rss_bytes reserved_bytes params onnx optimizer family sitting steps_rel_std').split()
SIDE = 'workload batch precision workers steps_per_s cpu_cores'.split()
PAIR = ([f'{c}_a' for c in SIDE] + [f'{c}_b' for c in SIDE] + 'mps gpu_util mem_util power_w mem_used_bytes gpm_sm gpm_occupancy gpm_tensor gpm_dram '
        'alone_steps_per_s_a alone_steps_per_s_b sitting pass'.split())

# The first that matches names the family: architectures that one would expect to behave alike, to be held out together.
FAMILIES = [(re.compile(p), f) for p, f in (
    (r'(lstm|gru|bilstm):', 'recurrent'), (r'enc:', 'encoder'), (r'(dlrm|deepfm):', 'dlrm'), (r'ncf:', 'ncf'), (r'wav2vec2:', 'wav2vec2'),
    (r'hf:gpt2|gpt2lm:', 'gpt2'), (r'hf:(bert|distilbert|roberta|electra|albert|mobilebert|deberta)', 'bert'), (r'llama:', 'llama'),
    (r'(s2s|t5|bart|gnmt):', 'seq2seq'), (r'seg:', 'segmentation'), (r'unet:', 'unet'), (r'(det|mask):', 'detection'), (r'ddpm:', 'diffusion'), (r'gan:', 'gan'),
    (r'(gcn|gat|sage):', 'graph'), (r'ds2:', 'deepspeech'), (r'conformer:', 'conformer'), (r'(dqn|ppo):', 'reinforcement'),
    (r'.*:(resnet|resnext|wide_resnet|seresnet|skresnet|res2net|cspresnet)', 'resnet'), (r'.*:mobilenetv4', 'mobilenet_v4'),
    (r'.*:(efficientnet|tf_efficientnet|tinynet)', 'efficientnet'), (r'.*:(googlenet|inception)', 'inception'), (r'.*:(mixer|resmlp|gmlp)', 'mlp'),
    (r'.*:convnext', 'convnext'), (r'.*:mobilevit', 'mobilevit'), (r'.*:maxvit', 'maxvit'), (r'.*:swin', 'swin'), (r'.*:vit_', 'vit'), (r'.*:regnet', 'regnet'),
    (r'.*:mobilenet_v2', 'mobilenet_v2'), (r'.*:mobilenet_v3', 'mobilenet_v3'), (r'.*:ese_vovnet', 'vovnet'), (r'.*:eca_nfnet', 'nfnet'),
    (r'.*:gernet', 'gernet'), (r'.*:convmixer', 'convmixer'), (r'.*:(hrnet|dla|dpn|darknet|selecsls|xception|levit|mnasnet|squeezenet)', None))]


def family(name):
    for pattern, f in FAMILIES:
        m = pattern.match(name)
        if m:
            return f or m.group(1)
    return re.match(r'[a-z]+', name.partition(':')[2]).group(0)


def graph(name, data):
    f = name.replace(':', '_').replace('@', '_') + '.onnx'
    return f if os.path.exists(f'{data}/onnx/{f}') else ''


def known(x):
    return '' if x is None else x


def common(r):
    return dict(gpu_util=r['gpu_util'], mem_util=r['mem_util'], power_w=r['power'], mem_used_bytes=r['mem_used'],
                **{f'gpm_{k}': r['gpm'][k] for k in ('graphics', 'sm', 'occupancy', 'tensor', 'dram')})


def write(path, columns, rows):
    with open(path, 'w', newline='') as f:
        w = csv.DictWriter(f, columns, extrasaction='ignore', lineterminator='\n')
        w.writeheader()
        w.writerows(rows)
    print(path, len(rows))


def main():
    a = argparse.ArgumentParser()
    a.add_argument('rows')
    a.add_argument('data')
    a.add_argument('sitting', type=int)
    a.add_argument('--suffix', default='-2')
    a = a.parse_args()
    gpu, alone, profiles, pairs = '', {}, [], []
    for r in map(json.loads, open(a.rows)):
        gpu = r['about']['gpu'] if 'about' in r else gpu
        if not r.get('ok'):
            continue
        jobs = r['jobs']
        if len(jobs) == 1:
            (name, batch, precision, workers, optimizer), = jobs
            alone[json.dumps(jobs[0])] = r['steps_per_s'][0]
            profiles.append(common(r) | dict(
                workload=name, batch=batch, precision=precision, workers=workers, gpu=gpu, seconds=r['seconds'], pcie_tx_mib_s=r['gpm']['pcie_tx'],
                pcie_rx_mib_s=r['gpm']['pcie_rx'], steps_per_s=r['steps_per_s'][0], cpu_cores=r['cpu_cores'][0], host_rss_bytes=r['rss'][0],
                reserved_bytes=r['reserved'][0], params=r['params'][0], onnx=graph(name, a.data), optimizer=optimizer, family=family(name),
                sitting=a.sitting, steps_rel_std=known(r['steps_rel_std'][0])))
        elif len(jobs) == 2:
            row = common(r) | {'mps': r['mps'], 'sitting': a.sitting, 'pass': r['pass'], 'jobs': jobs}
            for i, x in enumerate('ab'):
                name, batch, precision, workers, _ = jobs[i]
                row |= {f'workload_{x}': name, f'batch_{x}': batch, f'precision_{x}': precision, f'workers_{x}': workers,
                        f'steps_per_s_{x}': r['steps_per_s'][i], f'cpu_cores_{x}': r['cpu_cores'][i]}
            pairs.append(row)
    for row in pairs:
        for i, x in enumerate('ab'):
            row[f'alone_steps_per_s_{x}'] = known(alone.get(json.dumps(row['jobs'][i])))
    profiles.sort(key=lambda p: (p['workload'], p['batch'], p['precision'], p['workers'], p['optimizer']))
    write(f'{a.data}/profiles{a.suffix}.csv', PROFILE, profiles)
    write(f'{a.data}/pairs{a.suffix}.csv', PAIR, pairs)


if __name__ == '__main__':
    main()
