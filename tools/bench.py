#!/usr/bin/env python3
"""Runs every benchmark of a build; says by which ratio each differs from a run that was kept on this machine.

    tools/bench.py build/release --keep     run, and keep it in build/bench.json
    tools/bench.py build/release            run, and compare with what is kept

Times are CPU time. They say nothing about another machine, so none are in the repository: to judge a change, keep
a run of the commit before it. Fails only where a benchmark does; a ratio is for people to judge.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "bench.json"
NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(program):
    done = subprocess.run([str(program), "--benchmark_format=json"], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {program.name} failed with status {done.returncode}")
    report = json.loads(done.stdout)
    return {b["name"]: b["cpu_time"] * NANOSECONDS[b["time_unit"]] for b in report["benchmarks"]
            if b.get("run_type") != "aggregate" and "error_message" not in b}


def human(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="keep this run to compare later ones with")
    args = parser.parse_args()
    before = json.loads(KEPT.read_text()) if KEPT.exists() else {}

    programs = [args.build.resolve() / source.stem for source in sorted((ROOT / "bench").glob("*_bench.cc"))]
    if not programs:
        print("bench: there is no bench/*_bench.cc yet")
        return 0
    now = {}
    for program in programs:
        if not program.exists():
            sys.exit(f"bench: {program.name} is not built: add sharewell_bench({program.name[:-6]} DEPS ...) "
                     "to bench/CMakeLists.txt")
        for name, value in run(program).items():
            key = f"{program.name[:-6]}/{name}"
            now[key] = value
            old = before.get(key)
            change = f"x {value / old:.2f}" if old else ("new" if before else "")
            print(f"{key:<60} {human(value):>10}  {change}")
    if args.keep:
        KEPT.write_text(json.dumps(now, indent=2) + "\n")
        print(f"bench: kept in {KEPT.relative_to(ROOT)}")
    elif not before:
        print("bench: no run is kept here to compare with: tools/bench.py build/release --keep")
    return 0


if __name__ == "__main__":
    sys.exit(main())
