#!/usr/bin/env python3
"""demo: from its first line to its last, and nothing is left of it."""

import pathlib
import re
import signal
import subprocess
import time
import unittest

from program import PATIENCE, PROGRAM, ProgramTest


def running(folder):
    """Processes whose command line names the folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if folder in words:
            found.append(words)
    return found


class Demo(ProgramTest):
    def check_nothing_is_left(self, text):
        folder = re.search(r"removes (/tmp/sharewell-\w+)\.", text)[1]
        self.assertFalse(pathlib.Path(folder).exists())
        self.assertEqual(running(folder), [])
        self.assertIn("The demo is over", text)

    def test_a_newcomer_is_evicted_and_explained(self):
        text = self.succeed("demo", "--for", "50s")
        self.assertIn("no real GPU is used", text)
        self.assertRegex(text, r"dashboard: (http://127\.0\.0\.1:\d+/#code=[0-9a-f]+|none \(this server has no dashboard)")
        self.assertIn("Two jobs come to idle GPUs", text)
        self.assertIn("$ sharewell jobs\n", text)
        told = " ".join(text.split())
        self.assertRegex(told, r"slowed beyond its bound, so job 3 was evicted")
        self.assertIn("$ sharewell why 3\n", text)
        self.assertIn("Nine more jobs come", told)
        for line in text.splitlines():
            if "#code=" not in line:
                self.assertLessEqual(len(line), 100, line)
        self.check_nothing_is_left(text)

    def test_ctrl_c_ends_it(self):
        process = subprocess.Popen([PROGRAM, "demo"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        text = ""
        while "server: job 2 (bert):" not in text:
            line = process.stdout.readline()
            self.assertTrue(line, text)
            text += line
        process.send_signal(signal.SIGINT)
        text += process.communicate(timeout=PATIENCE)[0]
        self.assertEqual(process.returncode, 0, text)
        self.check_nothing_is_left(text)

    def test_wrong_words(self):
        self.assertIn("--for", self.fail_with(2, "demo", "--for", "soon"))
        for flag, value in (("--rate", "0"), ("--busy", "2"), ("--steps", "many")):
            self.assertIn(flag, self.fail_with(2, "stand-in", flag, value))

    def test_a_stand_in_runs_by_itself(self):
        began = time.monotonic()
        self.succeed("stand-in", "--rate", "100", "--steps", "20")
        self.assertGreater(time.monotonic() - began, 0.15)


if __name__ == "__main__":
    unittest.main()
