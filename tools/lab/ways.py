#!/usr/bin/env python3
"""What the way a loop is written changes (written.py): each loop alone, with its told step, and what was measured of it from outside.

  ways.py plan > PLAN.json [--repeats | --inference]
  ways.py groups > PLAN.json                             for groups.py: such loops together, with shares of the SMs
  ways.py measure PLAN.json OUT.jsonl [--seconds S] [--group 6]
  ways.py table OUT.jsonl DATA SITTING [--suffix=-S]    DATA/ways.csv and DATA/ways-told.jsonl.gz

A plan's entry is {"jobs": [["NAME#WAY", batch, precision, workers, "adamw"]], "pass": 1}. Loops of a group are warmed up and then measured one after the
other, as repeat.py does it; those that compile do that all at once. GPU memory is what becomes free when the loop ends.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
import argparse
import csv
import gzip
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOOPS = [('tv:resnet50@224', 64, 4), ('tv:mobilenet_v2@224', 64, 4), ('tv:convnext_tiny@224', 64, 4), ('unet:32@256', 8, 2),
         ('timm:vit_small_patch16_224@224', 64, 4), ('hf:bert@128', 32, 1), ('gpt2lm:768x6@128', 8, 1), ('wav2vec2:32000', 8, 2)]
WAYS = ('plain', 'compile', 'channels_last', 'checkpointing', 'lora', 'accumulate', 'fused', 'for_loop', 'fp16', 'cuda_graphs')    # of written.py
MORE = [('tv:swin_t@224', 32, 4), ('llama:512x8@256', 8, 1)]
IMAGES = {name for name, _, _ in LOOPS[:4]}
COLUMNS = ('workload batch precision workers optimizer way gpu seconds gpu_util power_w mem_used_bytes gpm_sm gpm_occupancy gpm_tensor gpm_dram steps_per_s '
           'steps_rel_std cpu_cores host_rss_bytes reserved_bytes params sitting python_loops_per_s launches_per_s launch_waits_per_s pipe_trips_per_s '
           'copy_bytes_per_s loader_items_per_s').split()


def plan(args):
    entry = lambda loop, way, n=1: {'jobs': [[f'{loop[0]}#{way}', loop[1], 'bf16', loop[2], 'adamw']], 'pass': n}
    if args.inference:
        return [entry(loop, 'inference') for loop in LOOPS + MORE]
    entries = [entry(loop, way) for loop in LOOPS for way in WAYS if way != 'channels_last' or loop[0] in IMAGES]
    # Every third again: three of each loop, other ways for each.
    return [e | {'pass': 2} for i, e in enumerate(entries) if i % 3 == 0] if args.repeats else entries


def groups():
    """Each loop is in five groups: pairs with all SMs and with shares, and triples."""
    ways = ['compile', 'channels_last', 'checkpointing', 'lora', 'lora', 'compile', 'accumulate', 'fp16']
    victims = [[f'{name}#{way}', batch, 'bf16', workers, 100] for (name, batch, workers), way in zip(LOOPS, ways)][4:]
    hogs = [[f'{name}#{way}', batch, 'bf16', workers] for (name, batch, workers), way in zip(LOOPS, ways)][:4]
    jobs = {f'v{i}': v for i, v in enumerate(victims)} | {f'h{i}-{p}': [*h, p] for i, h in enumerate(hogs) for p in (100, 60)}
    found = [[f'v{i}', f'h{(i + k) % 4}-{p}'] for i in range(4) for k in (0, 1) for p in (100, 60)]
    return {'rounds': [{'jobs': jobs, 'groups': found + [[f'v{i}', f'v{(i + 1) % 4}', f'h{i}-{(100, 60)[i % 2]}'] for i in range(4)]}]}


def measure(args):
    sys.path[:0] = [str(ROOT / 'python' / 'watcher'), str(ROOT / 'tests' / 'watch')]
    import measure as m
    import probe
    import repeat
    import told
    import torch
    import workloads

    class Loop(repeat.Held):
        def build(self):
            self.pipe = f'/tmp/ways-{os.getpid()}'
            open(self.pipe, 'w', encoding='ascii').close()
            if not self.w[0].endswith('#inference'):
                os.environ['SHAREWELL_WATCH_PIPE'] = self.pipe
                import sharewell_watch
                sharewell_watch.start(torch)
            return super().build()

        def told(self):
            path = f'/tmp/ways-{self.p.pid}'
            heard = told.heard(pathlib.Path(path).read_bytes()) if os.path.exists(path) else None
            if os.path.exists(path):
                os.unlink(path)
            return (heard.documents[0] if heard.documents else None, heard.off) if heard else (None, [])

    began = time.monotonic()
    workloads.preload()
    probe.prepare()
    gpu = m.Gpu()
    about = gpu.about()
    key = lambda e: json.dumps([e['jobs'], e.get('pass', 1)])
    have = {key(e) for e in map(json.loads, open(args.out)) if e.get('ok')} if os.path.exists(args.out) else set()
    todo = [e for e in json.load(open(args.plan)) if key(e) not in have]
    compiled = [e for e in todo if e['jobs'][0][0].endswith('#compile')]
    others = [e for e in todo if not e['jobs'][0][0].endswith('#compile')]
    groups = [others[i:i + args.group] for i in range(0, len(others), args.group)] + ([compiled] if compiled else [])
    print('ready', round(time.monotonic() - began, 1), about, 'to do', len(todo), flush=True)
    build = lambda group: [Loop(e['jobs'][0]) for e in group]
    used = lambda: m.nv.nvmlDeviceGetMemoryInfo(gpu.h).used
    built, last = build(groups[0]) if groups else [], 0
    with open(args.out, 'a') as out:
        out.write(json.dumps({'about': about}) + '\n')
        for number, group in enumerate(groups):
            start = time.monotonic()
            if start - began > args.seconds - 1.2 * last:
                print('time is up', flush=True)
                break
            jobs = built
            for job in jobs:
                job.start.set()
            built = build(groups[number + 1]) if number + 1 < len(groups) else []
            if group is compiled:                          # they compile on the CPU, all at once
                for job in jobs:
                    job.go.set()
            good = [repeat.warm(job, args.compiling if group is compiled else args.patience) for job in jobs]
            warmed = time.monotonic() - start
            for job in built:
                job.tell_all(repeat.signal.SIGSTOP)
            for e, job, fine in zip(group, jobs, good):
                row = {'jobs': e['jobs'], 'pass': e.get('pass', 1), 'ok': False, 'at_s': round(time.monotonic() - began, 1)}
                try:
                    row |= repeat.look(job, args, gpu) if fine else {'error': job.error.value.decode() or 'not warm in time'}
                except Exception as x:
                    row['error'] = repr(x)[:300]
                held = used()
                job.end(0)
                time.sleep(0.3)
                row['mem_used'] = held - used() if fine else None
                step, off = job.told()
                row |= {'told': step, 'off': off}
                out.write(json.dumps(row) + '\n')
                out.flush()
                print(' '.join(map(str, e['jobs'][0])), {k: row.get(k) for k in ('gpu_util', 'steps_per_s', 'mem_used', 'error') if row.get(k) is not None},
                      len(step['operators']) if step else 'no told step', off or '', flush=True)
            for job in built:
                job.tell_all(repeat.signal.SIGCONT)
            last = time.monotonic() - start
            print('group', number, 'warm after', round(warmed, 1), 'done after', round(last, 1), flush=True)
    for job in built:
        job.end(0)
    print('ended after', round(time.monotonic() - began, 1), flush=True)


def table(args):
    gpu, idle, rows, steps = '', 0, [], []
    for r in map(json.loads, open(args.out)):
        if 'about' in r:
            gpu, idle = r['about']['gpu'], r['about']['memory_idle']    # the other tables have what the whole GPU held
        if not r.get('ok'):
            continue
        (name, batch, precision, workers, optimizer), = r['jobs']
        name, _, way = name.partition('#')
        mine = dict(workload=name, batch=batch, precision=precision, workers=workers, optimizer=optimizer, way=way)
        known = lambda x: '' if x is None else x
        rows.append(mine | dict(gpu=gpu, seconds=r['seconds'], gpu_util=r['gpu_util'], power_w=r['power'], mem_used_bytes=r['mem_used'] + idle if r['mem_used'] else '',
                                **{f'gpm_{k}': r['gpm'][k] for k in ('sm', 'occupancy', 'tensor', 'dram')}, steps_per_s=r['steps_per_s'][0],
                                steps_rel_std=known(r['steps_rel_std'][0]), cpu_cores=r['cpu_cores'][0], host_rss_bytes=r['rss'][0],
                                reserved_bytes=r['reserved'][0], params=r['params'][0], sitting=args.sitting,
                                **{k: known((r.get('probe') or {}).get(k)) for k in COLUMNS if k.endswith('_per_s') and k != 'steps_per_s'}))
        if r.get('told'):
            steps.append(mine | {'told': r['told']})
    rows.sort(key=lambda r: [str(r[c]) for c in ('workload', 'way', 'sitting')])
    path = pathlib.Path(args.data) / f'ways{args.suffix}.csv'
    with open(path, 'w', newline='') as f:
        w = csv.DictWriter(f, COLUMNS, lineterminator='\n')
        w.writeheader()
        w.writerows(rows)
    if steps:
        with gzip.GzipFile(pathlib.Path(args.data) / f'ways-told{args.suffix}.jsonl.gz', 'wb', mtime=0) as f:
            f.writelines((json.dumps(s, separators=(',', ':')) + '\n').encode() for s in steps)
    print(path, len(rows), 'rows,', len(steps), 'told steps')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest='what', required=True)
    p = what.add_parser('plan')
    p.add_argument('--repeats', action='store_true')
    p.add_argument('--inference', action='store_true')
    what.add_parser('groups')                              # for groups.py
    p = what.add_parser('measure')
    p.add_argument('plan')
    p.add_argument('out')
    p.add_argument('--seconds', type=float, default=560, help='stop after so many')
    p.add_argument('--group', type=int, default=6)
    p.add_argument('--alone', type=float, default=2.2)
    p.add_argument('--settle', type=float, default=0.4)
    p.add_argument('--patience', type=float, default=20, help='seconds that a loop may take over its first steps')
    p.add_argument('--compiling', type=float, default=150, help='the same for those that compile')
    p = what.add_parser('table')
    p.add_argument('out')
    p.add_argument('data')
    p.add_argument('sitting', type=int)
    p.add_argument('--suffix', default='')
    args = parser.parse_args()
    if args.what == 'plan':
        print(json.dumps(plan(args)))
    elif args.what == 'groups':
        print(json.dumps(groups()))
    else:
        {'measure': measure, 'table': table}[args.what](args)


if __name__ == '__main__':
    main()
