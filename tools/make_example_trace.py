#!/usr/bin/env python3
"""Writes the example traces: made-up jobs of six users. Same seed, same bytes.

    tools/make_example_trace.py day > examples/day.csv        200 jobs that arrive over one day
    tools/make_example_trace.py batch > examples/batch.csv    100 jobs of one GPU, all there at once

Workloads are those of data/h200/profiles.csv; one job in five says nothing about what it trains.
"""
import csv
import math
import pathlib
import random
import sys

JOBS = {"day": 200, "batch": 100}
SAYS = {"day": "200 made-up jobs of six users over one day, sorted by submit_seconds.",
        "batch": "100 made-up jobs of six users, one GPU each, all submitted at the same time."}
SEED = 2026
DAY = 24 * 3600
# user: share of the jobs, GPU counts to draw from, median duration in minutes, workload families
USERS = {
    "ana": (0.28, [1], 8, ("tv:",)),
    "bo": (0.20, [1, 1, 2], 18, ("tv:", "enc:")),
    "chen": (0.18, [1, 1, 1, 4], 28, ("hf:",)),
    "dara": (0.14, [1, 2, 4], 35, ("tv:", "hf:", "wav2vec2:")),
    "emil": (0.12, [1], 5, ("lstm:", "enc:")),
    "fay": (0.08, [2, 4, 8], 40, ("dlrm:", "deepfm:")),
}
COLUMNS = ["id", "submit_seconds", "duration_seconds", "gpus", "user", "workload", "batch",
           "precision", "workers", "cores", "exclusive", "priority"]


def submit_time(rng):
    """A second of the day; most people work from nine to six."""
    while True:
        second = rng.randrange(DAY)
        hour = second / 3600
        if rng.random() < 0.15 + 0.85 * math.exp(-((hour - 14) / 4) ** 2):
            return second


def main():
    kind = sys.argv[1] if len(sys.argv) == 2 else None
    if kind not in JOBS:
        sys.exit(__doc__.strip())
    rng = random.Random(SEED)
    root = pathlib.Path(__file__).resolve().parent.parent
    with open(root / "data" / "h200" / "profiles.csv", newline="") as file:
        profiles = list(csv.DictReader(file))
    print(f"# {SAYS[kind]}")
    print(f"# Written by tools/make_example_trace.py {kind}; the columns are explained in")
    print("# docs/formats/trace-csv.md. Durations are alone, on the cluster's first GPU model.")
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    names = list(USERS)
    shares = [USERS[name][0] for name in names]
    seconds = sorted(submit_time(rng) if kind == "day" else 0 for _ in range(JOBS[kind]))
    for number, second in enumerate(seconds, start=1):
        user = rng.choices(names, shares)[0]
        _, gpu_counts, minutes, families = USERS[user]
        row = {"id": f"{kind}-{number:03}", "submit_seconds": second, "user": user,
               "gpus": rng.choice(gpu_counts) if kind == "day" else 1,
               "duration_seconds": max(30, round(60 * minutes * math.exp(rng.gauss(0, 0.9))))}
        if rng.random() < 0.8:
            profile = rng.choice([p for p in profiles if p["workload"].startswith(families)])
            row |= {key: profile[key] for key in ("workload", "batch", "precision", "workers")}
            row["cores"] = row["gpus"] * (int(profile["workers"]) + 2)
        row["exclusive"] = int(rng.random() < 0.05)
        row["priority"] = int(rng.random() < 0.04)
        out.writerow(row)


if __name__ == "__main__":
    main()
