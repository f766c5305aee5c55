#!/usr/bin/env python3
"""What slurmctld is asked: requests (RPCs, as sdiag counts them) a job with plain Slurm and with `sharewell serve --engine slurm`, and a second while
nothing waits.

    tests/acceptance/slurm_rpcs.py [--jobs N] [--seconds S]

A real Slurm with four nodes and ten GPUs; short jobs of one GPU, submitted all at once, so that most of them wait. About three minutes.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "slurm"))

import cluster  # noqa: E402

PROGRAM = str(pathlib.Path(os.environ.get("SHAREWELL", ROOT / "build/release/sharewell")).resolve())
USER = "daemon" if os.geteuid() == 0 else None


def requests(slurm):
    """By type, since the last reset; without those of sdiag itself."""
    text = slurm.run("sdiag", check=True).stdout
    by_type = text.split("statistics by message type")[1].split("statistics by user")[0]
    return {name: int(count) for name, count in re.findall(r"^\s+(\w+)\s+\( *\d+\) count:(\d+)", by_type, re.M) if name != "REQUEST_STATS_INFO"}


def counted(slurm, work):
    slurm.run("sdiag", "--reset", check=True)
    began = time.monotonic()
    work()
    return requests(slurm), time.monotonic() - began


def run_jobs(slurm, jobs, seconds):
    """Looks seldom whether they have ended: each look is a request too."""
    for _ in range(jobs):
        slurm.sbatch("--gres=gpu:1", "-o", "/dev/null", script=f"sleep {seconds}", user=USER)
    while slurm.squeue():
        time.sleep(5)


def tell(what, found, jobs):
    most = sorted(found.items(), key=lambda one: -one[1])[:5]
    print(f"{what}: {sum(found.values()) / jobs:.1f} requests a job: " + ", ".join(f"{name} {count / jobs:.1f}" for name, count in most))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=2, help="of a job")
    parser.add_argument("--idle", type=int, default=30, help="seconds of an empty queue")
    args = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if cluster.missing():
        sys.exit(cluster.missing())
    with cluster.Cluster(lua=None, slots=False) as slurm:
        found, took = counted(slurm, lambda: run_jobs(slurm, args.jobs, args.seconds))
        tell(f"plain Slurm, {args.jobs} jobs in {took:.0f} s", found, args.jobs)
    with cluster.Cluster() as slurm, open(slurm.folder / "log/server.said", "w", encoding="utf-8") as said:
        server = subprocess.Popen([PROGRAM, "serve", "--engine", "slurm", "--partition", slurm.partition, "--listen", "none", "--socket",
                                   str(slurm.folder / "s.sock"), "--store", str(slurm.folder / "store.db")], env=slurm.env, cwd=slurm.folder,
                                  stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            slurm.wait_until((slurm.folder / "s.sock").exists, "the server does not start")
            time.sleep(5)
            found, took = counted(slurm, lambda: time.sleep(args.idle))
            print(f"Sharewell, nothing waits: {sum(found.values()) / took:.1f} requests a second")
            found, took = counted(slurm, lambda: run_jobs(slurm, args.jobs, args.seconds))
            tell(f"Sharewell, {args.jobs} jobs in {took:.0f} s", found, args.jobs)
        finally:
            server.terminate()
            server.wait(timeout=120)


if __name__ == "__main__":
    main()
