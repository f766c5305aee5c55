#!/usr/bin/env python3
"""Parity against a real API server: the same decisions, in the same order, at the same places as the simulator takes, without times.

Twelve pods wait when the server begins. Its beliefs of them are read from it and given to `sharewell simulate`, and pods end in the order in which the
simulated jobs do. (Byte for byte, with times, through a scripted driver in all engines: src/control/loop/parity_test.cc.)
"""

import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from foreseen import GRAPHS, JOBS, foresee  # noqa: E402
from serving import OURS, ServeTest, gpus_of, placed  # noqa: E402

NODES = {"n1": "H200", "n2": "A100"}


class Parity:
    def make_all(self):
        for i, (model, batch, _, shares, gpu) in enumerate(JOBS, 1):
            words = {"model": model, "batch": str(batch), "may-evict": "true", **({"gpu-model": gpu} if gpu else {}), **({} if shares else {"exclusive": "true"})}
            self.cluster.add_pod(f"p{i:02}", annotations={OURS + key: word for key, word in words.items()}, resources={"requests": {"cpu": "6", "memory": "1Gi"}})

    def running(self):
        return {pod["metadata"]["name"] for pod in self.cluster.pods() if pod["status"]["phase"] == "Running"}

    def test_the_same_starts_and_places_in_the_same_order(self):
        for name, model in NODES.items():
            self.add_nodes(name, model=model, capacity={"cpu": "64", "memory": "500G"})
        models = self.cluster.folder / "server-one/models"
        models.mkdir(parents=True)
        for model in {job[0] for job in JOBS}:
            shutil.copy(GRAPHS / model, models / model)
        self.make_all()
        self.serve()
        self.cluster.wait_until(self.running, "nothing runs")
        numbers = {name: self.number(name) for name in (f"p{i:02}" for i in range(1, len(JOBS) + 1))}
        foreseen = foresee(self.server, numbers, self.server.folder / "simulated")
        started = set()
        for what, job, place, share in foreseen:
            if what == "finish":
                self.assertLessEqual(self.running(), started, "nobody starts whom the simulator keeps waiting")
                self.cluster.playing.finish(job)
                self.cluster.wait_pod(job, phase="Succeeded")
                continue
            pod = self.cluster.wait_pod(job, phase="Running")
            node, index = place.split(":")
            self.assertEqual((pod["spec"]["nodeName"], placed(pod)), (node, [gpus_of(node, 2)[int(index)]]), job)
            self.assertEqual(pod["metadata"]["annotations"][OURS + "sm-share"], str(share), job)
            started.add(job)
        with sqlite3.connect(f"file:{self.server.folder}/store.db?mode=ro", uri=True) as store:
            decided = [job for (job,) in store.execute("SELECT job FROM job_event WHERE kind = 'job.placed' ORDER BY id")]
        self.assertEqual(decided, [numbers[job] for what, job, *_ in foreseen if what == "start"])


class OnFake(Parity, ServeTest):
    pass


class OnReal(Parity, ServeTest):
    REAL = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
