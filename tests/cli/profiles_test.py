#!/usr/bin/env python3
"""profiles: what was measured, listed, shown, compared, exported and deleted. Round trips of records
with GPUs are in src/cli/commands/measure/profiles_test.cc."""

import json
import unittest

from program import ProgramTest


class Profiles(ProgramTest):
    stored = None

    def setUp(self):
        super().setUp()
        if Profiles.stored is None:
            for name in ("first", "second"):
                done = self.run_program("profile", "--name", name, "--store", "p.db", "--for", "1s", "--warmup", "0",
                                        "--interval", "0.2s", "--", "sleep", "20")
                self.assertEqual(done.returncode, 0, done.stderr)
            Profiles.stored = (self.folder / "p.db").read_bytes()
        (self.folder / "p.db").write_bytes(Profiles.stored)

    def profiles(self, *args):
        return self.succeed("profiles", *args, "--store", "p.db")

    def test_list_and_show(self):
        table = self.profiles("list")
        self.assertRegex(table, r"(?m)^ *1  first ")
        self.assertEqual(self.succeed("profiles", "--store", "p.db"), table)
        found = json.loads(self.profiles("list", "--json"))
        self.assertEqual(found["schema"], 1)
        self.assertEqual([entry["name"] for entry in found["profiles"]], ["first", "second"])
        self.assertEqual(self.profiles("show", "1"), self.profiles("show", "first"))
        self.assertIn("first", self.profiles("show", "first"))
        json.loads(self.profiles("show", "first", "--json"))

    def test_compare(self):
        text = self.profiles("compare", "first", "second")
        self.assertIn("first (1)", text)
        pair = json.loads(self.profiles("compare", "1", "2", "--json"))
        self.assertEqual((pair["schema"], pair["a"]["name"], pair["b"]["id"]), (1, "first", 2))
        self.assertIn("nothing to compare", self.profiles("compare", "--by", "cpu"))
        self.assertEqual(json.loads(self.profiles("compare", "--by", "cpu", "--json"))["rows"], [])

    def test_export_everything(self):
        document = json.loads(self.profiles("export", "--json"))
        self.assertEqual(document["schema"], 1)
        self.assertEqual(len(document["profiles"]), 2)
        self.assertEqual(self.profiles("export", "--json", "--out", "x.json"), "")
        self.assertEqual(json.loads((self.folder / "x.json").read_text()), document)

    def test_plot_draws_the_samples_of_the_run(self):
        done = self.run_program("profiles", "plot", "first", "--out", "charts", "--store", "p.db")
        self.assertEqual(done.returncode, 0, done.stderr)
        files = done.stdout.splitlines()
        self.assertIn("charts/1-cpu-gpu-busy.svg", files)
        self.assertIn("charts/1-cpu-gpu-memory.svg", files)
        for file in files:
            self.assertIn("first: ", (self.folder / file).read_text())
        # What this machine does not tell is named, a line each, and nothing else.
        for line in done.stderr.splitlines():
            self.assertRegex(line, "^profile 1: no samples of .*; `sharewell doctor` says why$")
        again = self.run_program("profiles", "plot", "1", "--out", "charts", "--json", "--store", "p.db")
        self.assertEqual(json.loads(again.stdout), {"schema": 1, "files": files})
        self.assertIn("plot needs a folder", self.fail_with(2, "profiles", "plot", "first", "--store", "p.db"))
        self.assertIn("plot needs an id or a name",
                      self.fail_with(2, "profiles", "plot", "--out", "charts", "--store", "p.db"))

    def test_delete_asks_first(self):
        self.assertIn("this would delete 1 profile; give --yes",
                      self.fail_with(2, "profiles", "delete", "first", "--store", "p.db"))
        self.assertEqual(self.profiles("delete", "first", "--yes"), "1 profile deleted.\n")
        self.assertEqual([entry["name"] for entry in json.loads(self.profiles("list", "--json"))["profiles"]],
                         ["second"])

    def test_what_is_wrong_is_said(self):
        for args, words in ((["shwo"], "did you mean 'show'?"),
                            (["show", "frist"], "shows them; did you mean 'first'?"),
                            (["show", "99"], "there is no profile '99'"), (["show"], "show needs an id or a name"),
                            (["compare", "first"], "compare needs two"),
                            (["compare", "--by", "moon"], "give gpu or cpu"), (["list", "--by", "gpu"], "is for compare"),
                            (["list", "--csv"], "is for export"), (["show", "first", "--out", "x"], "is for export and plot"),
                            (["delete", "nobody", "--yes"], "there is no profile 'nobody'")):
            with self.subTest(args=args):
                self.assertIn(words, self.fail_with(2, "profiles", *args, "--store", "p.db"))


if __name__ == "__main__":
    unittest.main()
