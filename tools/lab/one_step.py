"""One training step under a profiler: one_step.py WORKLOAD BATCH PRECISION [--trace FILE]

Warms up, then marks exactly one step with cudaProfilerStart and Stop, for Nsight Compute:

  ncu --profile-from-start off --clock-control none --csv --page raw --metrics ... --log-file step.csv python3 tools/lab/one_step.py tv:resnet50@224 64 bf16

With --trace, three steps are recorded by PyTorch's profiler instead (a Kineto trace).
"""
import os
import sys

import torch

import workloads

name, batch, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
trace = sys.argv[5] if sys.argv[4:5] == ['--trace'] else None
STEPS = 3 if trace else 1
state = {'steps': 0, 'profiler': None}


def tell(what, *_):
    if what != 'step':
        return
    state['steps'] += 1
    torch.cuda.synchronize()
    if state['steps'] == 2:
        if trace:
            from torch.profiler import ProfilerActivity, profile, schedule
            state['profiler'] = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
                                        on_trace_ready=lambda p: p.export_chrome_trace(trace))
            state['profiler'].start()
        else:
            torch.cuda.profiler.start()
    elif state['steps'] > 2 and trace:
        state['profiler'].step()
    elif state['steps'] == 2 + STEPS:
        torch.cuda.profiler.stop()


last = 2 + STEPS + (2 if trace else 0)
workloads.train(name, batch, precision, 1, tell, lambda: state['steps'] >= last)
if trace:
    state['profiler'].stop()
print(f'{name}: {STEPS} step(s) recorded', flush=True)
sys.stdout.flush()
os._exit(0)                                                # loader workers are daemons; do not wait for their queues
