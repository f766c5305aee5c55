"""Whether `sharewell profile` says what an independent sampler says: agreement.py sample | compare | table

  agreement.py sample REF.jsonl                    samples the GPU as measure.py does, until it is ended; needs pynvml
  agreement.py compare REF.jsonl PROFILE.json...   > data/h200/agreement.csv
  agreement.py table data/h200/agreement.csv       the table of docs/gpu.md

While `sample` runs, profile the loops one after the other. What a loop prints, a summary as its last line, goes beside its profile:

  sharewell profile --interval 0.5s --for 4s --out p/resnet50.json -- python3 zoo/vision.py --model resnet50 ... > p/resnet50.txt
"""
import csv
import json
import os
import signal
import sys
import time

FIGURES = [('gpu_util', 'GPU busy, %'), ('gpm_sm', 'SM, %'), ('gpm_dram', 'DRAM, %'), ('mem_used_bytes', 'GPU memory, MB'), ('steps_per_s', 'steps/s')]
GPM = {'sm': 2, 'dram': 10}


def sample(path):
    try:
        import pynvml as nv
    except ImportError:
        sys.exit('agreement: needs pynvml: pip install nvidia-ml-py')
    nv.nvmlInit()
    gpu = nv.nvmlDeviceGetHandleByIndex(0)

    def take():
        s = nv.nvmlGpmSampleAlloc()
        nv.nvmlGpmSampleGet(gpu, s)
        return s, time.time()

    def between(a, b):
        m = nv.c_nvmlGpmMetricsGet_t()
        m.version, m.numMetrics, m.sample1, m.sample2 = nv.NVML_GPM_METRICS_GET_VERSION, len(GPM), a, b
        for i, k in enumerate(GPM.values()):
            m.metrics[i].metricId = k
        nv.nvmlGpmMetricsGet(m)
        nv.nvmlGpmSampleFree(a)
        return {n: round(m.metrics[i].value, 3) for i, n in enumerate(GPM)}

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(path, 'w', buffering=1, encoding='ascii') as out:
        last, since = take()
        for n in range(1, sys.maxsize):
            row = {'t': time.time(), 'gpu': nv.nvmlDeviceGetUtilizationRates(gpu).gpu, 'mem': nv.nvmlDeviceGetMemoryInfo(gpu).used}
            if n % 5 == 0:
                s, t = take()
                row |= {'gpm': between(last, s), 'since': since}
                last, since = s, t
            out.write(json.dumps(row) + '\n')
            time.sleep(0.1)


def flag(command, name):
    return command[command.index(name) + 1]


def loop_rate(path):
    """What the loop itself counted over all its steps but the first eight."""
    with open(os.path.splitext(path)[0] + '.txt', encoding='utf-8') as f:
        return json.loads(f.read().splitlines()[-1])['steps_per_second']


def row_of(path, samples):
    with open(path, encoding='utf-8') as f:
        p = json.load(f)['profiles'][0]
    begin = p['created_unix_ms'] / 1e3 + p['warmup_seconds']
    end = begin + p['window_seconds']
    here = [s for s in samples if begin < s['t'] <= end]
    # The loop is stopped when the window ends: an interval that reaches beyond it holds the stop, too.
    gpm = [s for s in here if s.get('since', 0) >= begin]
    if not gpm:
        sys.exit(f'agreement: {path}: no GPM interval of the reference lies within its window of {end - begin:.1f} s '
                 f'({len(here)} samples do): run `sample` on a GPU with GPM (Hopper or later) all the while, and profile for 4 s or more')
    length = sum(s['t'] - s['since'] for s in gpm)
    mean = lambda name: sum(s['gpm'][name] * (s['t'] - s['since']) for s in gpm) / length
    # The call that the reference makes counts what the driver keeps for itself; ours leaves it out.
    reserved = next(f['mean'] for f in p['figures'] if f['metric'] == 'gpu_memory_reserved_bytes')
    ours = dict(gpu_util=100 * p['gpu_util'], gpm_sm=100 * p['sm_ratio'], gpm_dram=100 * p['dram_ratio'],
                mem_used_bytes=p['gpu_memory_bytes'] + reserved, steps_per_s=p['steps_per_second'])
    theirs = dict(gpu_util=sum(s['gpu'] for s in here) / len(here), gpm_sm=mean('sm'), gpm_dram=mean('dram'),
                  mem_used_bytes=max(s['mem'] for s in here), steps_per_s=loop_rate(path))
    row = dict(workload=p['workload'], batch=flag(p['command'], '--batch'), precision=flag(p['command'], '--precision'),
               workers=flag(p['command'], '--workers'), seconds=round(p['window_seconds'], 2))
    for name, _ in FIGURES:
        digits = 0 if name == 'mem_used_bytes' else 3
        row |= {name: f'{ours[name]:.{digits}f}', 'reference_' + name: f'{theirs[name]:.{digits}f}'}
    return row


def compare(reference, profiles):
    with open(reference, encoding='ascii') as f:
        samples = [json.loads(line) for line in f if line.endswith('\n')]
    rows = [row_of(path, samples) for path in profiles]
    out = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator='\n')
    out.writeheader()
    out.writerows(rows)


def table(path):
    with open(path, encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    print('| | ' + ' | '.join(title for _, title in FIGURES) + ' |')
    print('|---' * (len(FIGURES) + 1) + '|')
    most = 0
    for r in rows:
        cells = []
        for name, _ in FIGURES:
            ours, theirs = float(r[name]), float(r['reference_' + name])
            off = 100 * (ours / theirs - 1)
            most = max(most, abs(off))
            show = '{:,.0f}'.format if name == 'mem_used_bytes' else '{:.2f}'.format
            scale = 1e6 if name == 'mem_used_bytes' else 1
            cells.append(f'{show(ours / scale)} / {show(theirs / scale)}: {off:+.1f} %'.replace('-', '−'))
        print(f'| `{r["workload"]}` | ' + ' | '.join(cells) + ' |')
    print(f'\nFurthest apart: {most:.1f} %.')


if __name__ == '__main__':
    what, args = sys.argv[1] if len(sys.argv) > 2 else '', sys.argv[2:]
    if what == 'sample':
        sample(args[0])
    elif what == 'compare' and len(args) > 1:
        compare(args[0], args[1:])
    elif what == 'table':
        table(args[0])
    else:
        sys.exit(__doc__)
