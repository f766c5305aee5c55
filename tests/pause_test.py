#!/usr/bin/env python3
"""Pauses through the real program with a stand-in for libcuda: tools/lab/pause.py in little, a server killed in the middle of each."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("SHAREWELL", str(ROOT / "build/release/sharewell"))


class PauseTest(unittest.TestCase):
    def test_no_step_is_lost(self):
        with tempfile.TemporaryDirectory(prefix="sharewell-") as folder:
            done = subprocess.run(
                [sys.executable, "-B", str(ROOT / "tools/lab/pause.py"), "--stub", "--server-binary", PROGRAM, "--out", folder, "--parts",
                 "direct,server", "--pauses", "2", "--steps", "600", "--server-pauses", "2", "--kills", "1"],
                capture_output=True, text=True, timeout=240, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            told = json.loads(pathlib.Path(folder, "pause.json").read_text(encoding="utf-8"))
        self.assertEqual(told["direct_pauses"], 6)
        self.assertEqual(told["server"]["attempt"], 1)
        self.assertEqual(told["server"]["errors"], [])
        self.assertIn("host memory", told["server"]["why"])


if __name__ == "__main__":
    unittest.main()
