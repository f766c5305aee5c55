#!/usr/bin/env python3
"""Runs every benchmark of a build and compares with bench/baseline.json, where that is there.

    tools/bench.py build/release            run and compare; never fails on a slow run
    tools/bench.py build/release --keep     run and make this the baseline

A baseline speaks for the machine it was measured on; its context names that machine's CPU count and clock.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINE = ROOT / "bench" / "baseline.json"
NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(program):
    done = subprocess.run([str(program), "--benchmark_format=json"], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {program.name} failed with status {done.returncode}")
    report = json.loads(done.stdout)
    times = {b["name"]: b["cpu_time"] * NANOSECONDS[b["time_unit"]] for b in report["benchmarks"]
             if b.get("run_type") != "aggregate" and "error_message" not in b}
    return report["context"], times


def human(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="make this run the baseline")
    args = parser.parse_args()
    before = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"cpu_time_ns": {}}

    programs = [args.build.resolve() / source.stem for source in sorted((ROOT / "bench").glob("*_bench.cc"))]
    if not programs:
        print("bench: there is no bench/*_bench.cc yet")
        return 0
    now = {}
    context = {}
    for program in programs:
        if not program.exists():
            sys.exit(f"bench: {program.name} is not built: add sharewell_bench({program.name[:-6]} DEPS ...) "
                     "to bench/CMakeLists.txt")
        context, times = run(program)
        for name, value in times.items():
            key = f"{program.name[:-6]}/{name}"
            now[key] = value
            old = before["cpu_time_ns"].get(key)
            change = f"{100 * (value / old - 1):+6.1f} %" if old else "new"
            print(f"{key:<60} {human(value):>10}  {change}")
    if args.keep:
        machine = {key: context[key] for key in ("num_cpus", "mhz_per_cpu") if key in context}
        BASELINE.write_text(json.dumps({"context": machine, "cpu_time_ns": now}, indent=2) + "\n")
        print(f"bench: kept as {BASELINE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
