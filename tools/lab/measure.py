"""Measure workloads alone or together on one NVIDIA GPU, from outside: NVML, GPM and /proc.

  measure.py PLAN.json OUT.jsonl [--seconds S] [--alone S] [--together S] [--exported EXPORT.jsonl]
  measure.py PLAN.json OUT.jsonl --smoke [--seconds 85]       three small steps of each workload, many at once: which fail, and why

PLAN is a list of {"jobs": [[name, batch, precision, workers, optimizer], ...], "mps": 0 or 1, "pass": 1, 2, ...}. A line for each is
appended to OUT; what is there already is skipped, so that a plan can be measured in several sittings. Entries with a workload that
EXPORT says could not be exported are left out. The next entry's models are built on the CPU while the present one warms up.
A loop that fails or is not warm in time is noted, and further entries of its workload are left out. After a loop that ran alone its
process probes the host (probe.py), once its loader's workers are gone.
"""
import os
os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'          # ask for the GPU without a CUDA context: this process forks
import argparse
import json
import multiprocessing as mp
import signal
import subprocess
import time
import traceback

import probe
import psutil
import pynvml as nv
import smoke
import torch
import workloads

GPM = {'graphics': 1, 'sm': 2, 'occupancy': 3, 'tensor': 5, 'dram': 10, 'pcie_tx': 20, 'pcie_rx': 21}
ctx = mp.get_context('fork')
MPS = {'CUDA_MPS_PIPE_DIRECTORY': '/tmp/lab-mps', 'CUDA_MPS_LOG_DIRECTORY': '/tmp/lab-mps-log'}


def mean(x):
    return round(sum(x) / len(x), 2)


def deviation(x):
    m = sum(x) / len(x)
    return (sum((v - m) ** 2 for v in x) / len(x)) ** 0.5


def sample_seconds(data, batch, seconds=0.1):
    """What one loader process takes over one sample, put into its batch: of batches of 64 at most, on one thread."""
    batch = min(batch, 64)
    loader = iter(torch.utils.data.DataLoader(data, batch_size=batch, num_workers=0))
    next(loader)
    began, samples = time.perf_counter(), 0
    while samples == 0 or time.perf_counter() - began < seconds:
        next(loader)
        samples += batch
    return float(f'{(time.perf_counter() - began) / samples:.3g}')


class Gpu:
    def __init__(self):
        nv.nvmlInit()
        self.h = nv.nvmlDeviceGetHandleByIndex(0)

    def sample(self):
        s = nv.nvmlGpmSampleAlloc()
        nv.nvmlGpmSampleGet(self.h, s)
        return s

    def gpm(self, a, b):
        m = nv.c_nvmlGpmMetricsGet_t()
        m.version, m.numMetrics, m.sample1, m.sample2 = nv.NVML_GPM_METRICS_GET_VERSION, len(GPM), a, b
        for i, k in enumerate(GPM.values()):
            m.metrics[i].metricId = k
        nv.nvmlGpmMetricsGet(m)
        out = {n: round(m.metrics[i].value, 3) for i, n in enumerate(GPM)}
        if hasattr(nv, 'nvmlGpmSampleFree'):
            nv.nvmlGpmSampleFree(a)
            nv.nvmlGpmSampleFree(b)
        return out

    def about(self):
        text = lambda x: x.decode() if isinstance(x, bytes) else x
        cpu = [l.split(':', 1)[1].strip() for l in open('/proc/cpuinfo') if l.startswith('model name')]
        return dict(gpu=text(nv.nvmlDeviceGetName(self.h)), driver=text(nv.nvmlSystemGetDriverVersion()), memory=nv.nvmlDeviceGetMemoryInfo(self.h).total,
                    memory_idle=nv.nvmlDeviceGetMemoryInfo(self.h).used, power_limit_w=nv.nvmlDeviceGetEnforcedPowerLimit(self.h) / 1000,
                    cpu=cpu[0] if cpu else '', cores=len(cpu), torch=torch.__version__, cuda=torch.version.cuda,
                    when=time.strftime('%Y-%m-%d %H:%M', time.gmtime()))


class Job:
    """One loop in a process group of its own. It is built at once and trains from `go`."""

    def __init__(self, w, mps):
        self.w = w
        self.start, self.steady, self.stop = ctx.Event(), ctx.Event(), ctx.Event()
        self.steps, self.mem, self.params = ctx.Value('l', 0), ctx.Value('q', 0), ctx.Value('q', 0)
        self.mark, self.error = ctx.Array('d', 2), ctx.Array('c', 500)
        self.probed, self.probe = ctx.Event(), ctx.Array('c', 1000)
        self.alone, self.built = not mps, None
        self.p = ctx.Process(target=self.child, args=(mps,))
        self.p.start()

    def child(self, mps):
        os.setpgrp()
        try:
            if mps:
                os.environ.update(MPS)
            threads = torch.get_num_threads()
            torch.set_num_threads(1)                       # another one is being measured
            self.built = self.build()
            torch.set_num_threads(threads)
            self.start.wait()
            self.before_training()

            def tell(what, v, waited):
                if what == 'steady':
                    self.params.value = v
                    self.steady.set()
                    self.when_steady()
                    return
                self.steps.value += 1
                self.mem.value = v
                if waited:
                    with self.mark.get_lock():
                        self.mark[0], self.mark[1] = self.steps.value, time.monotonic()

            self.train(tell)
        except BaseException as e:
            self.error.value = (repr(e)[:250] + ' ' + ' | '.join(traceback.format_exc().strip().splitlines()[-3:]))[:480].encode('ascii', 'replace')
            self.params.value = -1
            self.steady.set()
        os._exit(1)

    def build(self):
        return workloads.build(self.w[0], self.w[1], self.w[3])

    def train(self, tell):
        workloads.train(self.w[0], self.w[1], self.w[2], self.w[3], tell, self.between_steps, self.w[4], self.built)

    def before_training(self):
        pass

    def when_steady(self):
        pass

    def between_steps(self):
        if self.stop.is_set():
            torch.cuda.synchronize()
            if self.alone:
                self.look_at_host()
            os._exit(0)                                    # the loader's workers go with the group

    def look_at_host(self):
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or the loader complains that its workers died
            for worker in getattr(self.built.fed, '_workers', []):
                worker.kill()
            self.probe.value = json.dumps(probe.short() | {'sample_s': sample_seconds(self.built.data, self.w[1])}).encode()
        except Exception as e:
            self.probe.value = json.dumps({'error': repr(e)[:200]}).encode()
        self.probed.set()

    def at(self):
        with self.mark.get_lock():
            return self.mark[0], self.mark[1]

    def tree(self):
        """CPU seconds and resident bytes of the process and what it started, and when that was."""
        t = rss = 0.0
        try:
            for q in [psutil.Process(self.p.pid)] + psutil.Process(self.p.pid).children(recursive=True):
                c = q.cpu_times()
                t += c.user + c.system
                rss += q.memory_info().rss
        except psutil.Error:
            pass
        return t, rss, time.monotonic()

    def end(self, patience=4):
        self.stop.set()
        until = time.monotonic() + patience
        while self.p.is_alive() and time.monotonic() < until:      # join would wait for the loader's workers too: they hold its pipe
            time.sleep(0.02)
        try:
            os.killpg(self.p.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        if self.p.is_alive():
            self.p.kill()
        self.p.join()


def rate(a, b):
    return (b[0] - a[0]) / (b[1] - a[1]) if b[0] > a[0] and b[1] > a[1] else None


def window(jobs, seconds, gpu):
    util, mem_util, power, used, clock, marks = [], [], [], [], [], []
    cpu0 = [j.tree() for j in jobs]
    first, t0 = gpu.sample(), time.monotonic()
    n0 = [j.steps.value for j in jobs]
    marks.append([j.at() for j in jobs])
    while time.monotonic() - t0 < seconds:
        r = nv.nvmlDeviceGetUtilizationRates(gpu.h)
        util.append(r.gpu)
        mem_util.append(r.memory)
        power.append(nv.nvmlDeviceGetPowerUsage(gpu.h) / 1000)
        used.append(nv.nvmlDeviceGetMemoryInfo(gpu.h).used)
        clock.append(nv.nvmlDeviceGetClockInfo(gpu.h, nv.NVML_CLOCK_SM))
        time.sleep(0.1)
        marks.append([j.at() for j in jobs])
    last, t1 = gpu.sample(), time.monotonic()
    n1 = [j.steps.value for j in jobs]
    cpu1 = [j.tree() for j in jobs]
    counted = [round((b - a) / (t1 - t0), 4) for a, b in zip(n0, n1)]
    speed, spread = [], []
    for i, c in enumerate(counted):
        m = [x[i] for x in marks]
        m[0] = m[0] if m[0][1] > 0 else next((x for x in m if x[1] > 0), m[0])
        r = rate(m[0], m[-1])
        speed.append(round(r, 4) if r else c)
        parts = [rate(m[k], m[min(k + 5, len(m) - 1)]) for k in range(0, len(m) - 5, 5)]
        parts = [x for x in parts if x]
        spread.append(round(deviation(parts) / (sum(parts) / len(parts)), 4) if len(parts) > 2 else None)
    return dict(seconds=round(t1 - t0, 2), gpu_util=mean(util), util_std=round(deviation(util), 2), mem_util=mean(mem_util), power=mean(power),
                power_std=round(deviation(power), 2), sm_clock=mean(clock), mem_used=max(used), gpm=gpu.gpm(first, last), steps_per_s=speed,
                steps_counted=counted, steps_rel_std=spread, cpu_cores=[round((b[0] - a[0]) / (b[2] - a[2]), 3) for a, b in zip(cpu0, cpu1)],
                rss=[int(c[1]) for c in cpu1], reserved=[j.mem.value for j in jobs], params=[j.params.value for j in jobs])


def mps(on):
    env = os.environ | MPS
    if on:
        for d in MPS.values():
            os.makedirs(d, exist_ok=True)
        subprocess.run(['nvidia-cuda-mps-control', '-d'], env=env, timeout=20, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        try:
            subprocess.run(['nvidia-cuda-mps-control'], input=b'quit\n', env=env, timeout=10, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
    time.sleep(0.5)


def key(e):
    return json.dumps([e['jobs'], e.get('mps', 0), e.get('pass', 1)])


def main():
    a = argparse.ArgumentParser()
    a.add_argument('plan')
    a.add_argument('out')
    a.add_argument('--seconds', '--limit', dest='limit', type=float, default=560, help='stop after so many')
    a.add_argument('--patience', type=float, default=20, help='seconds that a loop may take to be warm')
    a.add_argument('--smoke', action='store_true')
    a.add_argument('--retry', action='store_true', help='what failed before, too')
    a.add_argument('--alone', type=float, default=2.6)
    a.add_argument('--together', type=float, default=3.0)
    a.add_argument('--settle', type=float, default=0.6)
    a.add_argument('--exported')
    a = a.parse_args()
    began = time.monotonic()
    workloads.preload()
    probe.prepare()
    if a.smoke:
        return smoke.run(json.load(open(a.plan)), a.out, a.limit - (time.monotonic() - began))
    gpu = Gpu()
    about = gpu.about()
    print('ready', round(time.monotonic() - began, 1), about, flush=True)
    before = [json.loads(l) for l in open(a.out) if '"jobs"' in l] if os.path.exists(a.out) else []
    have = {key(e) for e in before if e['ok'] or not a.retry}
    bad = set() if a.retry else {e['jobs'][0][0] for e in before if len(e['jobs']) == 1 and not e['ok']}
    if a.exported and os.path.exists(a.exported):
        bad |= {r['name'] for r in map(json.loads, open(a.exported)) if not r['ok'] or r.get('step_error')}
    plan = [e for e in json.load(open(a.plan)) if key(e) not in have and not any(j[0] in bad for j in e['jobs'])]
    print('to do', len(plan), 'left out', sorted(bad), flush=True)
    served = False
    dying = []
    prepared = [Job(j, plan[0].get('mps')) for j in plan[0]['jobs']] if plan else []
    with open(a.out, 'a') as out:
        out.write(json.dumps({'about': about}) + '\n')
        for i, e in enumerate(plan):
            began_one = time.monotonic()
            if began_one - began > a.limit - (10 if len(e['jobs']) > 1 else 8):
                print('time is up', flush=True)
                break
            jobs, want = prepared, bool(e.get('mps'))
            if any(j[0] in bad for j in e['jobs']):        # it failed since it was prepared
                for j in jobs:
                    j.end(0)
                prepared = [Job(j, plan[i + 1].get('mps')) for j in plan[i + 1]['jobs']] if i + 1 < len(plan) else []
                continue
            if want != served:
                for j in dying:
                    j.end()
                dying = []
                mps(want)
                served = want
            for j in jobs:
                j.start.set()
            prepared = [Job(j, plan[i + 1].get('mps')) for j in plan[i + 1]['jobs']] if i + 1 < len(plan) else []
            for j in dying:
                j.end()
            dying = []
            row = {'jobs': e['jobs'], 'mps': int(want), 'pass': e.get('pass', 1), 'ok': False}
            try:
                until = time.monotonic() + a.patience
                ok = all(j.steady.wait(max(0.1, until - time.monotonic())) for j in jobs) and all(j.params.value >= 0 for j in jobs)
                row['warm_s'] = round(time.monotonic() - began_one, 2)
                if ok:
                    time.sleep(a.settle)
                    row |= window(jobs, a.alone if len(jobs) == 1 else a.together, gpu)
                    ok = all(j.p.is_alive() for j in jobs) and all(row['steps_per_s'])
                    row['ok'] = ok
                if not ok:
                    row['error'] = ' / '.join(j.error.value.decode() for j in jobs) or 'not steady in time'
            except Exception as x:
                row['error'] = repr(x)[:300]
            for j in jobs:
                j.stop.set()
            if row['ok'] and jobs[0].alone and jobs[0].probed.wait(2):
                row['probe'] = json.loads(jobs[0].probe.value)
            if not row['ok'] and len(jobs) == 1:
                bad.add(e['jobs'][0][0])
            dying = jobs
            if want and not row['ok']:                     # a client that died badly can take the server with it
                for j in dying:
                    j.end()
                dying = []
                mps(False)
                mps(True)
            row['wall_s'] = round(time.monotonic() - began_one, 2)
            out.write(json.dumps(row) + '\n')
            out.flush()
            print(row['wall_s'], row.get('warm_s'), ' + '.join(' '.join(map(str, j)) for j in e['jobs']), 'mps' if want else '',
                  {k: row.get(k) for k in ('gpu_util', 'steps_per_s', 'steps_rel_std', 'cpu_cores', 'probe', 'error') if row.get(k) is not None}, flush=True)
    for j in dying + prepared:
        j.end(0.5 if not j.start.is_set() else 4)
    if served:
        mps(False)
    print('ended after', round(time.monotonic() - began, 1), flush=True)


if __name__ == '__main__':
    main()
