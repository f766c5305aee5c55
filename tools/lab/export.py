"""Write the graphs of what workloads compute in a step, forward: ONNX with a symbolic batch, and torch.export archives, both without weights.

  export.py NAMES.json DIR [--rows ROWS.jsonl] [--processes N] [--timeout S] [--limit S] [--pt2 NAME ...] [--check]

NAMES is a list of workload names. DIR/onnx/NAME.onnx and DIR/pt2/NAME.pt2 are written, and a line for each to DIR/export.jsonl; names
that are there already are skipped; with --rows also those that measure.py has not measured. --check also runs one training step on the CPU and notes what went wrong with it.
"""
import argparse
import json
import logging
import multiprocessing as mp
import os
import sys
import tempfile
import time
import warnings
import zipfile

warnings.filterwarnings('ignore')
logging.disable(logging.CRITICAL)
os.environ['CUDA_VISIBLE_DEVICES'] = ''                    # nothing here needs the GPU
import torch
import onnx
import workloads

SCRATCH = '/dev/shm' if os.path.isdir('/dev/shm') else None


def file_of(name):
    return name.replace(':', '_').replace('@', '_')


def strip(m):
    """Leave out stack traces and other notes: they are many times the graph."""
    def clean(x):
        if hasattr(x, 'doc_string'):
            x.ClearField('doc_string')
        if hasattr(x, 'metadata_props'):
            del x.metadata_props[:]
    clean(m)

    def graph(g):
        clean(g)
        for n in g.node:
            clean(n)
            for a in n.attribute:
                if a.HasField('g'):
                    graph(a.g)
        for v in list(g.value_info) + list(g.input) + list(g.output) + list(g.initializer):
            clean(v)
    graph(m.graph)
    for f in m.functions:
        clean(f)
        for n in f.node:
            clean(n)


def shapes(example):
    return tuple({0: torch.export.Dim('batch')} for _ in example)


def to_onnx(model, example, path):
    try:
        p, how = torch.onnx.export(model, example, dynamo=True, dynamic_shapes=shapes(example), verbose=False), 'symbolic'
    except Exception as e:
        first = repr(e)[:300]
        try:
            p, how = torch.onnx.export(model, tuple(x[:1] for x in example), dynamo=True, verbose=False), 'batch1'
        except Exception as e2:
            raise RuntimeError(f'{first} / {e2!r:.300}')
    with tempfile.TemporaryDirectory(dir=SCRATCH) as d:
        p.save(d + '/m.onnx', external_data=True)
        m = onnx.load(d + '/m.onnx', load_external_data=False)
    strip(m)
    frozen = [n for n, p in model.named_parameters() if not p.requires_grad]
    if frozen:                                             # ONNX has no word for it
        onnx.helper.set_model_props(m, {'sharewell.frozen': ' '.join(frozen)})
    onnx.save(m, path)
    return dict(how=how, opset=m.opset_import[0].version, nodes=len(m.graph.node), value_info=len(m.graph.value_info), bytes=os.path.getsize(path))


def to_pt2(model, example, path):
    p = torch.export.export(model, example, dynamic_shapes=shapes(example))
    stem = os.path.splitext(os.path.basename(path))[0]
    with tempfile.TemporaryDirectory(dir=SCRATCH) as d:
        f = f'{d}/{stem}.pt2'
        torch.export.save(p, f)
        with zipfile.ZipFile(f) as a, zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as b:
            for i in a.infolist():
                inside = i.filename.split('/', 1)[1]
                if inside.startswith(('data/sample_inputs/',)) or inside.startswith(('data/weights/', 'data/constants/')) and not inside.endswith('.json'):
                    continue
                b.writestr(i.filename, a.read(i.filename))


def one_step(name):
    """One step on the CPU with the workload's own loader and loss, as a check that they fit together."""
    t = workloads.build(name, 2, 0)
    t.model.train()
    b = list(next(iter(torch.utils.data.DataLoader(t.data, batch_size=2))))
    if t.step:
        import contextlib
        loss = t.step(t.model, [workloads.make_optimizer(m.parameters(), 'sgd') for m in t.split], b, contextlib.nullcontext)
    else:
        loss = t.loss(t.model, b)
        loss.backward()
        workloads.make_optimizer(t.model.parameters(), 'sgd').step()
    v = float(loss.detach())
    if v != v:
        raise RuntimeError('the loss is not a number')
    return round(v, 4)


def work(name, out, pt2, check, answer):
    t0 = time.time()
    row = {'name': name, 'ok': False}
    torch.set_num_threads(1)
    sys.stdout = sys.stderr = open(os.devnull, 'w')
    try:
        if check and not name.startswith(('tv:', 'timm:', 'dlrm:', 'deepfm:', 'enc:', 'lstm:', 'wav2vec2:')):
            try:
                row['loss'] = one_step(name)
            except BaseException as e:
                row['step_error'] = repr(e)[:400]
        t = workloads.build(name, 2, 0)
        row['params'] = sum(p.numel() for p in t.model.parameters())
        whole, example = t.whole
        whole.eval()
        row |= to_onnx(whole, example, f'{out}/onnx/{file_of(name)}.onnx')
        row['ok'] = True
        if name in pt2:
            try:
                to_pt2(whole, example, f'{out}/pt2/{file_of(name)}.pt2')
                row['pt2'] = True
            except Exception as e:
                row['pt2_error'] = repr(e)[:300]
    except BaseException as e:
        row['error'] = repr(e)[:700]
    row['seconds'] = round(time.time() - t0, 1)
    answer.send(row)
    answer.close()
    os._exit(0)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('names')
    a.add_argument('dir')
    a.add_argument('--processes', type=int, default=14)
    a.add_argument('--timeout', type=float, default=60)
    a.add_argument('--limit', type=float, default=280)
    a.add_argument('--rows')
    a.add_argument('--pt2', nargs='*', default=[])
    a.add_argument('--check', action='store_true')
    a = a.parse_args()
    began = time.time()
    os.makedirs(a.dir + '/onnx', exist_ok=True)
    os.makedirs(a.dir + '/pt2', exist_ok=True)
    note = a.dir + '/export.jsonl'
    have = {json.loads(l)['name'] for l in open(note)} if os.path.exists(note) else set()
    todo = [n for n in json.load(open(a.names)) if n not in have]
    if a.rows:
        seen = [json.loads(l) for l in open(a.rows) if '"jobs"' in l]
        ran = {e['jobs'][0][0] for e in seen if e['ok']}
        todo = [n for n in todo if n in ran]
    torch.set_num_threads(1)
    import torchvision, timm, transformers  # noqa: F401  once, before the forks
    workloads.preload()
    try:
        torch.onnx.export(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()), (torch.zeros(2, 3, 8, 8),), dynamo=True,
                          dynamic_shapes=({0: torch.export.Dim('batch')},), verbose=False)
    except Exception as e:
        print('warm-up', repr(e)[:300])
    print('ready', round(time.time() - began, 1), flush=True)
    ctx = mp.get_context('fork')
    running, done = [], 0
    with open(note, 'a') as out:
        def write(row):
            out.write(json.dumps(row) + '\n')
            out.flush()
            print(row['name'], row.get('how') or row.get('error'), row.get('step_error') or '', row.get('pt2_error') or '', row.get('seconds'), flush=True)
        while todo or running:
            if time.time() - began > a.limit:
                todo = []
                for k in running:
                    k[3] = min(k[3], time.time())
            while todo and len(running) < a.processes:
                name = todo.pop(0)
                r, w = ctx.Pipe(False)
                p = ctx.Process(target=work, args=(name, a.dir, a.pt2, a.check, w))
                p.start()
                w.close()
                running.append([name, p, r, time.time() + a.timeout])
            for k in list(running):
                name, p, r, until = k
                row = None
                if r.poll(0):
                    try:
                        row = r.recv()
                    except EOFError:
                        row = {'name': name, 'ok': False, 'error': 'died'}
                elif time.time() > until:
                    p.kill()
                    row = {'name': name, 'ok': False, 'error': 'too slow'}
                elif not p.is_alive() and not r.poll(0.05):
                    row = {'name': name, 'ok': False, 'error': f'died with {p.exitcode}'}
                if row:
                    p.join()
                    running.remove(k)
                    done += 1
                    write(row)
            time.sleep(0.05)
    print('exported', done, 'in', round(time.time() - began, 1), flush=True)


if __name__ == '__main__':
    main()
