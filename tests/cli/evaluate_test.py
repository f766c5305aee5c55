#!/usr/bin/env python3
"""evaluate: the document's shape, the files of --out, and what is refused."""

import csv
import json
import unittest
import xml.dom.minidom

from program import LAB, ProgramTest

NET = """{"inputs": [{"name": "x", "shape": ["batch", 64]}],
          "layers": [{"type": "linear", "out": %d}, {"type": "relu"}, {"type": "linear", "out": 10}]}"""
HEADER = "workload,gpu,batch,precision,workers,steps_per_s,gpu_util,mem_used_bytes,model,family\n"


class Evaluate(ProgramTest):
    program = LAB

    def profiles(self, gpus=("H200",)):
        rows = []
        for i in range(12):
            self.write(f"net{i}.json", NET % (64 << i % 6))
            rows.append(f"net:{i},{gpus[i % len(gpus)]},{8 << i % 3},bf16,2,{200 + 10 * i},{20 + i},"
                        f"{2_000_000_000 + i * 1000},net{i}.json,family{i % 4}\n")
        return self.write("profiles.csv", HEADER + "".join(rows))

    def test_json_and_files(self):
        text = self.succeed("evaluate", self.profiles(), "--learner", "analytic,boosted", "--folds", "3",
                            "--json", "--out", "results")
        document = json.loads(text)
        self.assertEqual(list(document), ["schema", "profiles", "split", "folds", "search", "rows", "rows_measured",
                                          "rows_without_graph", "families", "gpu_models", "learners",
                                          "importance"])
        self.assertEqual((document["schema"], document["rows"], document["families"]), (1, 12, 4))
        self.assertEqual([learner["name"] for learner in document["learners"]], ["analytic", "boosted"])
        figures = document["learners"][1]["figures"]
        self.assertEqual(list(figures), ["busy_seconds", "step_seconds", "busy", "gpu_memory"])
        self.assertIsNone(figures["busy"]["mape"])
        results = self.folder / "results"
        self.assertEqual((results / "evaluation.json").read_text(encoding="utf-8"), text)
        with open(results / "predictions.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 2 * 4 * 12)
        for row in rows:
            self.assertLessEqual(float(row["p05"]), float(row["p95"]))
        for chart in ("utilisation.svg", "importance.svg"):
            xml.dom.minidom.parse(str(results / chart))

    def test_table(self):
        text = self.succeed("evaluate", self.profiles(("H200", "V100")), "--split", "gpu", "--learner",
                            "linear")
        self.assertIn("each GPU model held out in turn", text)
        self.assertRegex(text, r"(?m)^linear +\d\.\d{3} ")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_yeung(self):
        text = self.succeed("evaluate", self.profiles(), "--yeung", "--folds", "4", "--out", "yeung")
        self.assertRegex(text, r"(?m)^learner +paper +rows at random +families held out$")
        self.assertRegex(text, r"(?m)^yeung-forest +0\.154 +\d\.\d{3} +\d\.\d{3}$")
        self.assertRegex(text, r"(?m)^mean +- +\d\.\d{3} +\d\.\d{3}$")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        xml.dom.minidom.parse(str(self.folder / "yeung" / "flops-utilisation.svg"))
        self.assertIn("--yeung needs profiles", self.fail_with(2, "evaluate", "--pairs", "--yeung"))

    def test_pairs(self):
        text = self.succeed("evaluate", "--pairs")
        self.assertRegex(text, r"(?m)^no workload of the group seen +\d+ +0\.06\d ")
        self.assertRegex(text, r"(?m)^no workload seen, demands from graphs +\d+ +0\.08\d ")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        pairs = json.loads(self.succeed("evaluate", "--pairs", "--json", "--out", "pairs"))["pairs"]
        self.assertEqual(list(pairs), ["model", "pair_held_out", "workload_held_out",
                                       "workload_held_out_predicted_demands", "constant", "repeats"])
        self.assertLessEqual(pairs["workload_held_out"]["mean_absolute_error"], 0.07)
        self.assertGreaterEqual(pairs["workload_held_out"]["spearman_of_sums"], 0.7)
        self.assertTrue((self.folder / "pairs" / "evaluation.json").exists())
        xml.dom.minidom.parse(str(self.folder / "pairs" / "utilisation-slowdown.svg"))
        self.assertIn("--gavel needs --pairs", self.fail_with(2, "evaluate", "--gavel", "x.csv"))
        self.assertIn("give one of them", self.fail_with(2, "evaluate", "--pairs", self.profiles()))

    def test_refused(self):
        profiles = self.profiles()
        self.assertIn("nothing to evaluate", self.fail_with(2, "evaluate"))
        self.assertIn("needs profiles of two", self.fail_with(2, "evaluate", profiles, "--split", "gpu"))
        self.assertIn("did you mean 'forest'?", self.fail_with(2, "evaluate", profiles, "--learner", "forst"))
        self.assertIn("--split: ", self.fail_with(2, "evaluate", profiles, "--split", "famly"))
        self.assertIn("--timm", self.fail_with(2, "evaluate", profiles, "--timm", "."))
        self.assertIn("--timm", self.fail_with(2, "evaluate", "--timm", "nowhere"))
        for folds in ("0", "1", "-1", "x", "1e9"):
            self.assertIn("--folds: ", self.fail_with(2, "evaluate", profiles, f"--folds={folds}"))


if __name__ == "__main__":
    unittest.main()
