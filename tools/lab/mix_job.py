#!/usr/bin/env python3
"""One job of a mix: trains a workload for a number of steps, and tells of each.

  mix_job.py WORKLOAD BATCH PRECISION WORKERS STEPS [--keep FILE]
  mix_job.py WORKLOAD BATCH PRECISION WORKERS STEPS --stub STEPS_PER_SECOND

Steps are counted once the loop is warm, after eight. On SIGTERM the model is kept in FILE, and the next start goes on from there (without
the optimizer's momentum). The last line on stdout is a summary in JSON: when it began, was warm and ended, and its rate in between.
By a process that has PyTorch imported already where one is named (zoo/warm.py). --stub: no training, a process that sleeps: it proves the plumbing alone.
"""
import argparse
import json
import os
import pathlib
import sys
import time

BEGAN = time.time()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python"), str(HERE.parents[1] / "zoo")]

import hand_over  # noqa: E402
import sharewell  # noqa: E402


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload")
    parser.add_argument("batch", type=int)
    parser.add_argument("precision")
    parser.add_argument("workers", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--keep", metavar="FILE")
    parser.add_argument("--stub", type=float, metavar="STEPS_PER_SECOND")
    return parser.parse_args(words)


def summary(args, steady, done, before, **more):
    took = time.time() - steady
    print(json.dumps({"workload": args.workload, "batch": args.batch, "precision": args.precision, "workers": args.workers,
                      "steps": done, "resumed_at": before, "began_ms": round(BEGAN * 1000), "steady_ms": round(steady * 1000),
                      "ended_ms": round(time.time() * 1000),
                      "steps_per_second": round((done - before) / took, 4) if took > 0 else None, **more}), flush=True)


def stub(args):
    sharewell.on_stop(lambda: None)
    steady = time.time()
    done = 0
    while done < args.steps:
        done = min(args.steps, int((time.time() - steady) * args.stub) + 1)
        sharewell.report_step(done)
        time.sleep(max(0.0, min(0.02, steady + done / args.stub - time.time())))
    time.sleep(max(0.0, steady + args.steps / args.stub - time.time()))
    summary(args, steady, done, 0, stub=True)


def train(args):
    try:
        import torch
    except ImportError:
        sys.exit("mix_job: PyTorch is not installed; --stub RATE needs none")
    import workloads
    import common
    if not torch.cuda.is_available():
        sys.exit("mix_job: PyTorch finds no GPU; --stub RATE needs none")
    torch.set_num_threads(max(1, min(8, len(os.sched_getaffinity(0)))))
    built = workloads.build(args.workload, args.batch, args.workers)
    state = {"done": 0, "steady": None}
    if args.keep and os.path.exists(args.keep):
        kept = torch.load(args.keep, map_location="cpu")
        built.model.load_state_dict(kept["model"])
        state["done"] = kept["step"]
    before = state["done"]

    def keep():
        if args.keep and state["done"] > before:
            torch.save({"step": state["done"], "model": built.model.state_dict()}, args.keep + ".new")
            os.replace(args.keep + ".new", args.keep)
        for worker in getattr(getattr(built, "fed", None), "_workers", []):
            worker.kill()
        os._exit(143)                          # not to wait for the loader's queues
    sharewell.on_stop(keep)

    def tell(what, *_):
        if what == "steady":
            state["steady"] = time.time()
        else:
            state["done"] += 1
            sharewell.report_step(state["done"])

    workloads.train(args.workload, args.batch, args.precision, args.workers, tell, lambda: state["done"] >= args.steps, built=built)
    torch.cuda.synchronize()
    summary(args, state["steady"] or time.time(), state["done"], before, torch=torch.__version__,
            reserved_bytes=torch.cuda.max_memory_reserved())
    common.end(built)


def main():
    args = arguments(sys.argv[1:])
    if args.stub:
        stub(args)
    else:
        hand_over.hand_over()
        train(args)


if __name__ == "__main__":
    main()
