#!/usr/bin/env python3
"""Everything that a user can get wrong: one line on stderr that says what and where, and exit 2."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import PROGRAM, TWO_JOBS, ProgramTest

HEADER = "id,submit_seconds,duration_seconds,gpus\n"


class Words(ProgramTest):
    def test_did_you_mean(self):
        self.assertIn("unknown command 'simulat'; did you mean 'simulate'?",
                      self.fail_with(2, "simulat"))
        self.assertIn("unknown flag '--verison'; did you mean '--version'?",
                      self.fail_with(2, "--verison"))
        self.assertIn("unknown flag '--trcae'; did you mean '--trace'?",
                      self.fail_with(2, "simulate", "--trcae", "x"))
        self.assertIn("unknown flag '--jsno'; did you mean '--json'?",
                      self.fail_with(2, "policies", "--jsno=1"))

    def test_no_suggestion_where_nothing_is_near(self):
        message = self.fail_with(2, "quite-another-thing")
        self.assertIn("unknown command 'quite-another-thing'\n", message)
        self.assertIn("sharewell --help", message)

    def test_shapes(self):
        for args, words in (
                (["simulate", "--cluster", "1x1xH200"], "--trace is required"),
                (["simulate", "--trace"], "--trace needs a value"),
                (["simulate", "--seed", "1", "--seed", "2", "--trace", "a", "--cluster", "b"],
                 "--seed is given more than once"),
                (["simulate", "--trace", "--cluster", "1x1xH200"],
                 "--trace needs a value, and '--cluster' is a flag"),
                (["policies", "--json=yes"], "--json takes no value"),
                (["policies", "extra"], "unexpected argument 'extra'"),
                (["policies", "--"], None),
                (["simulate", "policies"], "unexpected argument 'policies'"),
                ([""], "unknown command ''"),
                (["\x1b[2J"], "unknown command '?[2J'")):
            with self.subTest(args=args):
                if words is None:
                    self.succeed(*args)
                else:
                    self.assertIn(words, self.fail_with(2, *args))


class Simulate(ProgramTest):
    def refuse(self, *flags, trace="jobs.csv", cluster="1x1xH200", code=2):
        self.write("jobs.csv", TWO_JOBS)
        before = sorted(path.name for path in self.folder.iterdir())
        message = self.fail_with(code, "simulate", "--trace", trace, "--cluster", cluster, *flags)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        return message

    def test_numbers(self):
        for flag, values in {
                "--seed": ["-1", "1.5", "abc", "", "18446744073709551616", "1 "],
                "--max-slowdown": ["nan", "NaN", "inf", "-1", "0.9", "1e400", "abc", "1.2x", ""],
                "--restart-cost": ["nan", "-1", "1e400", "abc", "2d", "s"],
                "--work-scale": ["nan", "-1", "0", "1e400", "abc", "1e9"],
                "--until": ["nan", "-1", "1e400", "abc", "3w", "1h30m", ""],
                "--belief": ["", "noisy", "noisy:nan", "noisy:-1", "noisy:1e400", "unknown", "maybe"],
                "--durations": ["", "noisy:x", "noisy:-0.1", "noisy:99", "none"],
        }.items():
            for value in values:
                with self.subTest(flag=flag, value=value):
                    message = self.refuse(f"{flag}={value}", "--json")
                    self.assertIn(f"{flag}: '{value}' is not allowed; give ", message)
                    self.assertEqual(message.count("\n"), 1)

    def test_policies(self):
        self.assertIn("did you mean 'slot'?", self.refuse("--policy", "slto"))
        self.assertIn("did you mean 'pack'?", self.refuse("--policy", "slot,srtf+pakc"))
        for bad in ("", ",", "slot,", "slot,,pack", "+", "slot+", "srtf+las", "slot,slot"):
            with self.subTest(policy=bad):
                self.assertIn("--policy: ", self.refuse("--policy", bad))

    def test_files(self):
        self.write("empty.csv", "")
        self.write("header.csv", HEADER)
        self.write("unsorted.csv", HEADER + "b,10,100,1\na,0,100,1\n")
        self.write("twice.csv", HEADER + "a,0,100,1\na,0,100,1\n")
        self.write("negative.csv", HEADER + "a,0,-100,1\n")
        self.write("binary.csv", "\0\x01\x02")
        self.write("wide.csv", HEADER + "a,0,100,64\n")
        (self.folder / "folder").mkdir()
        for trace, words in (("none.csv", "none.csv: no such file"), ("empty.csv", "empty.csv: is empty"),
                             ("header.csv", "header.csv: "), ("folder", "folder: is a folder"),
                             ("unsorted.csv", "unsorted.csv: line 3, column submit_seconds"),
                             ("twice.csv", "twice.csv: line 3, column id"),
                             ("negative.csv", "negative.csv: line 2, column duration_seconds"),
                             ("binary.csv", "binary.csv: "), ("wide.csv", "it needs 64 GPUs"),
                             ("", "empty")):
            with self.subTest(trace=trace):
                self.assertIn(words, self.refuse(trace=trace))
        for flag in ("--profiles", "--interference", "--gpu-catalogue"):
            for file in ("none.csv", "empty.csv", "folder"):
                with self.subTest(flag=flag, file=file):
                    self.assertIn(file, self.refuse(flag, file))

    def test_clusters(self):
        self.assertIn("did you mean 'H200'?", self.refuse(cluster="1x1xH2000"))
        for cluster in ("", "none.toml", "0x1xH200", "1x1x", "-1x1xH200", "99999999999x8xV100"):
            with self.subTest(cluster=cluster):
                self.refuse(cluster=cluster)

    def test_format(self):
        self.assertIn("csv, philly", self.refuse("--format", "excel"))

    def test_out(self):
        self.write("file", "kept")
        self.assertIn("--out: 'file' cannot be a folder", self.refuse("--out", "file"))
        self.assertIn("--out: 'file/x' cannot be a folder", self.refuse("--out", "file/x"))
        self.assertIn("--out: ''", self.refuse("--out="))
        # Nothing is made before the input is known to be good.
        self.refuse("--out", "new", trace="none.csv")

    def test_full_disk(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        self.write("jobs.csv", TWO_JOBS)
        for args in (["simulate", "--trace", "jobs.csv", "--cluster", "1x1xH200"], ["--help"],
                     ["policies", "--json"], ["completion", "fish"]):
            with self.subTest(args=args), open("/dev/full", "w", encoding="utf-8") as full:
                done = self.run_program(*args, stdout=full)
                self.assertEqual(done.returncode, 1)
                self.assertIn("cannot write to standard output: No space left", done.stderr)

    def test_nobody_reads(self):
        read, write = os.pipe()
        os.close(read)
        done = self.run_program("policies", stdout=write)
        os.close(write)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")


class Interrupt(ProgramTest):
    def wait_until_caught(self, program):
        """Until the program has said what SIGINT shall do: before that it would just be killed."""
        status = pathlib.Path(f"/proc/{program.pid}/status")
        for _ in range(1000):
            caught = [line for line in status.read_text(encoding="utf-8").splitlines()
                      if line.startswith("SigCgt:")]
            if caught and int(caught[0].split()[1], 16) >> (signal.SIGINT - 1) & 1:
                return
            time.sleep(0.01)
        self.fail("SIGINT is not caught")

    def test_exits_130_and_leaves_nothing(self):
        rows = "".join(f"j{i},{i},5000,1\n" for i in range(200000))
        self.write("jobs.csv", HEADER + rows)
        with subprocess.Popen([PROGRAM, "simulate", "--trace", "jobs.csv", "--cluster", "64x8xV100",
                               "--policy", "slot,las", "--out", "out"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            self.wait_until_caught(program)
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=60)
        self.assertEqual((program.returncode, out, err), (130, b"", b""))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["jobs.csv"])


if __name__ == "__main__":
    unittest.main()
