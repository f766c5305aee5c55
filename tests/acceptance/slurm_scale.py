#!/usr/bin/env python3
"""How fast a large queue is released: a real slurmctld with 1,000 nodes of 8 GPUs and 10,000 jobs, and `sharewell serve --engine slurm`.

    tests/acceptance/slurm_scale.py [--nodes N] [--jobs N] [--seconds N]

slurmctld, its commands and everything that Sharewell does with them are real. The nodes are not: a machine that could run 1,000 slurmd and 8,000 jobs
is not at hand. No slurmd is started, and the partition is down, so that slurmctld starts nothing; two small scripts in front of squeue and scontrol
say instead that every node is idle and that every released job runs where it was placed. A job ends when the test cancels it.

First wave: all jobs wait when the server starts; as many are released as there are GPUs. At least 100 releases a second, from the first placement that
slurmctld saw to the last release. Then 20 jobs arrive and 20 end every second: from a decision (in the server's store) to its release (in slurmctld's
log) under 1 s for 99 of 100. Exit code 1 where one of them is missed.

Both are times of a machine that has nothing else to do. Beside a build run it ahead of the others: `chrt -r 5 tests/acceptance/slurm_scale.py`.
"""
import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "slurm"))

import cluster  # noqa: E402

PROGRAM = str(pathlib.Path(os.environ.get("SHAREWELL", ROOT / "build/release/sharewell")).resolve())
GPUS = 8
# So many that none runs into the server's own limit of 1,000 running jobs a user.
USERS = ["daemon", "bin", "sys", "games", "man", "lp", "mail", "news", "uucp", "proxy"] if os.geteuid() == 0 else [None]
LEAST_RATE, MOST_SECONDS = 100, 1.0
SQUEUE = """#!/bin/sh
# What was released runs where it was placed.
case " $* " in
*' --json '*|*' -h '*) exec {real} "$@" ;;
*) {real} --noheader --all --format '%A|%T|%Q|%P|%N|%C|%r|%n' --partition gpu |
  awk -F'|' 'BEGIN {{ OFS = "|" }} {{ if ($2 == "PENDING" && $3 > 0) {{ $2 = "RUNNING"; $5 = $8; $7 = "None" }} NF = 7; print }}' ;;
esac
"""
SCONTROL = """#!/bin/sh
case "$*" in
'show node --oneliner') {real} "$@" | sed 's/ State=[^ ]*/ State=IDLE/' ;;
-o) {real} -o | sed '/ Priority=0 /!s/ JobState=PENDING Reason=[^ ]* / JobState=RUNNING Reason=None /' ;;
*) exec {real} "$@" ;;
esac
"""


class LargeCluster(cluster.Cluster):
    def __init__(self, nodes):
        super().__init__(nodes={f"n{i}": ("H200", GPUS) for i in range(1, nodes + 1)}, cores=64, memory_mb=512000, slurmd_timeout=0,
                         site="MaxJobCount=100000\nMessageTimeout=60\nSlurmctldDebug=info")
        # Every command reads all of it: one line for all nodes is read ten times as fast as a thousand.
        text = self.conf.read_text(encoding="utf-8")
        self.conf.write_text(re.sub(r"(?ms)^NodeName=n1 Port=\d+ (.*?)$.*?^(PartitionName=)", rf"NodeName=n[1-{nodes}] "
                                    rf"Port=[{self.ports + 1}-{self.ports + nodes}] \1\n\2", text), encoding="utf-8")
        gres = self.folder / "etc/gres.conf"
        gres.write_text("".join(line.replace("=n1 ", f"=n[1-{nodes}] ") + "\n" for line in gres.read_text(encoding="utf-8").splitlines()
                                if "NodeName=n1 " in line or "AutoDetect" in line), encoding="utf-8")
        place = self.folder / "shims"
        place.mkdir()
        for name, text in (("squeue", SQUEUE), ("scontrol", SCONTROL)):
            (place / name).write_text(text.format(real=shutil.which(name, path=self.env["PATH"])), encoding="utf-8")
            (place / name).chmod(0o755)
        self.played = {**self.env, "PATH": f"{place}:{self.env['PATH']}"}

    def start_node(self, name):
        pass

    def wait_nodes(self, *_, **__):
        self.scontrol("update", f"PartitionName={self.partition}", "State=DOWN")


def submit(large, count, at_once=4):
    """Held by the plugin, as a site's users' jobs are. Their numbers."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda i: large.sbatch("--gres=gpu:1", "-c2", "-o", "/dev/null", user=USERS[i % len(USERS)]), range(count)))


def log_times(large, pattern):
    """job -> seconds of the day's clock, of the last line that fits."""
    found = {}
    with open(large.folder / "log/slurmctld.log", encoding="utf-8", errors="replace") as log:
        for line in log:
            match = re.match(r"\[(\S+?)\] sched: " + pattern + r".*JobId=(\d+)", line)
            if match:
                found[int(match.group(2))] = datetime.datetime.fromisoformat(match.group(1)).timestamp()
    return found


def releases(large):
    return log_times(large, "_release_job_rec: release hold")


def decisions(large):
    """job -> when the server decided, by its store."""
    with sqlite3.connect(f"file:{large.folder}/store.db?mode=ro", uri=True) as store:
        return {job: at / 1000 for job, at in store.execute("SELECT job, max(time) FROM job_event WHERE kind = 'job.placed' GROUP BY job")}


def controller_seconds(large):
    fields = pathlib.Path(f"/proc/{large.processes['slurmctld'].pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(holds, what, patience):
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.5)


def first_wave(large, wanted, patience):
    cpu, began = controller_seconds(large), time.time()
    wait_for(lambda: len(releases(large)) >= wanted, f"only so many of {wanted} were released within {patience} s", patience)
    placed, released = log_times(large, "_update_job: setting req_nodes"), releases(large)
    first, last = min(placed.values()), max(released.values())
    rate = len(released) / (last - first)
    print(f"first wave: {len(released)} releases, the first place {first - began:.1f} s and the first release {min(released.values()) - began:.1f} s after "
          f"the server, {rate:.0f} a second; slurmctld {100 * (controller_seconds(large) - cpu) / (time.time() - began):.0f} % of a core")
    return rate


def arrivals(large, running, seconds, a_second):
    """Jobs arrive and others end, so many a second. From decision to release, of each that was released meanwhile."""
    before = set(releases(large))
    cpu, began = controller_seconds(large), time.monotonic()
    late = 0.0
    for second in range(seconds):
        ends = [running.pop() for _ in range(a_second)]
        large.run("scancel", *ends)
        submit(large, a_second)
        late = time.monotonic() - began - second - 1
        if late < 0:
            time.sleep(-late)
    took = time.monotonic() - began
    share = 100 * (controller_seconds(large) - cpu) / took
    time.sleep(5)
    decided, released = decisions(large), releases(large)
    spans = sorted(released[job] - decided[job] for job in released if job not in before and job in decided)
    if not spans:
        raise AssertionError("nothing was released")
    p99 = spans[min(len(spans) - 1, int(0.99 * len(spans)))]
    print(f"arrivals: {a_second * seconds} jobs in {took:.0f} s ({a_second * seconds / took:.1f} a second), {len(spans)} released; decision to release p50 "
          f"{spans[len(spans) // 2]:.2f} s, p99 {p99:.2f} s; slurmctld {share:.0f} % of a core")
    return p99


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=18000, help="so many that 10,000 wait while all GPUs are in use")
    parser.add_argument("--seconds", type=int, default=60, help="of arrivals")
    parser.add_argument("--arrivals", type=int, default=20, help="a second")
    parser.add_argument("--patience", type=int, default=900, help="seconds for the first wave")
    args = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if cluster.missing():
        sys.exit(cluster.missing())
    with LargeCluster(args.nodes) as large:
        began = time.monotonic()
        submit(large, args.jobs)
        print(f"{args.nodes} nodes x {GPUS} GPUs, {args.jobs} jobs submitted in {time.monotonic() - began:.0f} s")
        for words in (("squeue", "--noheader", "--all", "--format", "%A|%T|%Q|%P|%N|%C|%r"), ("squeue", "--json"), ("scontrol", "show", "node", "--oneliner")):
            began = time.monotonic()
            size = len(large.run(*words, timeout=120).stdout)
            print(f"  {' '.join(words[:3])}: {time.monotonic() - began:.2f} s, {size / 1e6:.1f} MB")
        with open(large.folder / "log/server.said", "w", encoding="utf-8") as said:
            server = subprocess.Popen([PROGRAM, "serve", "--engine", "slurm", "--partition", large.partition, "--listen", "none", "--socket",
                                       str(large.folder / "s.sock"), "--store", str(large.folder / "store.db")], env=large.played, cwd=large.folder,
                                      stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            rate = first_wave(large, min(args.jobs, args.nodes * GPUS), args.patience)
            p99 = arrivals(large, sorted(releases(large)), args.seconds, args.arrivals)
        except AssertionError as failure:
            print((large.folder / "log/server.said").read_text(encoding="utf-8")[-3000:])
            print(f"{len(releases(large))} were released")
            sys.exit(f"FAILED: {failure}")
        finally:
            server.terminate()
            server.wait(timeout=120)
    if rate < LEAST_RATE or p99 > MOST_SECONDS:
        sys.exit(f"FAILED: {rate:.0f} releases a second (at least {LEAST_RATE}), p99 {p99:.2f} s (at most {MOST_SECONDS})")


if __name__ == "__main__":
    main()
