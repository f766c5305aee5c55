#!/usr/bin/env python3
"""tools/lab/host_speed.py without a GPU: a row a round, appended, with what the host can do and nothing of a GPU."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


class HostSpeed(unittest.TestCase):
    def test_rows_are_appended(self):
        with tempfile.TemporaryDirectory(prefix="sharewell-") as place:
            out = pathlib.Path(place, "host.csv")
            for number in ("1", "2"):
                subprocess.run([sys.executable, "-B", ROOT / "tools/lab/host_speed.py", out, "--plain", "--first", number, "--program",
                                os.environ["SHAREWELL"]], env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=True, timeout=120)
            with open(out, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        self.assertEqual([row["round"] for row in rows], ["1", "2"])
        for row in rows:
            for name in ("python_loops_per_s", "pipe_trips_per_s", "copy_bytes_per_s", "steps_per_s"):
                self.assertGreater(float(row[name]), 0, name)
            self.assertEqual((row["launches_per_s"], row["launch_waits_per_s"]), ("", ""))


if __name__ == "__main__":
    unittest.main()
