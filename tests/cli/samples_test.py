#!/usr/bin/env python3
"""samples: what the agent stored, listed, shown, exported and deleted."""

import csv
import io
import json
import unittest

from program import ProgramTest


class Samples(ProgramTest):
    stored = None

    def setUp(self):
        super().setUp()
        if Samples.stored is None:
            done = self.run_program("monitor", "--listen", "none", "--store", "s.db", "--interval", "0.2", "--for",
                                    "2s", "--node", "here")
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            Samples.stored = (self.folder / "s.db").read_bytes()
        (self.folder / "s.db").write_bytes(Samples.stored)

    def samples(self, *args):
        return self.succeed("samples", *args, "--store", "s.db")

    def rows(self, *args):
        return list(csv.DictReader(io.StringIO(self.samples("export", *args))))

    def series(self, *args):
        document = json.loads(self.samples("list", *args, "--json"))
        self.assertEqual(document["schema"], 1)
        return document["series"]

    def test_list(self):
        table = self.samples("list")
        self.assertEqual(self.succeed("samples", "--store", "s.db"), table)
        self.assertRegex(table, r"(?m)^load1 +- +- +here +\d")
        entry = self.series("load1")[0]
        self.assertEqual(list(entry), ["node", "metric", "instance", "job", "unit", "kind", "samples",
                                       "first_unix_ms", "last_unix_ms"])
        self.assertGreaterEqual(entry["samples"], 2)
        self.assertLess(entry["first_unix_ms"], entry["last_unix_ms"])

    def test_filters(self):
        everything = self.series()
        loads = self.series("load*")
        self.assertEqual([entry["metric"] for entry in loads], ["load1", "load15", "load5"])
        self.assertLess(len(loads), len(everything))
        zero = self.series("cpu_*", "--instance", "0")
        self.assertEqual({entry["instance"] for entry in zero}, {"0"})
        self.assertEqual(self.series("--node", "elsewhere"), [])
        self.assertEqual(self.series("--from", "2001-01-01", "--to", "2001-01-02"), [])
        self.assertEqual(len(self.series("--from", "1h")), len(everything))
        self.assertEqual(self.samples("list", "--job", "none"), "No series.\n")

    def test_show(self):
        text = self.samples("show", "memory_total_bytes")
        self.assertRegex(text, r"^memory_total_bytes on here\n  \d+ samples, \d{4}-.* UTC\n  least [\d.]+ .iB   mean ")
        shown = json.loads(self.samples("show", "cpu_busy_seconds", "--json"))["series"][0]
        self.assertEqual(shown["kind"], "counter")
        self.assertIn("mean_per_second", shown)
        total = json.loads(self.samples("show", "memory_total_bytes", "--json"))["series"][0]
        self.assertEqual(total["least"], total["most"])
        self.assertGreater(total["last"], 0)
        if len(self.series()) > 20:
            self.assertRegex(self.samples("show"), r"\n\d+ more; name a metric")

    def test_F21_a_counters_rate_is_what_it_grew_by(self):
        rows = self.rows("cpu_busy_seconds")
        first = [row for row in rows if row["instance"] == rows[0]["instance"]]
        grew = float(first[-1]["value"]) - float(first[0]["value"])
        took = (int(first[-1]["time_unix_ms"]) - int(first[0]["time_unix_ms"])) / 1e3
        shown = json.loads(self.samples("show", "cpu_busy_seconds", "--instance", rows[0]["instance"], "--json"))["series"][0]
        self.assertAlmostEqual(shown["mean_per_second"], grew / took, places=6)

    def test_export(self):
        rows = self.rows("load1")
        self.assertEqual(list(rows[0]), ["node", "metric", "instance", "job", "unit", "time_unix_ms", "value"])
        self.assertEqual(len(rows), self.series("load1")[0]["samples"])
        times = [int(row["time_unix_ms"]) for row in rows]
        self.assertEqual(times, sorted(set(times)))
        document = json.loads(self.samples("export", "load1", "--json"))
        self.assertEqual([[int(row["time_unix_ms"]), float(row["value"])] for row in rows],
                         document["series"][0]["points"])
        self.assertEqual(self.samples("export", "load1", "--out", "x.csv"), "")
        self.assertEqual((self.folder / "x.csv").read_text(), self.samples("export", "load1"))

    def test_export_of_every_so_much_time(self):
        rows = self.rows("load*", "--every", "1h")
        self.assertLessEqual(len(rows), 6)
        for row in rows:
            self.assertEqual(int(row["time_unix_ms"]) % 3600000, 0)
            least, mean, most = (float(row[name]) for name in ("least", "mean", "most"))
            self.assertTrue(least - 1e-9 <= mean <= most + 1e-9, row)
        counted = sum(int(row["samples"]) for row in rows if row["metric"] == "load1")
        self.assertEqual(counted, self.series("load1")[0]["samples"])

    def test_delete_asks_first(self):
        before = len(self.series())
        message = self.fail_with(2, "samples", "delete", "load*", "--store", "s.db")
        self.assertIn("this would delete from 3 series", message)
        self.assertEqual(len(self.series()), before)
        self.assertRegex(self.samples("delete", "load*", "--yes"), r"^\d+ samples deleted\.\n$")
        self.assertEqual(self.series("load*"), [])
        self.assertEqual(len(self.series()), before - 3)

    def test_what_is_wrong_is_said(self):
        for args, words in ((["shwo"], "did you mean 'show'?"), (["show", "laod1"], "did you mean 'load1'?"),
                            (["show", "--node", "x"], "no series matches"),
                            (["list", "--from", "soon"], "--from: 'soon' is not a time"),
                            (["list", "--from", "1h", "--to", "2h"], "is not before --to"),
                            (["export", "--every", "0.1s"], "less than 1s"),
                            (["list", "--every", "1m"], "are for export"),
                            (["list", "--every", "1m", "--stroe", "x"], "did you mean '--store'?")):
            with self.subTest(args=args):
                self.assertIn(words, self.fail_with(2, "samples", *args, "--store", "s.db"))


class NoStore(ProgramTest):
    def test_none_is_made(self):
        self.assertIn("there is no store", self.fail_with(2, "samples", "list", "--store", "none.db"))
        self.assertIn("there is no store", self.fail_with(2, "profiles", "list", "--store", "none.db"))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
