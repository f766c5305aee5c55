#!/usr/bin/env python3
"""Writes a made-up trace of a busy cluster that small and large jobs share. Same arguments, same bytes.

    python3 tests/acceptance/mixed_trace.py --seed 1 > mixed.csv

Seven jobs in ten have one GPU, one in ten has eight, the others two to six. Durations are log-normal with a median of
half an hour; one job in a hundred lasts thirteen hours. Submissions follow the day: few at night, most in the
afternoon. Of forty users some submit far more than others. No job names its workload: `sharewell simulate` draws one
by its own seed.
"""
import argparse
import csv
import math
import random
import sys

DAY = 24 * 3600
SIZES = {1: 0.70, 2: 0.08, 3: 0.02, 4: 0.08, 6: 0.02, 8: 0.10}  # GPUs: share of the jobs
MEDIAN = 1800  # seconds
SIGMA = 1.4    # of the logarithm of the duration
USERS = 40


def second_of_day(rng):
    """Most people work from nine to six; what runs by itself comes at any time."""
    while True:
        second = rng.random() * DAY
        if rng.random() < 0.35 + 0.65 * math.exp(-((second / 3600 - 14) / 4.5) ** 2):
            return second


def jobs(seed, count, gpus, load):
    """(submission, duration, GPUs, user), sorted by submission, over as many days as `load` makes of their work."""
    rng = random.Random(seed)
    weights = [1 / (rank + 3) for rank in range(USERS)]
    drawn = [(max(20, MEDIAN * math.exp(rng.gauss(0, SIGMA))),
              rng.choices(list(SIZES), SIZES.values())[0],
              rng.choices(range(USERS), weights)[0]) for _ in range(count)]
    span = sum(duration * size for duration, size, _ in drawn) / (load * gpus)
    days = max(1, math.ceil(span / DAY))
    # Whole days, each a little shorter than a real one.
    submits = sorted((rng.randrange(days) * DAY + second_of_day(rng)) * span / (days * DAY) for _ in drawn)
    return [(submit, *what) for submit, what in zip(submits, drawn)]


def write(file, seed, count, gpus, load):
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["id", "submit_seconds", "duration_seconds", "gpus", "user"])
    for number, (submit, duration, size, user) in enumerate(jobs(seed, count, gpus, load), start=1):
        out.writerow([f"mixed-{number}", round(submit), round(duration), size, f"u{user:02}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=15000)
    parser.add_argument("--gpus", type=int, default=112, help="of the cluster (112)")
    parser.add_argument("--load", type=float, default=0.78, help="GPU time asked for, over what there is (0.78)")
    arguments = parser.parse_args()
    write(sys.stdout, arguments.seed, arguments.jobs, arguments.gpus, arguments.load)


if __name__ == "__main__":
    main()
