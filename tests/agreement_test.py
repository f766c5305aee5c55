#!/usr/bin/env python3
"""tools/lab/agreement.py: compares over the profile's window, and says what is missing."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = 1000.0  # of the window, which is 4 s long


class Agreement(unittest.TestCase):
    def compare(self, samples):
        with tempfile.TemporaryDirectory(prefix="sharewell-") as place:
            folder = pathlib.Path(place)
            (folder / "ref.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples), encoding="ascii")
            profile = {"created_unix_ms": (BEGIN - 2) * 1e3, "warmup_seconds": 2, "window_seconds": 4, "gpu_util": 0.5,
                       "sm_ratio": 0.4, "dram_ratio": 0.1, "gpu_memory_bytes": 1e9, "steps_per_second": 20, "workload": "w",
                       "command": ["x", "--batch", "8", "--precision", "bf16", "--workers", "1"],
                       "figures": [{"metric": "gpu_memory_reserved_bytes", "mean": 1e8}]}
            (folder / "a.json").write_text(json.dumps({"profiles": [profile]}), encoding="ascii")
            (folder / "a.txt").write_text('{"steps_per_second": 20.5}\n', encoding="ascii")
            return subprocess.run([sys.executable, ROOT / "tools/lab/agreement.py", "compare", "ref.jsonl", "a.json"], cwd=folder,
                                  capture_output=True, encoding="utf-8", timeout=60)

    def test_compares_over_the_window(self):
        done = self.compare([{"t": BEGIN + i, "gpu": 50, "mem": 1e9, "gpm": {"sm": 40 + i, "dram": 10}, "since": BEGIN + i - 1}
                             for i in range(7)])
        self.assertEqual(done.returncode, 0, done.stderr)
        row = next(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual(row["reference_gpm_sm"], "42.500")  # of the intervals that end after 1, 2, 3 and 4 s

    def test_no_gpm_interval_in_the_window(self):
        for samples in ([{"t": BEGIN + 1, "gpu": 50, "mem": 1e9}], []):
            done = self.compare(samples)
            self.assertEqual(done.returncode, 1)
            self.assertIn("a.json: no GPM interval of the reference lies within its window of 4.0 s", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_sampling_needs_pynvml(self):
        with tempfile.TemporaryDirectory(prefix="sharewell-") as place:
            done = subprocess.run([sys.executable, "-S", ROOT / "tools/lab/agreement.py", "sample", "ref.jsonl"], cwd=place,
                                  env={**os.environ, "PYTHONPATH": place}, capture_output=True, encoding="utf-8", timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install nvidia-ml-py", done.stderr)


if __name__ == "__main__":
    unittest.main()
