#!/usr/bin/env python3
"""What a Kubernetes cluster gains by Sharewell, on simulated GPUs: the same 200 jobs with exclusive GPUs and by Sharewell, and what the simulator foresaw.

    SHAREWELL=build/release/sharewell /usr/bin/python3 tests/kubernetes/gain.py [--only plain|sharewell] [--jobs N] [--out FILE]

A real kube-apiserver with four nodes of two GPUs each, of two generations. Kubelets are played, and the GPUs are simulated: how fast a pod goes is the
simulator's truth (tests/acceptance/slurm_world.cc, as for Slurm). Exclusive: our own server with the policy `slot`, which is first come, first served with
a GPU for each pod, as kube-scheduler and NVIDIA's device plugin do it; kube-scheduler itself is not run. Sharewell: each pod names its model file, and
nothing is known of how long it takes. Both arrive as data/slurm/trace.csv says, in real time, one run after the other: about 40 minutes. Exit code 1: mean
completion is less than 30 % better than with exclusive GPUs, or one of the two is further than 10 % from what `sharewell simulate` foresaw.
"""

import argparse
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "acceptance"))

from cluster import Cluster  # noqa: E402
from gain_table import CLUSTER_FILE, POLICIES, foresee, judge, model_files, read_trace, summary  # noqa: E402
from serving import OURS, Server, gpus_of, placed  # noqa: E402

NODES = {"n1": "H200", "n2": "H200", "n3": "A100", "n4": "A100"}  # two GPUs each, as the cluster file has them
WORLD = pathlib.Path(os.environ.get("SHAREWELL", "build/release/sharewell")).resolve().parent / "slurm_world"
NUMBERS = {gpu: 2 * n + i for n, node in enumerate(NODES) for i, gpu in enumerate(gpus_of(node, 2))}


class World:
    """The kubelets and the GPUs: a pod that is bound runs as fast as the simulator says. A pod that was deleted is made again, as a Job does it."""

    def __init__(self, cluster, trace, jobs, make, seed):
        self.cluster, self.make = cluster, make
        self.names = [job["id"] for job in jobs]
        self.world = subprocess.Popen([WORLD, trace, CLUSTER_FILE, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.began, self.next = time.monotonic(), None
        self.news = queue.Queue()
        self.running, self.leaving = {}, set()  # job -> its pod; uids of pods that were stopped
        self.starts, self.ends, self.broken = {}, {}, []

    def now(self):
        return time.monotonic() - self.began

    def seen(self, kind, pods):
        for pod in pods:
            self.news.put((kind, pod))

    def _ask(self, *words):
        self.world.stdin.write(" ".join(map(str, (f"{self.now():.6f}", *words))) + "\n")
        self.world.stdin.flush()
        while True:
            answer = self.world.stdout.readline().split()
            if not answer:
                raise RuntimeError("slurm_world has ended")
            if answer[0] == "next":
                self.next = None if answer[1] == "never" else float(answer[1])
                return
            name = self.names[int(answer[1])]
            if answer[0] == "broken":
                self.broken.append(name)
            self.ends[name] = self.now()
            pod = self.running.pop(name)
            self.cluster.playing.finish(pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _take(self, kind, pod):
        name, uid = pod["metadata"]["labels"]["job"], pod["metadata"]["uid"]
        gone = kind == "DELETED" or pod["metadata"].get("deletionTimestamp")
        if gone and name in self.running and self.running[name]["metadata"]["uid"] == uid:
            del self.running[name]
            self._ask("stop", self.names.index(name))
        if kind == "DELETED" and name not in self.ends and uid not in self.leaving:
            self.leaving.add(uid)
            self.make(name)
        if gone or pod["status"]["phase"] != "Running" or name in self.running or name in self.ends:
            return
        self.running[name] = pod
        share, (gpu,) = int(pod["metadata"]["annotations"][OURS + "sm-share"]), placed(pod)
        self.starts.setdefault(name, []).append((self.now(), gpu, share))
        self._ask("start", self.names.index(name), NUMBERS[gpu], share / 100, pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])

    def step(self, until):
        wake = min(t for t in (until, self.next) if t is not None)
        try:
            self._take(*self.news.get(timeout=max(0.001, min(wake - self.now(), 5))))
        except queue.Empty:
            pass
        if self.next is not None and self.next <= self.now():
            self._ask()

    def close(self):
        self.world.stdin.close()
        self.world.wait(timeout=10)
        self.world.stdout.close()


class Run:
    """One of the two, from the first pod to the last end."""

    def __init__(self, kind, jobs, trace, seed):
        self.kind, self.jobs, self.made = kind, {job["id"]: job for job in jobs}, 0
        self.models = model_files()
        with Cluster(True, manifests=("deploy/kubernetes/base",)) as self.cluster:
            for node, model in NODES.items():
                self.cluster.add_node(node, annotations={OURS + "gpus": " ".join([model, *gpus_of(node, 2)])}, capacity={"cpu": "64", "memory": "500Gi"})
            for user in {job["user"] for job in jobs}:
                self.cluster.create("/api/v1/namespaces", {"metadata": {"name": user}})
            self.world = World(self.cluster, trace, jobs, self.make, seed)
            self.cluster.play(end=0.05).seen = self.world.seen
            server = Server(self.cluster, "--policy", POLICIES[kind])
            for job in jobs:
                shutil.copy(self.model(job), server.folder / "models" / self.model(job).name)
            try:
                self.run(jobs)
            finally:
                server.end(signal.SIGKILL)
                self.world.close()

    def model(self, job):
        return self.models[tuple(job[k] for k in ("workload", "batch", "precision", "workers"))]

    def make(self, name):
        job, self.made = self.jobs[name], self.made + 1
        words = {OURS + "model": self.model(job).name, OURS + "batch": job["batch"], OURS + "precision": job["precision"]} if self.kind == "sharewell" else {}
        self.cluster.add_pod(f"{name}-{self.made}", space=job["user"], owner=("Job", name), labels={"job": name}, annotations=words,
                             resources={"requests": {"cpu": job["cores"]}})

    def run(self, jobs):
        world, self.submitted, left, said = self.world, {}, list(jobs), 0.0
        limit = 3600 + float(jobs[-1]["submit_seconds"])
        world.began = time.monotonic()
        while len(world.ends) < len(jobs):
            if world.now() > limit:
                raise AssertionError(f"{len(jobs) - len(world.ends)} pods have not ended")
            if left and world.now() >= float(left[0]["submit_seconds"]):
                job = left.pop(0)
                self.submitted[job["id"]] = world.now()
                self.make(job["id"])
            world.step(float(left[0]["submit_seconds"]) if left else world.now() + 5)
            if world.now() > said + 60:
                said = world.now()
                print(f"{self.kind}: {said:.0f} s: {len(self.submitted)} made, {len(world.running)} run, {len(world.ends)} ended", file=sys.stderr, flush=True)

    def result(self):
        world = self.world
        return {**summary([world.ends[name] - at for name, at in self.submitted.items()]), "makespan": max(world.ends.values()) - min(self.submitted.values()),
                "restarts": sum(len(starts) - 1 for starts in world.starts.values()), "broken": world.broken,
                "jobs": {name: {"submitted": at, "starts": world.starts[name], "ended": world.ends[name]} for name, at in self.submitted.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=pathlib.Path, default=ROOT / "data/slurm/trace.csv")
    parser.add_argument("--only", choices=list(POLICIES), help="one of the two runs")
    parser.add_argument("--jobs", type=int, default=200, help="so many of the trace (a try; the bars are for all)")
    parser.add_argument("--seed", type=int, default=1, help="of what the simulator's truth draws")
    parser.add_argument("--out", type=pathlib.Path, help="also write every job's times, as JSON")
    options = parser.parse_args()
    jobs, really = read_trace(options.trace, options.jobs), {}
    for kind in [options.only] if options.only else POLICIES:
        really[kind] = Run(kind, jobs, options.trace, options.seed).result()
        if options.out:
            options.out.write_text(json.dumps(really, indent=1), encoding="utf-8")
    for kind, run in really.items():
        print(f"{kind}: {run['restarts']} restarts")
    judge(foresee(options.trace, options.seed), really, jobs, "with exclusive GPUs")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
