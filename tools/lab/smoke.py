"""Three steps of every workload of a plan, small and many at once, to see before a sitting which loops run at all."""
import json
import multiprocessing as mp
import os
import time

BATCH, STEPS, PATIENCE = 8, 3, 25
ctx = mp.get_context('fork')


def one(job, answer):
    import warnings
    warnings.filterwarnings('ignore')
    import torch
    import workloads
    began = time.monotonic()
    row = {'name': job[0], 'ok': False}
    try:
        torch.set_num_threads(1)
        torch.backends.cudnn.benchmark_limit = 1           # it is not to be fast
        t = workloads.build(job[0], min(job[1], BATCH), 0)
        row['built_s'] = round(time.monotonic() - began, 1)
        for done in workloads.common.steps(t, job[2], job[4], 'cuda'):
            if done == STEPS:
                break
        torch.cuda.synchronize()
        row['params'] = sum(p.numel() for p in t.model.parameters())
        row['finite'] = all(bool(p.isfinite().all()) for p in t.model.parameters())
        row['ok'] = True
    except BaseException as e:
        import traceback
        row['error'] = repr(e)[:400]
        row['where'] = traceback.format_exc().strip().splitlines()[-5:-1]
    row['seconds'] = round(time.monotonic() - began, 1)
    answer.send(row)
    answer.close()
    os._exit(0)


def run(plan, path, seconds, processes=14):
    """New kinds of loops first: image classifiers of libraries fail least. A line for each goes to `path`."""
    jobs = {}
    for e in plan:
        for j in e['jobs']:
            jobs.setdefault(j[0], j)
    todo = sorted(jobs.values(), key=lambda j: j[0].startswith(('tv:', 'timm:')))
    began, running, rows = time.monotonic(), [], []
    with open(path, 'a') as out:
        def note(row):
            rows.append(row)
            out.write(json.dumps(row) + '\n')
            out.flush()
            if not row['ok'] or not row['finite'] or row['seconds'] > 12:
                print('FAILED' if not row['ok'] else 'looks odd', json.dumps(row), flush=True)
        while todo or running:
            late = time.monotonic() - began > seconds
            while todo and len(running) < processes and not late:
                job = todo.pop(0)
                r, w = ctx.Pipe(False)
                p = ctx.Process(target=one, args=(job, w))
                p.start()
                w.close()
                running.append((job[0], p, r, time.monotonic() + PATIENCE))
            for k in list(running):
                name, p, r, until = k
                row = None
                if r.poll(0):
                    try:
                        row = r.recv()
                    except EOFError:
                        row = {'name': name, 'ok': False, 'error': 'died'}
                elif late or time.monotonic() > until:
                    row = {'name': name, 'ok': False, 'error': 'time is up' if late else 'too slow'}
                    p.kill()
                if row:
                    p.join()
                    running.remove(k)
                    note(row)
            if late:
                break
            time.sleep(0.02)
    failed = [r['name'] for r in rows if not r['ok'] and r['error'] != 'time is up']
    print(len(rows), 'tried,', len(failed), 'failed:', ' '.join(failed), flush=True)
    print('not tried:', ' '.join(j[0] for j in todo), flush=True)
