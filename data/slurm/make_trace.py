#!/usr/bin/env python3
"""Writes data/slurm/trace.csv: 200 made-up jobs for four nodes with two GPUs each. Same seed, same bytes.

    data/slurm/make_trace.py > data/slurm/trace.csv

Each job trains one of the workloads that were measured alone on an H200 (data/h200/profiles.csv and profiles-2.csv), drawn evenly, so nothing is
picked for how well it shares.
"""
import csv
import pathlib
import random
import sys

SEED = 14
JOBS = 200
SHORTEST, LONGEST = 20, 48  # seconds alone on an H200
# Over this many seconds: with it the jobs ask for 1.2 times what the eight GPUs can do, one job a GPU (slurm_gain.py prints the load).
WINDOW = 900
# What a real Slurm takes from the end of a job to the first line of the next one on its GPU: 0.36 s on average on two busy cores, 0.75 s at most in 95
# of 100 cases. At this load the queue makes ten times as much of it.
STARTUP = 0.5
COLUMNS = ["id", "submit_seconds", "duration_seconds", "gpus", "user", "workload", "batch", "precision", "workers", "cores", "startup_seconds"]


def main():
    rng = random.Random(SEED)
    data = pathlib.Path(__file__).resolve().parent.parent / "h200"
    profiles = {}
    for name in ("profiles.csv", "profiles-2.csv"):
        with open(data / name, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                # Its model file tells the server what it needs. More than four loader processes would fill the nodes' cores.
                if row["onnx"] and int(row["workers"]) <= 4 and (data / "onnx" / row["onnx"]).exists():
                    profiles.setdefault((row["workload"], row["batch"], row["precision"], row["workers"]), row)
    profiles = [profiles[key] for key in sorted(profiles)]
    print(f"# {JOBS} made-up jobs of one GPU each. Written by data/slurm/make_trace.py; the columns are explained in docs/formats/trace-csv.md.")
    print("# Durations are alone, on an H200.")
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    first = None
    for number, second in enumerate(sorted(rng.uniform(0, WINDOW) for _ in range(JOBS)), start=1):
        first = second if first is None else first
        profile = rng.choice(profiles)
        duration = SHORTEST * (LONGEST / SHORTEST) ** rng.random()
        out.writerow({"id": f"j{number:03}", "submit_seconds": f"{second - first:.1f}", "duration_seconds": f"{duration:.1f}", "gpus": 1, "user": "ana",
                      **{key: profile[key] for key in ("workload", "batch", "precision", "workers")}, "cores": int(profile["workers"]) + 2,
                      "startup_seconds": STARTUP})


if __name__ == "__main__":
    main()
