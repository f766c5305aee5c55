"""The committed trace of 200 jobs, what the simulator foresees of it, and how what really happened is shown beside: for slurm_gain.py and
tests/kubernetes/gain.py."""
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(pathlib.Path(os.environ.get("SHAREWELL", ROOT / "build/release/sharewell")).resolve())
CLUSTER_FILE = ROOT / "data/slurm/cluster.toml"
POLICIES = {"plain": "slot", "sharewell": "sharewell"}  # slot: first come, first served, a GPU for each job
LEAST_GAIN, FORESIGHT = 0.30, 0.10


def model_files():
    """(workload, batch, precision, workers) -> its graph."""
    found = {}
    for name in ("profiles.csv", "profiles-2.csv"):
        with open(ROOT / "data/h200" / name, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(tuple(row[k] for k in ("workload", "batch", "precision", "workers")), ROOT / "data/h200/onnx" / row["onnx"])
    return found


def read_trace(place, most):
    with open(place, newline="", encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines))[:most]


def foresee(trace, seed):
    done = subprocess.run([PROGRAM, "simulate", "--trace", str(trace), "--cluster", str(CLUSTER_FILE), "--policy", ",".join(POLICIES.values()),
                           "--belief", "predicted", "--durations", "unknown", "--seed", str(seed), "--json"], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return dict(zip(POLICIES, json.loads(done.stdout)["results"]))


def summary(of):
    ordered = sorted(of)
    return {"mean": statistics.fmean(ordered), "p50": statistics.median(ordered), "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]}


def table(foreseen, really):
    print(f"{'':10} {'':10} {'mean':>8} {'p50':>8} {'p95':>8} {'makespan':>9}   seconds")
    worst = 0.0
    for kind in POLICIES:
        expected = {k: foreseen[kind][f"jct_{k}_seconds"] for k in ("mean", "p50", "p95")} | {"makespan": foreseen[kind]["makespan_seconds"]}
        rows = {"foreseen": expected}
        if kind in really:
            rows["really"] = really[kind]
        for name, row in rows.items():
            print(f"{kind:10} {name:10} " + " ".join(f"{row[k]:{9 if k == 'makespan' else 8}.1f}" for k in ("mean", "p50", "p95", "makespan")))
        if kind in really:
            off = {k: really[kind][k] / expected[k] - 1 for k in expected}
            worst = max(worst, abs(off["mean"]), abs(off["makespan"]))
            print(f"{'':10} {'off by':10} " + " ".join(f"{100 * off[k]:{8 if k == 'makespan' else 7}.1f}%" for k in ("mean", "p50", "p95", "makespan")))
    return worst


def judge(foreseen, really, jobs, plain):
    """Prints the table, what was gained over `plain` and what fails a bar; exits with 1 where something does."""
    worst = table(foreseen, really)
    failed = [f"{name} ran out of GPU memory" for run in really.values() for name in run["broken"]]
    if len(really) == 2:
        gain = 1 - really["sharewell"]["mean"] / really["plain"]["mean"]
        print(f"mean completion is {100 * gain:.1f} % better than {plain}, makespan "
              f"{100 * (1 - really['sharewell']['makespan'] / really['plain']['makespan']):.1f} %")
        if gain < LEAST_GAIN:
            failed.append(f"less than {100 * LEAST_GAIN:.0f} % better")
    if len(jobs) == 200 and worst > FORESIGHT:
        failed.append(f"{100 * worst:.1f} % from what the simulator foresaw")
    for what in failed:
        print(f"FAILED: {what}")
    sys.exit(1 if failed else 0)
