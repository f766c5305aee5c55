#!/usr/bin/env python3
"""trace import sacct, and whatif over what it wrote: a site's history before anything is switched on."""

import json
import os
import unittest

from program import ProgramTest

HEADER = "JobID|User|Partition|State|Submit|Start|ElapsedRaw|AllocCPUS|ReqTRES|AllocTRES|MaxRSS\n"
ROOT = os.getcwd()  # CTest runs us in the repository's root
REAL = f"{ROOT}/tests/fixtures/slurm/22.05/sacct.txt"
PODS = f"{ROOT}/tests/fixtures/kubernetes/pods.json"


def history(jobs=12):
    """Jobs of one GPU each that came every minute and ran for ten, one after the other on two GPUs."""
    rows = []
    for i in range(jobs):
        waits = max(0, (i // 2) * 10 - i)
        start = f"2026-01-05T{10 + (i + waits) // 60:02}:{(i + waits) % 60:02}:00"
        rows.append(f"{i + 1}|{'ada' if i % 3 else 'bob'}|gpu|COMPLETED|2026-01-05T10:{i:02}:00|{start}|600|2|"
                    f"cpu=2,gres/gpu=1,mem=4G|cpu=2,gres/gpu=1,mem=4G|\n")
    return HEADER + "".join(rows)


class SacctTest(ProgramTest):
    def fake_sacct(self, script):
        path = self.folder / "bin" / "sacct"
        path.parent.mkdir()
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def with_fake(self):
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def do_import(self, *args, **options):
        """What was assumed is told on stderr."""
        done = self.run_program("trace", "import", "sacct", *args, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class Import(SacctTest):
    def test_a_real_history_becomes_a_trace_with_its_assumptions(self):
        done = self.do_import(REAL, "--out", "trace.csv")
        self.assertEqual(done.stdout, "")
        self.assertIn("12 jobs", done.stderr)
        self.assertIn("note: 1 job ran more than once (requeued)", done.stderr)
        self.assertIn("sharewell whatif --trace trace.csv", done.stderr)
        with open(self.folder / "trace.csv", encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertTrue(lines[0].startswith("# "))
        header = next(line for line in lines if not line.startswith("#"))
        self.assertEqual(header, "id,submit_seconds,duration_seconds,gpus,user,cores,host_memory_gb,gpu_models,"
                                 "waited_seconds")
        self.succeed("simulate", "--trace", "trace.csv", "--cluster", "2x2xV100+1x2xP100+1x4xP100",
                     "--policy", "slot")

    def test_it_is_printed_without_out(self):
        self.write("h.txt", history(2))
        text = self.do_import("h.txt").stdout
        self.assertIn("\n1,0,600,1,bob,2,4,0\n", text)

    def test_pods_of_kubernetes(self):
        done = self.run_program("trace", "import", "kubernetes", PODS, "--out", "pods.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pods.json: 4 jobs", done.stderr)
        self.assertIn("2 pods left out that wait or run", done.stderr)
        trace = (self.folder / "pods.csv").read_text(encoding="utf-8")
        self.assertIn("default/train-1", trace)
        done = self.run_program("simulate", "--trace", "pods.csv", "--cluster", "1x8xH200", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words, says in ((("kubernetes",), "kubectl get pods -A -o json"),
                            (("kubernetes", PODS, "--since", "2026-01-01"), "are for sacct"),
                            (("kubernetes", PODS, "--namespace", "none"), "in the namespace 'none'"),
                            (("sacct", REAL, "--namespace", "x"), "is for kubernetes"),
                            (("kubernetes", REAL), "it is no JSON")):
            done = self.run_program("trace", "import", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(says, done.stderr)

    def test_sacct_is_asked_with_since(self):
        self.fake_sacct("#!/bin/sh\nfor w; do echo \"$w\" >> asked; done\ncat h.txt\n")
        self.write("h.txt", history(2))
        self.do_import("--since", "2026-01-01", "--partition", "gpu", env=self.with_fake())
        with open(self.folder / "asked", encoding="utf-8") as file:
            asked = file.read().splitlines()
        for word in ("--allusers", "--duplicates", "--parsable2", "--starttime=2026-01-01", "--partition=gpu"):
            self.assertIn(word, asked)

    def test_a_slurm_without_accounting_is_said(self):
        self.fake_sacct("#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2; exit 1\n")
        done = self.run_program("trace", "import", "sacct", "--since", "2026-01-01",
                                env=self.with_fake())
        self.assertEqual(done.returncode, 3)
        self.assertIn("said 'Slurm accounting storage is disabled';", done.stderr)

    def test_what_is_wrong_is_said(self):
        self.write("h.txt", history(1))
        self.write("bad.txt", HEADER + "1|ada|gpu|COMPLETED|soon|x|1|1|||\n")
        for words, says in ((("import", "sacct"), "give a file, or --since"),
                            (("import", "sacct", "h.txt", "--since", "2026-01-01"), "give a file, or --since"),
                            (("import", "sacct", "--since", "yesterday"), "'yesterday' is not allowed"),
                            (("import", "sacct", "h.txt", "--before", "2026-01-01"), "--before needs --since"),
                            (("import", "sact", "h.txt"), "did you mean 'sacct'?"),
                            (("export", "sacct", "h.txt"), "give import"),
                            (("import", "sacct", "bad.txt"), "line 2"),
                            (("import", "sacct", "h.txt", "--partition", "cpu"), "in the partition 'cpu'")):
            self.assertIn(says, self.fail_with(2, "trace", *words))


class WhatIf(SacctTest):
    def test_what_would_have_changed(self):
        self.write("h.txt", history())
        self.do_import("h.txt", "--out", "trace.csv")
        text = self.succeed("whatif", "--trace", "trace.csv", "--cluster", "1x2xV100")
        self.assertRegex(text, r"\n +really +slot +sharewell\n")
        self.assertIn("sharewell instead of slot: of 12 jobs", text)
        self.assertIn("who gains and who loses", text)
        self.assertRegex(text, r"\nada +8 ")
        self.assertIn("note: slot stands for what is done today: its mean completion time is 1 % above", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_json(self):
        self.write("h.txt", history())
        document = json.loads(self.succeed("whatif", "--trace", "h.txt", "--cluster", "1x2xV100", "--json"))
        self.assertEqual([r["policy"] for r in document["results"]], ["really", "slot", "sharewell"])
        self.assertEqual(sum(user["jobs"] for user in document["users"]), 12)
        change, = document["changes"]
        self.assertEqual(change["policy"], "sharewell")
        self.assertEqual(change["jobs_sooner"] + change["jobs_later"] + change["jobs_same"], 12)
        self.assertIsNone(document["results"][0]["moves"])
        self.assertAlmostEqual(document["results"][0]["gpu_hours"], 2)

    def test_a_cluster_that_cannot_hold_the_jobs_is_said(self):
        done = self.run_program("whatif", "--trace", REAL, "--cluster", "2x2xV100")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("note: 4 jobs can never run on this cluster", done.stdout)

    def test_flags_that_do_not_go_together(self):
        self.write("h.txt", history())
        for words, says in ((("--trace", "h.txt"), "--trace needs --cluster"),
                            (("--cluster", "1x2xV100"), "need --trace"),
                            (("--trace", "h.txt", "--cluster", "1x2xV100", "--days", "3"), "--days is for"),
                            (("--trace", "h.txt", "--cluster", "1x2xV100", "--policy", "optimal"), "sharewell-lab simulate --policy optimal")):
            self.assertIn(says, self.fail_with(2, "whatif", *words))


if __name__ == "__main__":
    unittest.main()
