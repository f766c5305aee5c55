#!/usr/bin/env python3
"""Parity against a real Slurm: the same decisions, in the same order, at the same places as the simulator takes, without times.

Twelve jobs wait, held, when the server begins. Its beliefs of them are read from it and given to `sharewell simulate`, and jobs end in the order in
which the simulated ones do. (Byte for byte, with times, and for every policy: src/control/loop/parity_test.cc.)
"""

import csv
import os
import sqlite3
import unittest

from cluster import REPOSITORY, missing
from engine_test import USER, ServeTest

GRAPHS = REPOSITORY / "data/h200/onnx"
# (model file, batch, seconds alone, whether it shares, GPU model that it asks for). Who shares with whom must not hang on a hair: the last digits
# of what a server and a trace state are not the same.
JOBS = [("dqn_atari.onnx", 128, 40, True, ""), ("hf_bert_128.onnx", 16, 25, False, ""), ("dqn_atari.onnx", 128, 60, True, ""),
        ("dqn_atari.onnx", 128, 35, True, "A100"), ("hf_bert_128.onnx", 16, 80, False, "A100"), ("dqn_atari.onnx", 128, 50, True, ""),
        ("dqn_atari.onnx", 128, 30, True, "H200"), ("hf_bert_128.onnx", 16, 45, True, "A100"), ("dqn_atari.onnx", 128, 70, True, "A100"),
        ("hf_bert_128.onnx", 16, 55, False, "H200"), ("dqn_atari.onnx", 128, 20, True, ""), ("dqn_atari.onnx", 128, 65, True, "")]
CLUSTER = "".join(f'[[nodes]]\nname = "{name}"\ngpus = 2\ngpu = "{gpu}"\ncores = 64\nmemory_gb = 500\n' for name, gpu in (("n1", "H200"), ("n2", "A100")))
STUB = 'echo "$SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES sm=${{CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-100}}"; read -r word < {}; exit 0'
# Column of a profile, its name in what the server says it believes, and the factor between them.
FIGURES = [("gpu_util", "busy", 100), ("gpm_sm", "sm", 100), ("gpm_dram", "dram", 100), ("mem_used_bytes", "gpu_memory_bytes", 1),
           ("cpu_cores", "cpu_cores", 1), ("host_rss_bytes", "host_memory_bytes", 1), ("pcie_rx_mib_s", "pcie_bytes_per_second", 1 / 2**20),
           ("power_w", "power_watts", 1), ("kernels_per_step", "kernels_per_step", 1), ("kernel_us", "kernel_seconds", 1e6),
           ("steps_per_s", "steps_per_second", 1)]


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

    def simulate(self, numbers):
        """By the server's own beliefs: [(what, job, place, share)] in order; a finish has no place."""
        folder = self.cluster.folder / "simulated"
        folder.mkdir()
        profiles, trace = {}, []
        for (name, number), (model, _, seconds, shares, gpu) in zip(numbers.items(), JOBS):
            needs = self.server.job(number)["needs"]
            self.assertEqual(needs["source"], "predicted")
            figures = {column: needs[key] * factor for column, key, factor in FIGURES if needs.get(key) is not None}
            profiles[model] = {"workload": model, "gpu": needs["gpu"], **figures}
            trace.append({"id": name, "submit_seconds": 0, "duration_seconds": seconds, "gpus": 1, "workload": model, "cores": 6,
                          "exclusive": int(not shares), "gpu_models": gpu})
        for file, rows in (("profiles.csv", list(profiles.values())), ("trace.csv", trace)):
            with open(folder / file, "w", newline="", encoding="utf-8") as out:
                writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)))
                writer.writeheader()
                writer.writerows(rows)
        (folder / "cluster.toml").write_text(CLUSTER, encoding="utf-8")
        done = self.server.run("simulate", "--trace", str(folder / "trace.csv"), "--cluster", str(folder / "cluster.toml"), "--profiles",
                               str(folder / "profiles.csv"), "--policy", "sharewell", "--belief", "exact", "--durations", "unknown", "--out",
                               str(folder / "results"))
        self.assertEqual(done.returncode, 0, done.stderr)
        events = []
        with open(folder / "results/decisions-sharewell.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                self.assertIn(row["what"], ("start", "wait"))
                if row["what"] == "start":
                    events.append((float(row["time_seconds"]), 1, "start", row["job"], row["gpus"], round(100 * float(row["sm_share"]))))
        with open(folder / "results/jobs-sharewell.csv", newline="", encoding="utf-8") as file:
            events += [(float(row["finish_seconds"]), 0, "finish", row["id"], None, None) for row in csv.DictReader(file)]
        return [event[2:] for event in sorted(events, key=lambda event: event[:2])]

    def test_the_same_starts_and_places_in_the_same_order(self):
        numbers = self.submit_all()
        self.serve()
        self.cluster.wait_until(lambda: self.cluster.squeue("-t", "R"), "nothing runs")
        foreseen = self.simulate(numbers)
        self.assertGreater(len({job for what, job, *_ in foreseen if what == "start"}), 11)
        places = [place for what, _, place, _ in foreseen if what == "start"]
        self.assertLess(len(set(places[:8])), 8, "some share a GPU from the beginning")
        waves = sum(1 for a, b in zip(foreseen, foreseen[1:]) if (a[0], b[0]) == ("finish", "start"))
        self.assertGreater(waves, 0, "some start when others end")
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
