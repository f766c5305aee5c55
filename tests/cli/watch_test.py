#!/usr/bin/env python3
"""watch: a training command tells its step, in real PyTorch on the CPU; and predict and inspect of what it told."""

import json
import pathlib
import unittest

from program import ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIN = str(ROOT / "tests" / "watch" / "scripts" / "plain.py")
TOLD = ROOT / "tests" / "fixtures" / "told"
PYTHON = "/usr/bin/python3"  # Debian's PyTorch belongs to this one


class WatchTest(ProgramTest):
    def test_a_training_script_tells_its_step_unchanged(self):
        done = self.run_program("watch", "--", PYTHON, PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("batch 8, SGD", done.stderr)
        self.assertIn("what it needs: sharewell predict step.json", done.stderr)
        step = json.loads((self.folder / "step.json").read_text())
        self.assertEqual(step["sharewell_step"], 1)
        self.assertEqual((step["batch"], step["workers"], step["channels_last"]), (8, 2, True))
        prediction = json.loads(self.succeed("predict", "step.json", "--json"))["predictions"][0]
        self.assertEqual((prediction["batch"], prediction["workers"]), (8, 2))
        inspected = json.loads(self.succeed("inspect", "step.json", "--json"))
        self.assertEqual(inspected["format"], "told step")
        # 8 channels of 14 x 14, windows of 3 x 3 over 3 channels; and 8 x 10.
        self.assertEqual(inspected["macs_forward_per_sample"], 8 * 14 * 14 * 27 + 80)

    def test_it_may_run_to_its_end_and_print_json(self):
        done = self.run_program("watch", "--run-on", "--json", "--out", "told.json", "--", PYTHON, PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["schema"], told["file"], told["exit_code"]), (1, "told.json", 0))
        self.assertEqual(told["steps"], 16)
        self.assertEqual(len(told["workload_fingerprint"]), 32)
        self.assertIn("0x", done.stderr)  # what the script prints

    def test_why_nothing_was_told_is_said(self):
        self.assertIn("no command is given", self.fail_with(2, "watch"))
        self.assertIn("no training step was seen before the command ended",
                      self.fail_with(1, "watch", "--", PYTHON, "-c", "pass"))
        self.assertIn("exit code 3", self.fail_with(1, "watch", "--", "sh", "-c", "exit 3"))
        self.assertIn("(--limit)", self.fail_with(1, "watch", "--limit", "1s", "--", "sleep", "60"))
        self.assertIn("--steps", self.fail_with(2, "watch", "--steps", "0", "--", "true"))
        self.assertIn("nowhere", self.fail_with(2, "watch", "--", "nowhere"))
        self.assertFalse((self.folder / "step.json").exists())


class ToldStepTest(ProgramTest):
    def told(self, name):
        return self.write(name, (TOLD / name).read_text())

    def test_a_told_step_is_predicted_as_it_was_told(self):
        step = self.told("resnet50_b16.json")
        onnx = str(ROOT / "data" / "h200" / "onnx" / "tv_resnet50_224.onnx")
        told = json.loads(self.succeed("predict", step, "--json"))["predictions"][0]
        graph = json.loads(self.succeed("predict", onnx, "--batch", "16", "--json"))["predictions"][0]
        self.assertEqual((told["batch"], told["precision"], told["optimizer"]), (16, "fp32", "sgd"))
        for figure in ("gpu_util", "steps_per_second", "gpu_memory_bytes"):
            near = told[f"{figure}_p50"] / graph[f"{figure}_p50"]
            self.assertTrue(0.9 < near < 1.1, (figure, near))

    def test_flags_that_contradict_it_are_refused(self):
        step = self.told("resnet50_b16.json")
        self.assertIn("was told with batch 16, and 32 is asked for", self.fail_with(2, "predict", step, "--batch", "32"))
        self.assertIn("optimizer sgd (SGD), and adamw", self.fail_with(2, "inspect", step, "--optimizer", "adamw"))
        self.assertIn("precision fp32, and bf16", self.fail_with(2, "predict", step, "--precision", "bf16"))
        self.assertIn("loader workers 4, and 8", self.fail_with(2, "predict", step, "--workers", "8"))
        self.succeed("predict", step, "--batch", "16", "--precision", "fp32", "--workers", "4")

    def test_a_step_that_was_cut_off_is_refused(self):
        text = (TOLD / "resnet50_b16.json").read_text()
        self.write("cut.json", text[:5000])
        message = self.fail_with(2, "predict", "cut.json")
        self.assertIn("cut.json", message)
        self.assertIn("sharewell watch -- COMMAND", message)


if __name__ == "__main__":
    unittest.main()
