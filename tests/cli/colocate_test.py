#!/usr/bin/env python3
"""colocate: jobs alone and together, as a matrix, files that other commands read, and JSON."""

import csv
import json
import sys
import unittest
import xml.dom.minidom

from program import ProgramTest

LOOP = """
import os, sys, time
told = open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1)
while True:
    time.sleep(float(sys.argv[1]))
    told.write("x\\n")
"""
TOP = """
name = "duo"
seconds = 0.5
warmup = 0.1
interval = 0.1
"""


def workload(name, program, *args):
    command = json.dumps([sys.executable, program, *args])
    return f'[[workloads]]\nname = "{name}"\ncommand = {command}\nworkload = {{ name = "w:{name}", batch = 8 }}\n'


class Colocate(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("loop.py", LOOP)
        self.jobs = workload("a", "loop.py", "0.01") + workload("b", "loop.py", "0.02")

    def colocate(self, spec, *args, code=0):
        self.write("c.toml", spec)
        done = self.run_program("colocate", "c.toml", "--store", "none", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self, name):
        with (self.folder / "duo-colocate" / name).open() as file:
            return list(csv.DictReader(file))

    def test_pairs_become_a_matrix_and_files(self):
        done = self.colocate(TOP + "with_itself = true\nmps = \"off\"\n" + self.jobs)
        self.assertIn("slowdown of \\ beside", done.stdout)
        folder = self.folder / "duo-colocate"
        rows = self.rows("pairs.csv")
        self.assertEqual([(row["workload_a"], row["workload_b"]) for row in rows],
                         [("w:a", "w:a"), ("w:a", "w:b"), ("w:b", "w:b")])
        for row in rows:
            for end in "ab":
                self.assertGreater(float(row[f"steps_per_s_{end}"]), 5)
                self.assertGreater(float(row[f"alone_steps_per_s_{end}"]), 5)
            self.assertEqual(row["mps"], "0")
        for name in ("packing.svg", "slowdown.svg"):
            xml.dom.minidom.parse(str(folder / name))

    def test_triples_again_and_json(self):
        spec = TOP + 'again = true\nmps = "off"\nsets = [["a", "a", "b"]]\n' + self.jobs
        document = json.loads(self.colocate(spec, "--json").stdout)
        self.assertEqual(document["schema"], 1)
        self.assertEqual([m["name"] for m in document["sets"][0]["members"]], ["a", "a", "b"])
        for member in document["sets"][0]["members"]:
            self.assertGreater(member["speed_ratio"], 0.1)
        self.assertIsNotNone(document["alone"][0]["drift_ratio"])
        header = (self.folder / "duo-colocate" / "triples.csv").read_text().splitlines()[0]
        self.assertIn("alone_steps_per_s_c", header)
        # What is finished is not run again.
        again = self.colocate(spec)
        self.assertNotIn("[", again.stderr)

    def test_no_room_together_is_a_result(self):
        # Whether the other one runs is seen in its file.
        self.write("greedy.py", LOOP.replace("while True:", "time.sleep(0.3)\nif os.path.exists('alive'):\n"
                                             "    sys.exit('CUDA error: out of memory')\nwhile True:"))
        self.write("alive.py", LOOP.replace("while True:", "open('alive', 'w')\nwhile True:"))
        spec = TOP + 'mps = "off"\n' + workload("g", "greedy.py", "0.01") + workload("z", "alive.py", "0.01")
        done = self.colocate(spec)
        self.assertIn("do not fit into memory together: g + z", done.stdout)
        row = self.rows("pairs.csv")[0]
        self.assertEqual((row["steps_per_s_a"], row["steps_per_s_b"]), ("0", "0"))

    def test_a_job_without_steps_is_refused(self):
        self.write("mute.py", "import time\ntime.sleep(100)\n")
        done = self.colocate(TOP + workload("a", "mute.py") + workload("b", "loop.py", "0.01"), code=2)
        self.assertIn("$SHAREWELL_PROGRESS", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_what_is_wrong_is_said(self):
        self.assertIn("[[workloads]]", self.refused('name = "x"\n'))
        self.assertIn("did you mean 'sets'?", self.refused("stes = 1\n" + TOP + self.jobs))
        self.assertIn("no workload", self.refused(TOP + 'sets = [["a", "q"]]\n' + self.jobs))

    def refused(self, spec):
        self.write("c.toml", spec)
        return self.fail_with(2, "colocate", "c.toml", "--store", "none")


if __name__ == "__main__":
    unittest.main()
