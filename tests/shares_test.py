#!/usr/bin/env python3
"""tools/lab/shares.py: writes co-locations with limited SMs, and sets what was measured beside the rates alone."""

import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAIR = {"workload_a": "lstm:8x1", "batch_a": 32, "precision_a": "fp32", "workers_a": 2, "steps_per_s_a": 20, "workload_b": "tv:n@32%80",
        "batch_b": 64, "precision_b": "bf16", "workers_b": 4, "steps_per_s_b": 6, "mps": 1, "gpu": "G", "gpu_util": 99.5, "power_w": 500,
        "gpm_sm": 80.25, "gpm_dram": 10}


def shares(*words):
    return subprocess.run([sys.executable, ROOT / "tools/lab/shares.py", *words], capture_output=True, encoding="utf-8", timeout=60)


def run(side, workload, rate):
    return {"workload": workload, "batch": PAIR[f"batch_{side}"], "precision": PAIR[f"precision_{side}"],
            "workers": PAIR[f"workers_{side}"], "steps_per_second": rate, "uncertainty_ratio": 0.05, "gpu_busy_ratio": 0.5}


class Shares(unittest.TestCase):
    def test_each_pair_at_each_share(self):
        done = shares("spec", "--first", "recurrent,lstm:8x1,32,fp32,2", "--second", "vision,tv:n@32,64,bf16,4", "--percent", "80,60")
        spec = tomllib.loads(done.stdout)
        self.assertEqual(spec["sets"], [["A1", "B1"], ["A1", "B1-80"], ["A1", "B1-60"]])
        limits = {w["name"]: w.get("environment", {}).get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") for w in spec["workloads"]}
        self.assertEqual(limits, {"A1": None, "B1": None, "B1-80": "80", "B1-60": "60"})

    def test_what_is_no_loop_is_refused(self):
        done = shares("spec", "--first", "lstm", "--second", "vision,tv:n@32,64,bf16,4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'lstm' is no loop", done.stderr)

    def test_table(self):
        cells = [[run("a", "lstm:8x1", 40)], [run("b", "tv:n@32", 10)], [run("b", "tv:n@32%80", 8)],
                 [run("a", "lstm:8x1", 20), run("b", "tv:n@32%80", 6)]]
        with tempfile.TemporaryDirectory(prefix="sharewell-") as place:
            folder = pathlib.Path(place)
            (folder / "cells.jsonl").write_text("".join(json.dumps({"state": "done", "runs": runs}) + "\n" for runs in cells), encoding="ascii")
            with open(folder / "pairs.csv", "w", encoding="ascii", newline="") as file:
                table = csv.DictWriter(file, list(PAIR))
                table.writeheader()
                table.writerow(PAIR)
            done = shares("table", place)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = csv.DictReader(io.StringIO(done.stdout))
        shown = {name: row[name] for name in ("workload_b", "sm_percent_b", "steps_per_s_b", "alone_steps_per_s_a", "alone_steps_per_s_b",
                                              "limited_alone_steps_per_s_b", "uncertainty_percent_a")}
        self.assertEqual(shown, {"workload_b": "tv:n@32", "sm_percent_b": "80", "steps_per_s_b": "6", "alone_steps_per_s_a": "40",
                                 "alone_steps_per_s_b": "10", "limited_alone_steps_per_s_b": "8", "uncertainty_percent_a": "5"})


if __name__ == "__main__":
    unittest.main()
