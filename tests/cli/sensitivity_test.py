#!/usr/bin/env python3
"""sensitivity: pressures in phases beside one job that keeps running."""

import csv
import json
import sys
import unittest
import xml.dom.minidom

from program import ProgramTest

LOOP = """
import os, sys, time
open("starts.txt", "a").write("x")
told = open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1)
print("noise of the job", flush=True)
for _ in range(int(sys.argv[1])):
    time.sleep(0.005)
    told.write("x\\n")
sys.exit(int(sys.argv[2]))
"""


class Sensitivity(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("loop.py", LOOP)

    def run_it(self, *args, steps=10**9, code=0):
        return self.run_program("sensitivity", "--phase", "0.5s", "--warmup", "0.3s", *args, "--", sys.executable,
                                "loop.py", str(steps), str(code))

    def test_one_start_many_phases(self):
        done = self.run_it("--pressures", "cpu", "--levels", "50,100", "--out", "o", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], 1)
        self.assertEqual(document["measure"], "steps/s")
        self.assertEqual([phase["target_ratio"] for phase in document["phases"]], [0.5, 1])
        for phase in document["phases"]:
            self.assertGreater(phase["rate"], 1)
            self.assertGreater(phase["speed_ratio"], 0)
            self.assertGreater(phase["achieved_ratio"], 0)
        self.assertEqual([of["pressure"] for of in document["sensitivities"]], ["cpu"])
        self.assertEqual((self.folder / "starts.txt").read_text(), "x")
        with (self.folder / "o" / "sensitivity.csv").open() as file:
            self.assertEqual(len(list(csv.DictReader(file))), 2)
        xml.dom.minidom.parse(str(self.folder / "o" / "sensitivity.svg"))

    def test_the_table_is_ours_alone(self):
        done = self.run_it("--pressures", "cpu", "--levels", "50%")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("noise of the job", done.stdout)
        self.assertIn("drift without pressure", done.stdout)

    def test_a_job_that_fails_or_ends_too_soon(self):
        for steps, code, exit_code, words in ((1, 3, 1, "exit code 3"), (1, 0, 2, "give it more steps")):
            done = self.run_it("--pressures", "cpu", steps=steps, code=code)
            self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
            self.assertIn(words, done.stderr)

    def test_what_is_wrong_is_said(self):
        for args, words in ((("--pressures", "memb", "--", "true"), "membw"),
                            (("--levels", "0", "--", "true"), "--levels"),
                            (("--phase", "0.1s", "--", "true"), "too short"),
                            (("--progress-regex", "(", "--", "true"), "--progress-regex"),
                            (("--cpus", "100000", "--", "true"), "--cpus"),
                            ((), "after --")):
            with self.subTest(args=args):
                self.assertIn(words, self.fail_with(2, "sensitivity", *args))
        self.assertIn("/no/such", self.fail_with(2, "sensitivity", "--pressures", "cpu", "--", "/no/such/program"))


if __name__ == "__main__":
    unittest.main()
