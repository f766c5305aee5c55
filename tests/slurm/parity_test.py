#!/usr/bin/env python3
"""Parity against a real Slurm: the same decisions, in the same order, at the same places as the simulator takes, without times.

Twelve jobs wait, held, when the server begins. Its beliefs of them are read from it and given to `sharewell simulate`, and jobs end in the order in
which the simulated ones do. (Byte for byte, with times, and for every policy: src/control/loop/parity_test.cc.)
"""

import os
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import missing  # noqa: E402
from engine_test import USER, ServeTest  # noqa: E402
from foreseen import GRAPHS, JOBS, foresee  # noqa: E402

STUB = 'echo "$SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES sm=${{CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-100}}"; read -r word < {}; exit 0'


@unittest.skipIf(missing(), missing())
class Parity(ServeTest):
    OPTIONS = {"scripts": True, "nodes": {"n1": ("H200", 2), "n2": ("A100", 2)}, "cores": 64, "memory_mb": 512000}

    def pipe(self, name):
        return self.cluster.folder / "out" / name

    def submit_all(self):
        numbers = {}
        for i, (model, batch, _, shares, gpu) in enumerate(JOBS, 1):
            name = f"p{i:02}"
            os.mkfifo(self.pipe(name))
            self.pipe(name).chmod(0o666)
            self.addCleanup(self.pipe(name).unlink)
            words = f"--comment=sharewell model={GRAPHS / model} batch={batch}" + ("" if shares else " exclusive")
            numbers[name] = self.submit(f"--gres=gpu:{gpu + ':' if gpu else ''}1", "-c6", "-J", name, words, script=STUB.format(self.pipe(name)))
        return numbers

    def test_the_same_starts_and_places_in_the_same_order(self):
        numbers = self.submit_all()
        self.serve()
        self.cluster.wait_until(lambda: self.cluster.squeue("-t", "R"), "nothing runs")
        foreseen = foresee(self.server, numbers, self.cluster.folder / "simulated")
        started = set()
        for what, job, place, share in foreseen:
            if what == "finish":
                running = {line[0] for line in self.cluster.squeue("-t", "R", form="%j %T")}
                self.assertLessEqual(running, started, "nobody starts whom the simulator keeps waiting")
                with open(self.pipe(job), "w", encoding="utf-8") as pipe:
                    pipe.write("done\n")
                self.cluster.wait_job(numbers[job], "COMPLETED")
                continue
            self.assertEqual(self.told(numbers[job], "sm=", patience=60).strip(), f"{place} sm={share}", job)
            started.add(job)
        with sqlite3.connect(f"file:{self.cluster.folder}/store.db?mode=ro", uri=True) as store:
            decided = [job for (job,) in store.execute("SELECT job FROM job_event WHERE kind = 'job.placed' ORDER BY id")]
        self.assertEqual(decided, [numbers[job] for what, job, *_ in foreseen if what == "start"])


if __name__ == "__main__":
    unittest.main()
