#!/usr/bin/env python3
"""Does anybody wait longer under `sharewell` than with a GPU for each job? Waits and completions by size over `slot`'s.

    python3 tests/acceptance/mixed.py                    five seeds of the mixed trace, and ElasticFlow's clusters
    python3 tests/acceptance/mixed.py --short            one seed, few jobs, wider limits
    python3 tests/acceptance/mixed.py --seeds 6 7 8 --jobs 20000 --load 0.8

The mixed trace is that of mixed_trace.py, on 14 nodes of 8 GPUs. ElasticFlow's traces (cluster01.csv.gz ...) are looked
for in $SHAREWELL_TEST_DATA/elasticflow, else in ../shared/data/elasticflow, and are skipped, by name, where they are
absent. Prints a Markdown table; exits 1 when a limit is missed.
"""
import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

import mixed_trace

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("SHAREWELL", os.path.join(ROOT, "build/release/sharewell"))
DATA = os.environ.get("SHAREWELL_TEST_DATA", os.path.join(ROOT, "../shared/data"))
CLUSTER, GPUS = "14x8xA100-80GB", 112
SIZES = ("1", "2-4", "5-8", "9+")
MOST_BEHIND_A_FLOOD = 900  # seconds
LEAST_WAIT = 60  # seconds: below that a ratio of mean waits says nothing
# What `slot` has times this is the limit: as the mean over seeds, and on any one.
LIMITS = {"wait": (0.5, None), "completion": (0.92, None), "wait by size": (1.05, 1.15), "p99 by size": (1.05, 1.15)}
SHORT_LIMITS = {"wait": (0.6, None), "completion": (0.96, None), "wait by size": (1.1, None),
                "p99 by size": (1.15, None)}
# Cluster, mean completion at most (where slot's mean wait is above 5 % of the mean run time), 99th percentile at most.
ELASTICFLOW = {"01": "8x8xV100", "02": "15x8xV100", "03": "25x8xV100", "05": "2x8xV100", "06": "15x8xV100",
               "10": "2x8xV100"}
ELASTICFLOW_LIMITS = (0.75, 1.05)
# Not reached, and why: docs/figures.md. Shown, and not counted as missed.
KNOWN = {("03", "p99"), ("10", "completion"), ("10", "p99")}


def simulate(trace, cluster, policy):
    done = subprocess.run([PROGRAM, "simulate", "--trace", trace, "--cluster", cluster, "--policy", f"slot,{policy}",
                           "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mixed: {PROGRAM} simulate failed: {done.stderr}")
    return json.loads(done.stdout)["results"]


def ratios(slot, ours):
    """What is compared: {(figure, size): ratio}."""
    out = {("wait", ""): ours["queue_mean_seconds"] / max(slot["queue_mean_seconds"], LEAST_WAIT),
           ("completion", ""): ours["jct_mean_seconds"] / slot["jct_mean_seconds"]}
    theirs = {group["size"]: group for group in slot["by_size"]}
    for group in ours["by_size"]:
        size, before = group["size"], theirs[group["size"]]
        if size not in SIZES:
            continue
        out["wait by size", size] = group["wait_mean_seconds"] / max(before["wait_mean_seconds"], LEAST_WAIT)
        out["p99 by size", size] = group["jct_p99_seconds"] / before["jct_p99_seconds"]
    return out


def mixed(arguments, limits, folder):
    runs = []
    for seed in arguments.seeds:
        path = os.path.join(folder, f"mixed-{seed}.csv")
        with open(path, "w") as file:
            mixed_trace.write(file, seed, arguments.jobs, GPUS, arguments.load)
        runs.append(ratios(*simulate(path, CLUSTER, arguments.policy)))
    missed = []
    print(f"{len(runs)} x {arguments.jobs} jobs at a load of {arguments.load} on {CLUSTER}: "
          f"`{arguments.policy}` over `slot`\n")
    print("| figure | GPUs | " + " | ".join(f"seed {seed}" for seed in arguments.seeds) + " | mean | limit |")
    print("|---|---" + "|---" * (len(runs) + 2) + "|")
    for what, size in runs[0]:
        values = [run[what, size] for run in runs]
        mean = sum(values) / len(values)
        limit, on_any = limits[what]
        print(f"| {what} | {size} | " + " | ".join(f"{value:.3f}" for value in values) +
              f" | {mean:.3f} | {limit}{f', on any {on_any}' if on_any else ''} |")
        if mean > limit or (on_any and max(values) > on_any):
            missed.append(f"{what} {size}: {mean:.3f}, at most {max(values):.3f}")
    return missed


def flood(arguments, folder):
    """One user submits 400 jobs at once, another a job an hour: how long the other one waits."""
    path = os.path.join(folder, "flood.csv")
    rows = [(second, "flood") for second in range(400)] + [(3600 * hour, "light") for hour in range(1, 6)]
    with open(path, "w") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "submit_seconds", "duration_seconds", "gpus", "user"])
        out.writerows((number, second, 3600, 1, user) for number, (second, user) in enumerate(sorted(rows)))
    waits = [next(user["wait_mean_seconds"] for user in result["by_user"] if user["user"] == "light")
             for result in simulate(path, "1x8xA100-80GB", arguments.policy)]
    print(f"\nA job of an hour each hour, after 400 of another user's: mean wait {waits[1]:.0f} s (`slot` {waits[0]:.0f} s)")
    return [f"mean wait behind a flood: {waits[1]:.0f} s, the limit is {MOST_BEHIND_A_FLOOD} s"] * (waits[1] > MOST_BEHIND_A_FLOOD)


def elasticflow(arguments, folder):
    missed = []
    print(f"\nElasticFlow's clusters: `{arguments.policy}` over `slot`\n")
    print("| trace | cluster | slot's mean wait over mean run time | mean completion | 99th percentile |")
    print("|---|---|---|---|---|")
    for name, cluster in ELASTICFLOW.items():
        source = os.path.join(DATA, "elasticflow", f"cluster{name}.csv.gz")
        if not os.path.exists(source):
            print(f"skipped: {os.path.basename(source)} is not there")
            continue
        path = os.path.join(folder, f"{name}.csv")
        with gzip.open(source, "rt") as file, open(path, "w") as target:
            rows = sorted(csv.DictReader(file), key=lambda row: float(row["submission_time"]))
            out = csv.writer(target, lineterminator="\n")
            out.writerow(["id", "submit_seconds", "duration_seconds", "gpus"])
            out.writerows((f"{number}", row["submission_time"], row["duration"], row["num_gpu"])
                          for number, row in enumerate(rows))
        slot, ours = simulate(path, cluster, arguments.policy)
        busy = slot["queue_mean_seconds"] / slot["run_mean_seconds"]
        mean = ours["jct_mean_seconds"] / slot["jct_mean_seconds"]
        p99 = ours["jct_p99_seconds"] / slot["jct_p99_seconds"]
        print(f"| {name} | {cluster} | {busy:.0%} | {mean:.3f} | {p99:.3f} |")
        for what, value, limit in (("completion", mean, ELASTICFLOW_LIMITS[0] if busy > 0.05 else 1.0),
                                   ("p99", p99, ELASTICFLOW_LIMITS[1])):
            if value > limit and (name, what) not in KNOWN:
                missed.append(f"ElasticFlow {name}, {what}: {value:.3f}, the limit is {limit}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--short", action="store_true", help="one seed, few jobs, wider limits")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--load", type=float, default=0.78)
    parser.add_argument("--policy", default="sharewell")
    arguments = parser.parse_args()
    arguments.seeds = arguments.seeds or ([1] if arguments.short else [1, 2, 3, 4, 5])
    arguments.jobs = arguments.jobs or (4000 if arguments.short else 15000)
    with tempfile.TemporaryDirectory() as folder:
        missed = mixed(arguments, SHORT_LIMITS if arguments.short else LIMITS, folder) + flood(arguments, folder)
        if not arguments.short:
            missed += elasticflow(arguments, folder)
    for line in missed:
        print("MISSED " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
