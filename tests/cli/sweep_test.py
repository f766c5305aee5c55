#!/usr/bin/env python3
"""sweep: from a grid to cells, curves and files; and that nothing finished is ever run twice."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import xml.dom.minidom

from program import PROGRAM, ProgramTest

# Steps as fast as it is told to, and says which run it was.
LOOP = """
import os, sys, time
open("runs.txt", "a").write(" ".join(sys.argv[1:]) + "\\n")
told = open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1)
while True:
    time.sleep(0.01 / float(sys.argv[1]))
    told.write("x\\n")
"""
SPEC = f"""
name = "tiny"
command = ["{sys.executable}", "loop.py", "{{speed}}", "{{tag}}"]
workload = {{ name = "loop", batch = 4, workers = "{{speed}}" }}
seconds = 0.5
warmup = 0.1
interval = 0.1
[axes]
tag = ["a"]
speed = [1, 2, 3]
"""


class Sweep(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("loop.py", LOOP)
        self.write("s.toml", SPEC)

    def sweep(self, *args, code=0):
        done = self.run_program("sweep", "s.toml", "--store", "p.db", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def runs(self):
        path = self.folder / "runs.txt"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def test_a_grid_becomes_table_files_and_profiles(self):
        done = self.sweep()
        self.assertIn("3 cells done", done.stdout)
        self.assertIn("[3/3]", done.stderr)
        with (self.folder / "tiny-sweep" / "cells.csv").open() as cells:
            rows = list(csv.DictReader(cells))
        self.assertEqual([(row["axis_tag"], row["axis_speed"]) for row in rows],
                         [(tag, speed) for tag in "a" for speed in "123"])
        for row in rows:
            self.assertEqual(row["state"], "done")
            self.assertGreater(float(row["steps_per_s"]), 10)
            self.assertAlmostEqual(float(row["samples_per_s"]), 4 * float(row["steps_per_s"]), delta=1e-6)
        for svg in (self.folder / "tiny-sweep").glob("*.svg"):
            xml.dom.minidom.parse(str(svg))
        self.assertTrue((self.folder / "tiny-sweep" / "throughput-speed.svg").exists())
        stored = json.loads(self.succeed("profiles", "--store", "p.db", "--json"))
        self.assertEqual(len(stored["profiles"]), 3)

    def test_json_and_a_second_start_that_runs_nothing(self):
        self.sweep()
        done = self.sweep("--json")
        self.assertEqual(len(self.runs()), 3)
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], 1)
        self.assertEqual([cell["state"] for cell in document["cells"]], ["done"] * 3)
        self.assertEqual({curve["axis"] for curve in document["curves"]}, {"speed"})
        self.assertEqual(document["throughput_unit"], "samples_per_second")

    def test_the_nvml_library_that_is_named_is_asked(self):
        library = pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so"
        if not library.exists():
            self.skipTest(f"{library.name} was not built beside the program")
        self.sweep()
        idle = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "nvml" / "h200-idle.json"
        done = self.run_program("sweep", "s.toml", "--store", "none",
                                env={**os.environ, "SHAREWELL_NVML_LIBRARY": str(library), "SHAREWELL_FAKE_NVML": str(idle)})
        self.assertIn("tiny on NVIDIA H200, ", done.stdout, done.stderr)

    def test_a_changed_cell_is_run_the_others_are_not(self):
        self.sweep()
        self.write("s.toml", SPEC.replace("[1, 2, 3]", "[1, 2, 4]"))
        self.sweep()
        self.assertEqual(self.runs()[3:], ["4 a"])

    def wait_for_cells(self, count):
        path = self.folder / "tiny-sweep" / "cells.jsonl"
        until = time.monotonic() + 60
        while not path.exists() or path.read_text().count("\n") < count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def start(self):
        return subprocess.Popen([PROGRAM, "sweep", "s.toml", "--store", "none"], cwd=self.folder, encoding="utf-8",
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_killed_it_goes_on_where_it_was(self):
        with self.start() as program:
            self.wait_for_cells(1)
            program.kill()
            program.communicate()
        before = (self.folder / "tiny-sweep" / "cells.jsonl").read_text().count("\n")
        # What a crash in the middle of a line leaves behind.
        with (self.folder / "tiny-sweep" / "cells.jsonl").open("a") as journal:
            journal.write('{"schema":1,"key":"ab')
        ran = len(self.runs())
        self.sweep()
        self.assertEqual(len(self.runs()) - ran, 3 - before)

    def test_an_interrupt_says_how_to_go_on(self):
        with self.start() as program:
            self.wait_for_cells(1)
            time.sleep(0.4)
            program.send_signal(signal.SIGINT)
            _, stderr = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130)
        self.assertIn("Continue with: sharewell sweep s.toml --out tiny-sweep", stderr)
        self.sweep()

    def test_failures_are_told_and_tried_again_when_asked(self):
        self.write("bad.py", "import os, sys\nif not os.path.exists('mended') and sys.argv[2] == 'b':\n"
                             "    sys.exit('CUDA out of memory')\nexec(open('loop.py').read())\n")
        self.write("s.toml", SPEC.replace("loop.py", "bad.py").replace("[1, 2, 3]", "1")
                   .replace('["a"]', '["a", "b"]'))
        done = self.sweep(code=4)
        self.assertIn("1 failed", done.stdout)
        self.assertIn("out of memory", done.stdout)
        self.assertEqual(self.runs(), ["1 a"])
        self.sweep(code=4)
        self.assertEqual(self.runs(), ["1 a"])
        self.write("mended", "")
        self.sweep("--retry")
        self.assertEqual(self.runs(), ["1 a", "1 b"])

    def test_dry_run_runs_nothing(self):
        text = self.succeed("sweep", "s.toml", "--dry-run")
        self.assertIn("3 cells", text)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["loop.py", "s.toml"])

    def test_what_is_wrong_is_said_before_anything_runs(self):
        self.assertIn("did you mean 'speed'?",
                      self.refused(SPEC.replace('"{speed}", "{tag}"', '"{sped}", "{tag}"')))
        self.assertIn("s.toml: line 2: unknown key 'nme'", self.refused(SPEC.replace("name = \"tiny\"", "nme = \"tiny\"")))
        self.assertIn("more than 100000 cells",
                      self.refused(SPEC + f"x = {list(range(400))}\ny = {list(range(400))}\n"))
        self.assertIn("no such file", self.fail_with(2, "sweep", "none.toml").lower())

    def refused(self, spec):
        self.write("s.toml", spec)
        return self.fail_with(2, "sweep", "s.toml", "--store", "none")

    def test_a_command_that_is_not_there(self):
        self.write("s.toml", 'name = "x"\ncommand = ["/no/such/program"]\n')
        done = self.run_program("sweep", "s.toml", "--store", "none")
        self.assertEqual(done.returncode, 4)
        self.assertIn("/no/such/program", done.stdout)


if __name__ == "__main__":
    unittest.main()
