#!/usr/bin/env python3
"""reproduce: the document's shape, the table, and what is refused."""

import json
import pathlib
import re
import subprocess
import unittest

from program import LAB, PROGRAM, ProgramTest


ROOT = pathlib.Path(__file__).resolve().parents[2]


class Moved(ProgramTest):
    def test_where_the_research_commands_went_is_told(self):
        for command in ("reproduce", "evaluate", "train"):
            said = self.fail_with(2, command, "--json")
            self.assertIn(f"`sharewell-lab {command}`", said)
        listed = self.succeed("--help", program=LAB).split("[options]\n\n")[1].split("options:\n")[0]
        self.assertEqual(re.findall(r"^  (\S+)", listed, re.M), ["reproduce", "simulate", "evaluate", "train", "completion"])

    def test_the_lab_is_a_program_like_the_other(self):
        self.assertRegex(self.succeed("--version", program=LAB), r"^sharewell-lab \d+\.\d+\.\d+\n$")
        self.assertEqual(self.succeed("help", "train", program=LAB), self.succeed("train", "--help", program=LAB))
        self.assertIn("did you mean 'train'?", self.fail_with(2, "trian", program=LAB))
        self.assertIn("Try 'sharewell-lab train --help'.", self.fail_with(2, "train", "--outt", "x", program=LAB))

    def test_only_the_lab_has_a_solver_in_it(self):
        for program, has in ((PROGRAM, False), (LAB, True)):
            used = subprocess.run(["ldd", program], capture_output=True, encoding="utf-8", check=True).stdout
            self.assertEqual("liblapack" in used or "libblas" in used, has, program)


class Reproduce(ProgramTest):
    program = LAB

    def test_json(self):
        document = json.loads(self.succeed("reproduce", "coda", "--seeds", "1", "--json"))
        self.assertEqual(list(document), ["schema", "experiments"])
        self.assertEqual(document["schema"], 1)
        self.assertEqual([experiment["name"] for experiment in document["experiments"]], ["coda"])
        for experiment in document["experiments"]:
            self.assertEqual(list(experiment), ["name", "title", "assumptions", "rows", "items", "grids"])
            self.assertTrue(experiment["rows"])
            for row in experiment["rows"]:
                self.assertEqual(list(row), ["what", "paper", "ours", "unit", "note"])
                for figure in (row["paper"], row["ours"]):
                    self.assertIsInstance(figure, (int, float, type(None)))

    def test_page_is_not_older_than_the_program(self):
        page = self.succeed("reproduce", "all", "--page")
        with open(ROOT / "docs" / "reproduce.md", encoding="utf-8") as file:
            stored = file.read()
        self.assertEqual(stored.splitlines(), page.splitlines(),
                         "docs/reproduce.md is older than the program: write it anew with "
                         "`sharewell-lab reproduce all --page > docs/reproduce.md`")

    def test_page_is_of_all_papers_and_of_fixed_seeds(self):
        self.assertIn("--page is of all papers", self.fail_with(2, "reproduce", "coda", "--page"))
        self.assertIn("leave --seeds out", self.fail_with(2, "reproduce", "all", "--page", "--seeds", "3"))
        self.fail_with(2, "reproduce", "all", "--page", "--json")

    def test_table(self):
        text = self.succeed("reproduce", "coda", "--seeds", "1")
        self.assertRegex(text, r"(?m)^what +paper +ours")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_side_by_side(self):
        text = self.succeed("reproduce", "yeung", "--seeds", "1")
        self.assertRegex(text, r"(?m)^ +slot +reactive +pack +sharewell *$")
        self.assertRegex(text, r"(?m)^GPU utilisation, theirs +43.1 % +47.1 % +69.6 % +-")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        document = json.loads(self.succeed("reproduce", "yeung", "--seeds", "1", "--json"))
        table, = document["experiments"][0]["grids"]
        self.assertEqual(table["id"], "Table 4")
        self.assertEqual(table["columns"], ["", "slot", "reactive", "pack", "sharewell"])

    def test_parts(self):
        self.assertIn("--part goes with yeung", self.fail_with(2, "reproduce", "coda", "--part", "optimum"))
        self.assertIn("predictor and optimum", self.fail_with(2, "reproduce", "yeung", "--part", "optimal"))
        # Not in the repository: the graphs are not carried in the program.
        self.assertIn("run this in the repository", self.fail_with(2, "reproduce", "yeung", "--part", "predictor"))

    def test_refused(self):
        self.assertIn("did you mean 'coda'?", self.fail_with(2, "reproduce", "codda"))
        for seeds in ("0", "-1", "1.5", "nan", "", "1e9"):
            self.assertIn("--seeds: ", self.fail_with(2, "reproduce", "coda", f"--seeds={seeds}"))


if __name__ == "__main__":
    unittest.main()
