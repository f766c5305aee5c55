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
PROBE = 'python_loops_per_s launches_per_s launch_waits_per_s pipe_trips_per_s copy_bytes_per_s loader_items_per_s sample_s'.split()
SIDE = 'workload batch precision workers steps_per_s cpu_cores'.split()
PAIR = ([f'{c}_a' for c in SIDE] + [f'{c}_b' for c in SIDE] + 'mps gpu_util mem_util power_w mem_used_bytes gpm_sm gpm_occupancy gpm_tensor gpm_dram '
        'alone_steps_per_s_a alone_steps_per_s_b sitting pass'.split())

# The first that matches names the family: architectures that one would expect to behave alike, to be held out together.
FAMILIES = [(re.compile(p), f) for p, f in (
    (r'(mamba2|s4d|retnet):|lm:(mamba|rwkv)', 'state-space'), (r'(pointnet2?|dgcnn|pct):', 'points'), (r'video:', 'video'),
    (r'(tcn|nbeats|wavenet):', 'series'), (r'lm:(mixtral|qwen2moe)', 'moe'), (r'whisper:', 'whisper'), (r'clip:', 'clip'), (r'vae:', 'vae'),
    (r'edsr:', 'enlarging'), (r'mlp:', 'perceptron'), (r'text:(convbert|squeezebert|fnet|nystromformer|funnel|xlnet)', 'bert-kin'), (r'text:', 'bert'),
    (r'lm:(opt|gptneox|bloom|falcon|gptneo|gptj|codegen|mpt|biogpt|xglm)-|gpt:', 'gpt2'), (r'lm:', 'llama'), (r'ast:', 'vit'), (r'segformer:', 'segmentation'),
    (r'(gin|egat|mpnn):', 'graph'), (r'dit:', 'diffusion'), (r'(dcn|autoint|wide):|(dlrm|deepfm)-host:', 'dlrm'), (r'towers:', 'ncf'),
    (r'sasrec:', 'encoder'), (r'(sac|impala):', 'reinforcement'), (r'boxes:', 'detection'), (r'(tr|t5e):', 'seq2seq'), (r'(wave|d2v):', 'wav2vec2'),
    (r'.*:(darknet|cspdarknet|cs3darknet|selecsls|gernet)', 'darknet'), (r'.*:(convmixer|inception_next|mambaout|rdnet)', 'convnext'),
    (r'.*:(fbnet|hardcorenas|spnasnet|semnasnet)', 'mnasnet'), (r'.*:(caformer|convformer)', 'poolformer'), (r'.*:(beit|deit|eva02)', 'vit'),
    (r'.*:(edgenext|efficientformer|pvt|visformer|coat|convit|nest|fastvit|repvit|davit|gcvit|swiftformer|nextvit|efficientvit|tiny_vit|crossvit|tnt|'
     r'volo|focalnet|mvitv2|hiera|sequencer)', 'hybrid'), (r'.*:mobilenetv2', 'mobilenet_v2'), (r'.*:mobilenetv3', 'mobilenet_v3'), (r'.*:mobileone', 'repvgg'),
    (r'.*:(resnest|ecaresnet|gcresnet|seresnext)', 'resnet'), (r'.*:(dm_nfnet|nf_|nfnet)', 'nfnet'), (r'.*:vovnet', 'vovnet'), (r'.*:ghostnet', 'ghostnet'),
    (r'.*:poolformer', 'poolformer'), (r'.*:gmixer', 'mlp'), (r'.*:rexnet', 'rexnet'), (r'.*:maxxvit', 'maxvit'),
    (r'(lstm|gru|bilstm):', 'recurrent'), (r'enc:', 'encoder'), (r'(dlrm|deepfm):', 'dlrm'), (r'ncf:', 'ncf'), (r'wav2vec2:', 'wav2vec2'),
    (r'hf:gpt2|gpt2lm:', 'gpt2'), (r'hf:(bert|distilbert|roberta|electra|albert|mobilebert|deberta)', 'bert'), (r'llama:', 'llama'),
    (r'(s2s|t5|bart|gnmt):', 'seq2seq'), (r'seg:', 'segmentation'), (r'unet:', 'unet'), (r'(det|mask):', 'detection'), (r'ddpm:', 'diffusion'), (r'gan:', 'gan'),
    (r'(gcn|gat|sage):', 'graph'), (r'ds2:', 'deepspeech'), (r'conformer:', 'conformer'), (r'(dqn|ppo):', 'reinforcement'),
    (r'.*:(resnet|resnext|wide_resnet|seresnet|skresnet|res2net|cspresnet)', 'resnet'), (r'.*:mobilenetv4', 'mobilenet_v4'),
    (r'.*:(efficientnet|tf_efficientnet|tinynet)', 'efficientnet'), (r'.*:(googlenet|inception)', 'inception'), (r'.*:(mixer|resmlp|gmlp)', 'mlp'),
    (r'.*:convnext', 'convnext'), (r'.*:mobilevit', 'mobilevit'), (r'.*:maxvit', 'maxvit'), (r'.*:swin', 'swin'), (r'.*:vit_', 'vit'), (r'.*:regnet', 'regnet'),
    (r'.*:mobilenet_v2', 'mobilenet_v2'), (r'.*:mobilenet_v3', 'mobilenet_v3'), (r'.*:ese_vovnet', 'vovnet'), (r'.*:eca_nfnet', 'nfnet'),
    (r'.*:(hrnet|dla|dpn|xception|levit|mnasnet|squeezenet)', None))]


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
    return dict(gpu_util=r['gpu_util'], mem_util=r['mem_util'], power_w=r['power'], mem_used_bytes=known(r['mem_used']),
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
                sitting=a.sitting, steps_rel_std=known(r['steps_rel_std'][0]),
                **{k: known((r.get('probe') or {}).get(k)) for k in PROBE}))
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
    names = PROFILE + [name for name in PROBE if any(p[name] != '' for p in profiles)]
    profiles.sort(key=lambda p: (p['workload'], p['batch'], p['precision'], p['workers'], p['optimizer']))
    write(f'{a.data}/profiles{a.suffix}.csv', names, profiles)
    if pairs:
        write(f'{a.data}/pairs{a.suffix}.csv', PAIR, pairs)


if __name__ == '__main__':
    main()
