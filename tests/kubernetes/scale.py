#!/usr/bin/env python3
"""A large cluster on a real kube-apiserver: 1,000 nodes of 8 GPUs, 10,000 pods that wait, and `sharewell serve --engine kubernetes`.

    SHAREWELL=build/release/sharewell /usr/bin/python3 tests/kubernetes/scale.py [--nodes N] [--pods N] [--seconds N]

The API server and etcd are real; the nodes are objects alone. No kubelet is played: a pod that is bound has its GPU until the test deletes it.

First wave: all pods wait when the server starts, and as many are bound as there are GPUs. The first decision, by the server's store, within 5 s after
its start, all that it reads included; at least 100 bindings a second, from the first that a watch showed to the last. Then 20 pods arrive and 20 are
deleted every second: from a decision (in the store) to the binding that the watch shows under 1 s for 99 of 100. Never more than 500 MB of memory.
Exit code 1 where one is missed. All are times of a machine that has nothing else to do.
"""

import argparse
import collections
import os
import pathlib
import signal
import sqlite3
import sys
import time

from bulk import Bulk, Watcher, requests_of
from cluster import GPU_ENV, Cluster
from serving import OURS, Server, gpus_of

GPUS = 8
SPACES = [f"team-{i}" for i in range(20)]  # a user may run 1,000 jobs
LEAST_RATE, MOST_SECONDS, MOST_MEMORY, FIRST_DECISION = 100, 1.0, 500e6, 5.0


def pods_of(first, count):
    return [("POST", f"/api/v1/namespaces/{SPACES[i % len(SPACES)]}/pods", {"metadata": {"name": f"p{i}"}, "spec": {
        "schedulerName": "sharewell", "restartPolicy": "Never", "containers": [
            {"name": "main", "image": "example.org/image", "env": GPU_ENV, "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}]}}) for i in range(first, first + count)]


def events(server, kind):
    """job -> when, by the server's store."""
    with sqlite3.connect(f"file:{server.folder}/store.db?mode=ro", uri=True) as store:
        return {job: at / 1000 for job, at in store.execute("SELECT job, max(time) FROM job_event WHERE kind = ? GROUP BY job", (kind,))}


def job_names(server):
    """(user, name) -> job."""
    return {(job["user"], job["name"]): job["number"] for job in server.jobs()}


def memory(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM"))


def wait_for(holds, what, patience, server):
    end = time.monotonic() + patience
    while not holds():
        if server.process.poll() is not None:
            raise AssertionError(f"the server ended: {server.said()[-1000:]}")
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}\n{server.said()[-1500:]}")
        time.sleep(0.2)


def told_requests(before, after, seconds):
    more = {key: count - before.get(key, 0) for key, count in after.items() if count > before.get(key, 0)}
    most = sorted(more.items(), key=lambda one: -one[1])[:8]
    return f"{sum(more.values()) / seconds:.0f} requests a second: " + ", ".join(f"{verb} {what} {count / seconds:.0f}" for (verb, what), count in most)


def first_wave(cluster, watcher, options, failed):
    wanted = min(options.nodes * GPUS, options.pods)
    before, began = requests_of(cluster), time.time()
    server = Server(cluster)
    wait_for(lambda: len(watcher.bound) >= wanted, lambda: f"{len(watcher.bound)} of {wanted} were bound", 900, server)
    seconds = time.time() - began
    first, last = min(watcher.bound.values()), max(watcher.bound.values())
    decided = events(server, "job.placed")
    at_once = collections.Counter(round(at, 1) for at in decided.values()).most_common(1)[0]
    rate = wanted / (last - first)
    print(f"first wave: {wanted} bindings, {rate:.0f} a second; all in {seconds:.1f} s after the start; the first decision {min(decided.values()) - began:.1f} s "
          f"after the start, {at_once[1]} starts in the largest; the first binding {first - began:.1f} s after the start", flush=True)
    print(f"  {told_requests(before, requests_of(cluster), seconds)}; memory {memory(server) / 1e6:.0f} MB", flush=True)
    if rate < LEAST_RATE:
        failed.append(f"{rate:.0f} bindings a second")
    if min(decided.values()) - began > FIRST_DECISION:
        failed.append("the first decision took too long")
    return server


def arrivals(cluster, bulk, watcher, server, options, failed):
    before_bound, before, began = set(watcher.bound), requests_of(cluster), time.monotonic()
    running, number = list(before_bound), options.pods
    for second in range(options.seconds):
        ends = [watcher.names[running.pop()] for _ in range(options.rate)]
        bulk.all([("DELETE", f"/api/v1/namespaces/{space}/pods/{name}", {"gracePeriodSeconds": 0}) for space, name in ends] + pods_of(number, options.rate))
        number += options.rate
        time.sleep(max(0.0, second + 1 - (time.monotonic() - began)))
    took = time.monotonic() - began
    time.sleep(5)
    decided, jobs = events(server, "job.placed"), job_names(server)
    spans = sorted(at - decided[jobs[watcher.names[uid]]] for uid, at in watcher.bound.items() if uid not in before_bound and watcher.names.get(uid) in jobs
                   and jobs[watcher.names[uid]] in decided)
    if len(spans) < options.rate * options.seconds / 2:
        failed.append(f"only {len(spans)} were bound while {options.rate * options.seconds} arrived")
        return
    p99 = spans[min(len(spans) - 1, int(0.99 * len(spans)))]
    print(f"then {options.rate * options.seconds / took:.1f} a second arrived and ended for {took:.0f} s: {len(spans)} bindings, decision to binding p50 "
          f"{spans[len(spans) // 2]:.2f} s, p99 {p99:.2f} s, most {spans[-1]:.2f} s", flush=True)
    print(f"  {told_requests(before, requests_of(cluster), took)}; memory {memory(server) / 1e6:.0f} MB", flush=True)
    if p99 > MOST_SECONDS:
        failed.append(f"decision to binding p99 {p99:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=60, help="of arrivals")
    parser.add_argument("--rate", type=int, default=20, help="arrivals a second")
    options = parser.parse_args()
    failed = []
    with Cluster(True, manifests=("deploy/kubernetes/base",)) as cluster:
        bulk, watcher = Bulk(cluster), Watcher(cluster)
        began = time.monotonic()
        bulk.all([("POST", "/api/v1/namespaces", {"metadata": {"name": space}}) for space in SPACES])
        capacity = {"cpu": "64", "memory": "512Gi", "pods": "110"}
        bulk.add_nodes({f"n{i}": ({OURS + "gpus": " ".join(["H200", *gpus_of(f"n{i}", GPUS)])}, capacity) for i in range(options.nodes)})
        watcher.start()
        bulk.all(pods_of(0, options.pods))
        wait = time.monotonic() - began
        print(f"{options.nodes} nodes, {options.nodes * GPUS} GPUs, {options.pods} pods; made in {wait:.0f} s", flush=True)
        server = first_wave(cluster, watcher, options, failed)
        try:
            arrivals(cluster, bulk, watcher, server, options, failed)
            if memory(server) > MOST_MEMORY:
                failed.append(f"{memory(server) / 1e6:.0f} MB of memory")
        finally:
            watcher.over.set()
            server.end(signal.SIGKILL)
    for what in failed:
        print(f"FAILED: {what}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
