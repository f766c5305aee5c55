#!/usr/bin/env python3
"""measure operators: from cells to a table on a stand-in for PyTorch (tests/fixtures/torch), resumed, interrupted, and refused in words."""

import csv
import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import PATIENCE, PROGRAM, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = str(ROOT / "tests" / "fixtures" / "torch")
NAMES = ("class,type,precision,operands,output,groups,window,dilation,steps,flops_forward,flops_backward,traffic_forward_bytes,"
         "traffic_backward_bytes,contraction,share,families")


def cells(count, kind="activation"):
    rows = [f"{kind},Relu,fp32,{n + 1}x8:4g,{n + 1}x8,1,1,1,1,{n},{n},64,64,0,0.1,a" for n in range(count)]
    return "\n".join([NAMES, *rows]) + "\n"


class Measure(ProgramTest):
    def environment(self, torch="", gpu="NVIDIA T1", path=TORCH):
        return {**os.environ, "PYTHONPATH": path, "FAKE_TORCH": torch, "FAKE_GPU": gpu, "PYTHONDONTWRITEBYTECODE": "1"}

    def measure(self, *args, **how):
        return self.run_program("measure", "operators", *args, env=self.environment(**how))

    def refused(self, code, *args, **how):
        done = self.measure(*args, **how)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("sharewell: "), done.stderr)
        return done.stderr

    def table(self, name="operators.csv"):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_keeps_seconds_kernels_and_bytes_of_each_cell(self):
        done = self.measure("--cells", self.write("cells.csv", cells(3)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NVIDIA T1, PyTorch 0-stand-in: 3 cells to measure, 0 measured before", done.stderr)
        self.assertIn("3 of 3 cells, 0 failed", done.stderr)
        self.assertIn("sharewell-lab train PROFILES --operators operators.csv", done.stderr)
        rows = self.table()
        self.assertEqual([row["operands"] for row in rows], ["1x8:4g", "2x8:4g", "3x8:4g"])
        for row in rows:
            self.assertAlmostEqual(float(row["forward_seconds"]), 5e-6, delta=1e-8)
            self.assertAlmostEqual(float(row["backward_seconds"]), 1e-5, delta=1e-8)
            self.assertEqual((row["forward_kernels"], row["backward_kernels"], row["traffic_forward_bytes"], row["gpu"], row["failure"]),
                             ("1", "1", "64", "NVIDIA T1", ""))

    def test_goes_on_where_the_table_ends(self):
        self.measure("--cells", self.write("few.csv", cells(2)), "--out", "t.csv")
        first = (self.folder / "t.csv").read_text(encoding="utf-8")
        done = self.measure("--cells", self.write("more.csv", cells(5)), "--out", "t.csv")
        self.assertIn("3 cells to measure, 2 measured before", done.stderr)
        self.assertTrue((self.folder / "t.csv").read_text(encoding="utf-8").startswith(first))
        self.assertEqual(len(self.table("t.csv")), 5)

    def test_a_line_that_was_cut_off_is_measured_again(self):
        self.measure("--cells", self.write("cells.csv", cells(3)))
        whole = (self.folder / "operators.csv").read_bytes()
        (self.folder / "operators.csv").write_bytes(whole[:-20])
        self.assertEqual(self.measure("--cells", "cells.csv").returncode, 0)
        self.assertEqual((self.folder / "operators.csv").read_bytes(), whole)

    def test_an_interrupted_run_keeps_what_it_measured(self):
        self.write("cells.csv", cells(70))
        table = self.folder / "operators.csv"
        # Of the first 60 cells each is run 1 + 1 + 3 times; the next one hangs.
        with subprocess.Popen([PROGRAM, "measure", "operators", "--cells", "cells.csv"], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, encoding="utf-8", env=self.environment(f"hang:{60 * 5 + 4}")) as process:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and not (table.exists() and table.read_text(encoding="utf-8").count("\n") >= 61):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("what was measured is kept", said)
        kept = self.table()
        self.assertEqual(len(kept), 60)
        self.assertEqual(self.measure("--cells", "cells.csv").returncode, 0)
        self.assertEqual(self.table()[:60], kept)
        self.assertEqual(len({row["operands"] for row in self.table()}), 70)

    def test_cells_of_our_own_come_with_the_program(self):
        # The stand-in knows few operators: what fails is kept with its reason, and does not end the run.
        done = self.measure("--seconds", "0.2")
        self.assertIn("the same command goes on", done.stderr)
        ours = (ROOT / "data" / "h200" / "operators.csv").read_text(encoding="utf-8").splitlines()
        self.assertIn(f"{len(ours) - 1} cells to measure", done.stderr)

    def test_a_cell_that_fails_is_kept_with_its_reason(self):
        text = cells(2) + cells(1, kind="teleport").split("\n", 1)[1]
        self.assertEqual(self.measure("--cells", self.write("cells.csv", text)).returncode, 0)
        self.assertIn("teleport", self.table()[2]["failure"])

    def test_nothing_could_be_run(self):
        said = self.measure("--cells", self.write("cells.csv", cells(2, kind="teleport")))
        self.assertEqual(said.returncode, 1)
        self.assertIn("none of the 2 cells could be run", said.stderr)

    def test_without_pytorch_it_says_what_to_install(self):
        (self.folder / "none").mkdir()
        (self.folder / "none" / "torch.py").write_text("raise ImportError('no')", encoding="utf-8")
        self.assertIn("-m pip install torch", self.refused(3, path=str(self.folder / "none")))
        self.assertFalse((self.folder / "operators.csv").exists())

    def test_without_a_gpu(self):
        said = self.refused(3, torch="no-gpu")
        self.assertIn("PyTorch finds no NVIDIA GPU", said)
        self.assertIn("sharewell doctor", said)
        self.assertFalse((self.folder / "operators.csv").exists())

    def test_without_python(self):
        done = self.run_program("measure", "operators", env={"PATH": str(self.folder)})
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("python3", done.stderr)
        self.assertIn("install", done.stderr)

    def test_bad_cells(self):
        for text, said in (("a,b\n1,2\n", 'no column "class"'), ("", 'no column "class"'), (NAMES + "\n", "has no cells"),
                           (cells(1) + "relu,1\n", "cells.csv:3: this row has not 16 fields")):
            self.assertIn(said, self.refused(2, "--cells", self.write("cells.csv", text)))
        (self.folder / "cells.csv").write_bytes(b"\xff\xfe\x00")
        self.assertIn("it is no CSV", self.refused(2, "--cells", "cells.csv"))
        self.assertIn("nowhere.csv: No such file", self.refused(2, "--cells", "nowhere.csv"))

    def test_a_table_of_another_gpu_or_form_is_left_alone(self):
        self.measure("--cells", self.write("cells.csv", cells(2)))
        before = (self.folder / "operators.csv").read_bytes()
        self.assertIn("it was measured on NVIDIA T1, and this is NVIDIA T2", self.refused(2, "--cells", "cells.csv", gpu="NVIDIA T2"))
        self.assertIn("other columns", self.refused(2, "--cells", self.write("less.csv", cells(1).replace(",families", "").replace(",a\n", "\n"))))
        self.assertEqual((self.folder / "operators.csv").read_bytes(), before)

    def test_words_and_numbers_that_mean_nothing(self):
        for args, said in ((("measure",), "operators"), (("measure", "operator"), "did you mean 'operators'?"),
                           (("measure", "operators", "--seconds", "0"), "--seconds"),
                           (("measure", "operators", "--gpu", "x"), "--gpu")):
            self.assertIn(said, self.fail_with(2, *args))

    def test_the_gpu_that_was_asked_for_is_the_only_one_seen(self):
        self.write("cells.csv", cells(1))
        (self.folder / "seen").mkdir()
        (self.folder / "seen" / "torch.py").write_text("import os, sys\nsys.exit('sees ' + os.environ.get('CUDA_VISIBLE_DEVICES', 'all'))",
                                                       encoding="utf-8")
        how = {"env": self.environment(path=str(self.folder / "seen")) | {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}}
        self.assertIn("sees 3", self.run_program("measure", "operators", "--gpu", "3", **how).stderr)
        self.assertIn("sees 0,1,2,3", self.run_program("measure", "operators", **how).stderr)


if __name__ == "__main__":
    unittest.main()
