#!/usr/bin/env python3
"""A job's own speed, and what it tells of itself: seen early, kept over its life and over a server's, and told once it is over."""

import re
import signal
import sys
import time
import unittest

from api_server import Server
from program import PATIENCE, ProgramTest

# 20 steps a second, until it is told to end.
LOOP = """
import os, pathlib, time
with open(os.environ["SHAREWELL_METRICS"], "w") as metrics:
    metrics.write("loss 2.5 1\\nno number\\nloss 0.4125 1200\\n")
told = open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1)
while not pathlib.Path("stop").exists():
    time.sleep(0.05)
    told.write("x\\n")
"""


def cell(table, column, row):
    """Of the row that begins so; cells stand below the ends of their headings."""
    head, *rows = table.splitlines()
    end = head.index(column) + len(column)
    line = next(line for line in rows if re.match(rf"\s*{row}\b", line))
    return line[:end].split()[-1] if line[:end].strip() else ""


class Speed(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("loop.py", LOOP)
        self.server = Server(self.folder)
        self.addCleanup(lambda: self.server.stop())

    def until(self, what, so):
        end = time.monotonic() + PATIENCE
        while not (found := so()):
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)
        return found

    def speed(self, number):
        return self.server.ask("GET", f"/api/v1/jobs/{number}/speed").json()

    def submit(self, *args):
        self.succeed("submit", *self.asked, *args)

    @property
    def asked(self):
        return ("--server", str(self.server.socket))

    def test_it_is_told_from_the_second_step_to_long_after_the_end(self):
        self.submit("--name", "loop", "--", sys.executable, "loop.py")
        self.submit("--name", "silent", "--", "sh", "-c", "while [ ! -e stop ]; do sleep 0.1; done")
        top = self.until("top shows its speed", lambda: re.search(r"loop .* (\d+\.?\d*) +", self.succeed("top", *self.asked)))
        self.assertTrue(top)
        rate = self.until("its speed", lambda: self.server.job(1)["steps_per_second"])
        self.assertTrue(8 < rate < 21, rate)
        self.until("three points", lambda: len(self.speed(1)["points"]) >= 3)
        self.assertEqual(self.speed(2)["points"], [])
        self.assertIsNone(self.speed(2)["steps_per_second"])
        self.assertIsNone(self.speed(1)["prediction"])
        told = self.until("its loss", lambda: self.speed(1)["metrics"])
        self.assertEqual([(one["name"], one["value"], one["step"]) for one in told], [("loss", 0.4125, 1200)])
        self.assertEqual([point["value"] for point in told[0]["points"]], [0.4125])
        self.assertEqual(self.speed(2)["metrics"], [])
        # A server that is killed, and another one: the steps in between are not lost.
        before = self.server.job(1)["steps"]
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(timeout=PATIENCE)
        kept = None
        self.server = Server(self.folder)
        kept = self.until("its history", lambda: self.speed(1)["points"])
        self.until("more of it", lambda: (self.server.job(1)["steps"] or 0) > before + 10)
        (self.folder / "stop").touch()
        for number in (1, 2):
            self.assertEqual(self.server.wait_until(number, "finished", "failed")["phase"], "finished")
        told = self.speed(1)
        self.assertEqual(told["points"][0], kept[0])
        self.assertEqual([(one["name"], one["value"], len(one["points"])) for one in told["metrics"]], [("loss", 0.4125, 1)])
        self.assertIn("loss 0.4125, told by the job at step 1200", self.succeed("job", "1", *self.asked))
        self.assertNotIn("told by the job at", self.succeed("job", "2", *self.asked))
        mean = told["steps_per_second"]
        self.assertTrue(8 < mean < 21, told)
        self.assertAlmostEqual(mean, self.server.job(1)["steps_per_second"])
        steps = sum(one["steps_per_second"] * (one["to_ms"] - one["from_ms"]) / 1e3 for one in told["points"])
        self.assertGreater(steps, before)
        self.assertEqual(self.speed(2)["points"], [])
        shown = f"{mean:.1f}" if mean >= 10 else f"{mean:.2f}"
        self.assertRegex(self.succeed("job", "1", *self.asked), rf"steps/s +- +{re.escape(shown)}")
        table = self.succeed("jobs", "--all", *self.asked)
        self.assertEqual(cell(table, "steps/s", 1), shown, table)
        self.assertEqual(cell(table, "steps/s", 2), "-", table)
        self.succeed("report", "job", "1", *self.asked, "--out", "one.html")
        page = (self.folder / "one.html").read_text(encoding="utf-8")
        self.assertIn("steps a second of job 1", page)
        self.assertIn("loss of job 1, told by the job", page)
        self.succeed("report", "job", "2", *self.asked, "--out", "two.html")
        self.assertIn("Unknown: no steps were told or seen.", (self.folder / "two.html").read_text(encoding="utf-8"))

    def test_who_was_beside_it_is_kept_with_it(self):
        self.submit("--name", "loop", "--gpu-memory", "1GB", "--", sys.executable, "loop.py")
        self.until("its speed", lambda: self.speed(1)["points"])
        told = self.speed(1)["neighbours"]
        self.assertEqual([one["jobs"] for one in told], [[]], told)
        (self.folder / "stop").touch()
        self.server.wait_until(1, "finished")
        self.assertEqual(self.speed(1)["neighbours"][0]["from_ms"], told[0]["from_ms"])
        self.assertEqual(self.server.ask("GET", "/api/v1/jobs/9/speed").status, 404)
        self.assertEqual(self.server.ask("GET", "/api/v1/jobs/x/speed").status, 404)


if __name__ == "__main__":
    unittest.main()
