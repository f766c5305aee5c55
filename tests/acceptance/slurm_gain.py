#!/usr/bin/env python3
"""What a real Slurm gains by Sharewell, on simulated GPUs: the same 200 jobs by plain Slurm and by Sharewell, and what the simulator foresaw.

    tests/acceptance/slurm_gain.py [--only plain|sharewell] [--jobs N] [--out FILE] [--again FILE]

A real slurmctld and four slurmd with two GPUs each, of two generations. The GPUs are simulated: jobs are stubs, and how fast each goes is the
simulator's truth (slurm_stubs.py, slurm_world.cc). Plain Slurm: sched/backfill with bf_interval=1, a GPU for each job. Sharewell: `sharewell serve
--engine slurm`; each job names its model file in its comment, and nothing is known of how long it takes. Both arrive as data/slurm/trace.csv says, in
real time, one run after the other: about 40 minutes. Exit code 1: mean completion is less than 30 % better than plain Slurm's, or one of the two is
further than 10 % from what `sharewell simulate` foresaw.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "slurm"))

import cluster  # noqa: E402
from gain_table import CLUSTER_FILE, POLICIES, foresee, judge, model_files, read_trace, summary  # noqa: E402
from slurm_stubs import Stubs  # noqa: E402

PROGRAM = str(pathlib.Path(os.environ.get("SHAREWELL", ROOT / "build/release/sharewell")).resolve())
NODES = {"n1": ("H200", 2), "n2": ("H200", 2), "n3": ("A100", 2), "n4": ("A100", 2)}  # as the file has them
CORES, MEMORY_MB = 64, 512000
USER = "daemon" if os.geteuid() == 0 else None


class Run:
    """One of the two, from the first submission to the last end."""

    def __init__(self, kind, jobs, trace, seed):
        self.kind, self.jobs = kind, jobs
        ours = kind == "sharewell"
        self.slurm = cluster.Cluster(nodes=NODES, cores=CORES, memory_mb=MEMORY_MB, scripts=ours, slots=ours,
                                     **({} if ours else {"lua": None}))
        self.server = None
        self.models = model_files()
        gpus = {f"{node}/{i}": 2 * n + i for n, node in enumerate(NODES) for i in range(2)}
        with self.slurm:
            self.stubs = Stubs(self.slurm.folder / "stubs", trace, CLUSTER_FILE, [job["id"] for job in jobs], gpus, seed)
            try:
                if ours:
                    self.serve()
                self.run()
            finally:
                if self.server:
                    self.server.terminate()
                    self.server.wait(timeout=60)
                self.stubs.close()

    def serve(self):
        said = self.slurm.folder / "log/server.said"
        with open(said, "w", encoding="utf-8") as file:
            self.server = subprocess.Popen([PROGRAM, "serve", "--engine", "slurm", "--partition", self.slurm.partition, "--listen", "none", "--socket",
                                            str(self.slurm.folder / "s.sock"), "--store", str(self.slurm.folder / "store.db")], env=self.slurm.env,
                                           cwd=self.slurm.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.slurm.wait_until(lambda: "socket for users" in said.read_text(encoding="utf-8"), "the server does not answer")

    def submit(self, job):
        words = []
        if self.kind == "sharewell":
            model = self.models[tuple(job[k] for k in ("workload", "batch", "precision", "workers"))]
            words = [f"--comment=sharewell model={model} batch={job['batch']} precision={job['precision']}"]
        self.slurm.sbatch("--gres=gpu:1", f"-c{job['cores']}", "-J", job["id"], *words, script=self.stubs.script, user=USER)

    def run(self):
        stubs, self.submitted = self.stubs, {}
        stubs.began = time.monotonic()
        limit = 3600 + float(self.jobs[-1]["submit_seconds"])
        left = list(self.jobs)
        said = 0.0
        while len(stubs.ends) < len(self.jobs):
            if stubs.now() > limit:
                raise AssertionError(f"{len(self.jobs) - len(stubs.ends)} jobs have not ended")
            if left and stubs.now() >= float(left[0]["submit_seconds"]):
                job = left.pop(0)
                self.submitted[job["id"]] = stubs.now()
                self.submit(job)
            stubs.step(float(left[0]["submit_seconds"]) if left else stubs.now() + 5)
            if stubs.now() > said + 60:
                said = stubs.now()
                print(f"{self.kind}: {said:.0f} s: {len(self.submitted)} submitted, {len(stubs.running)} run, {len(stubs.ends)} ended", file=sys.stderr,
                      flush=True)
        fields = pathlib.Path(f"/proc/{self.slurm.processes['slurmctld'].pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        self.controller_seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def result(self):
        stubs = self.stubs
        completion = [stubs.ends[name] - at for name, at in self.submitted.items()]
        return {**summary(completion), "makespan": max(stubs.ends.values()) - min(self.submitted.values()),
                "restarts": sum(len(starts) - 1 for starts in stubs.starts.values()), "broken": stubs.broken, "slurmctld_cpu_seconds": self.controller_seconds,
                "jobs": {name: {"submitted": at, "starts": stubs.starts[name], "ended": stubs.ends[name]} for name, at in self.submitted.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trace", type=pathlib.Path, default=ROOT / "data/slurm/trace.csv")
    parser.add_argument("--only", choices=list(POLICIES), help="one of the two runs")
    parser.add_argument("--jobs", type=int, default=200, help="so many of the trace (a try; the bars are for all)")
    parser.add_argument("--seed", type=int, default=1, help="of what the simulator's truth draws")
    parser.add_argument("--out", type=pathlib.Path, help="also write every job's times, as JSON")
    parser.add_argument("--again", type=pathlib.Path, help="run nothing, and judge what an earlier --out wrote")
    args = parser.parse_args()
    if cluster.missing() and not args.again:
        sys.exit(cluster.missing())
    jobs = read_trace(args.trace, args.jobs)
    foreseen = foresee(args.trace, args.seed)
    window = float(jobs[-1]["submit_seconds"])
    gpus = sum(count for _, count in NODES.values())
    work = foreseen["plain"]["run_mean_seconds"] - float(jobs[0]["startup_seconds"])
    print(f"{len(jobs)} jobs over {window:.0f} s on {gpus} GPUs, offered load {work * len(jobs) / gpus / window:.2f}")
    really = json.loads(args.again.read_text(encoding="utf-8")) if args.again else {}
    for kind in [] if args.again else [args.only] if args.only else POLICIES:
        really[kind] = Run(kind, jobs, args.trace, args.seed).result()
        if args.out:
            args.out.write_text(json.dumps(really, indent=1), encoding="utf-8")
    for kind, run in really.items():
        print(f"{kind}: {run['restarts']} restarts, slurmctld {run['slurmctld_cpu_seconds']:.0f} s of CPU time")
    judge(foreseen, really, jobs, "plain Slurm's")


if __name__ == "__main__":
    main()
