#!/usr/bin/env python3
"""Everyday commands on a terminal of 80 and of 120 columns: no line is wider, and what they print is kept in golden files."""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import time
import unicodedata
import unittest

from api_server import Server
from program import PATIENCE, PROGRAM, TWO_JOBS, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "data/h200/onnx/enc_256x2.onnx"
WIDTHS = (80, 120)


def columns(text):
    """As a terminal counts them."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def on_terminal(width, args, env, folder):
    """What the program prints on a terminal of so many columns, stderr with it, and its exit code."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
            os.chdir(folder)
            os.execve(PROGRAM, [PROGRAM, *args], env)
        finally:
            os._exit(127)
    out = b""
    try:
        while piece := os.read(terminal, 65536):
            out += piece
    except OSError:  # the program has ended
        pass
    finally:
        os.close(terminal)
    _, status = os.waitpid(child, 0)
    text = re.sub(r"\r\x1b\[K([^\n]*\r\x1b\[K)?", "", out.decode("utf-8"))  # a progress bar, cleared
    return text.replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


def may_be_wide(line):
    """One word, or one command in backquotes: what is there to be copied stays whole, on a line of its own."""
    return re.fullmatch(r"[^ ]+|[^ `]*`[^`]+`[^ ]*", line.strip()) is not None


class Width(ProgramTest):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        cls.addClassCleanup(place.cleanup)
        cls.place = pathlib.Path(place.name)
        cls.server = Server(cls.place, "--grace", "1s")
        # No variable of whoever runs the test: a job's page lists their names.
        cls.env = {"PATH": os.environ["PATH"], "HOME": str(cls.place), "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1",
                   "SHAREWELL_SERVER": str(cls.server.socket), "XDG_STATE_HOME": str(cls.place), "XDG_DATA_HOME": str(cls.place)}
        cls.addClassCleanup(cls.end)
        (cls.place / "trace.csv").write_text(TWO_JOBS, encoding="utf-8")
        cls.submit("--name", "experiment-bert-large-uncased-lr-0.001", "--", "sleep", "600")
        # A job has a GPU's part of the cores until it was seen what it uses, for a minute: these two would have all.
        cls.submit("--name", "experiment-bert-large-uncased-lr-0.01", "--exclusive", "--cpus", "12", "--", "sleep", "600")
        for number in (1, 2):
            cls.server.wait_until(number, "running")
        cls.submit("--name", "lr={lr}", "--array", "lr=" + ",".join(f"0.{i}" for i in range(1, 21)), "--exclusive", "--no-guests", "--",
                   "sleep", "600")
        cls.submit("--name", "held", "--hold", "--gpus", "0", "--", "true")
        cls.submit("--name", "fails", "--gpus", "0", "--", "sh", "-c", "exit 3")
        cls.server.wait_until(24, "failed")
        cls.submit("--name", "bert", "--gpus", "0", "--", "true")
        cls.submit("--name", "bert", "--gpus", "0", "--", "true")
        cls.server.wait_until(26, "finished")

    @classmethod
    def end(cls):
        cls.ask("cancel", "1-26")
        for number in (1, 2):
            cls.server.wait_until(number, "cancelled")
        cls.server.stop()

    @classmethod
    def ask(cls, *args):
        return subprocess.run([PROGRAM, *args], env=cls.env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=PATIENCE, check=False)

    @classmethod
    def submit(cls, *args):
        done = cls.ask("submit", *args)
        if done.returncode:
            raise AssertionError(done.stderr)

    def shown(self, width, *args, code=0, folder=ROOT):
        text, ended = on_terminal(width, args, self.env, folder)
        self.assertEqual(ended, code, text)
        for line in text.split("\n"):
            if columns(line) > width and not may_be_wide(line):
                self.fail(f"{columns(line)} columns on a terminal of {width}: sharewell {' '.join(args)}\n{line}\n\n{text}")
        return text

    def assert_wrapped(self, width, text):
        """Made for that width, not broken a second time: no word would have had room on the line above."""
        lines = text.split("\n")
        for above, line in zip(lines, lines[1:]):
            indent = len(line) - len(line.lstrip(" "))
            if indent < 8 or not line.strip() or not above.strip() or "  " in line.strip():  # a paragraph beside a label alone
                continue
            self.assertGreater(columns(above) + 1 + columns(line.split()[0]), min(width, 100), f"{above}\n{line}\n\n{text}")

    def plain(self, text):
        """The same without what differs from run to run and from machine to machine."""
        text = text.replace(str(self.place), "FOLDER").replace(os.uname().nodename, "HOST")
        text = re.sub(r"\b\d+(\.\d+)? (ms|s|µs|min)\b|\b\d+m \d\ds\b", "TIME", text)
        text = re.sub(r"\d[\d,]*\.\d+", "N.N", text)
        # How many cores a job has is adjusted to what it was seen to use.
        text = re.sub(r"\n1(-2)?: (an idle GPU|profiled)[^\n]*", "", text)
        text = re.sub(r"\n2: an idle GPU[^\n]*", "", text)
        text = re.sub(r"(  running  [01]  )\d+", r"\1N", re.sub(r"(?<=\S) {2,}", "  ", text))
        text = re.sub(r"\d+ of 32 simulated", "N of 32 simulated", text)
        text = re.sub(r"(?m)^(jobs a CPU second).*$", r"\1", text)  # how fast this machine is
        text = re.sub(r"─+", "─", text)
        return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line) for line in text.split("\n"))

    def test_1_with_a_server(self):
        for width in WIDTHS:
            said = []
            for args in (["jobs"], ["jobs", "--flat"], ["jobs", "mine", "--state", "held,failed"], ["jobs", "--all", "--limit", "5"],
                         ["top"], ["why", "3"], ["why", "held"], ["logs", "fails"],
                         ["submit", "--dry-run", "--exclusive", "--no-guests", "--name", "would-be", "--", "sleep", "600"]):
                with self.subTest(width=width, args=args):
                    said.append(f"$ sharewell {' '.join(args)}\n{self.plain(self.shown(width, *args))}")
            self.assert_golden(f"terminal-jobs-{width}.txt", "\n".join(said))

    def test_2_without_a_server(self):
        trace = str(self.place / "trace.csv")
        for width in WIDTHS:
            said = []
            for args in (["predict", MODEL, "--batch", "32"], ["recommend", MODEL, "--gpu", "H200,T4"],
                         ["simulate", "--trace", trace, "--cluster", "1x2xH200", "--policy", "fifo,pack,sharewell"],
                         ["policies"], ["gpus"], ["jobs", "--help"]):
                with self.subTest(width=width, args=args):
                    text = self.shown(width, *args)
                    if args[0] == "recommend":
                        self.assert_wrapped(width, text)
                    said.append(f"$ sharewell {' '.join(args).replace(trace, 'trace.csv')}\n{self.plain(text)}")
            self.assert_golden(f"terminal-studies-{width}.txt", "\n".join(said))

    def test_3_what_every_machine_says_differently(self):
        for width in WIDTHS:
            for args, code in ((["doctor"], 0), (["job", "1"], 0), (["job", "bert"], 0), (["limits"], 0), (["--help"], 0), (["submit", "--help"], 0), (["report", "job", "1", "--out", str(self.place / "report")], 0),
                               (["jobs", "--server", str(self.place / ("a-socket-that-is-not-there-" + "x" * 30))], 3),
                               (["jobs", "--state", "runing"], 2), (["job", "no-such-job"], 2)):
                with self.subTest(width=width, args=args):
                    text = self.shown(width, *args, code=code)
                    if args == ["doctor"]:
                        self.assert_wrapped(width, text)

    def test_4_a_path_is_never_cut(self):
        path = str(self.place / ("a-socket-that-is-not-there-" + "x" * 30))
        self.assertIn(path[-40:], self.shown(80, "jobs", "--server", path, code=3))

    def test_5_lists_take_a_user_and_states(self):
        held = self.shown(80, "jobs", "mine", "--state", "held")
        self.assertIn(" held ", held)
        self.assertNotIn("running", held)
        self.assertIn("No such jobs", self.shown(80, "jobs", "--user", "nobody-here"))
        for command in ("jobs", "top"):
            message = self.shown(120, command, "--state", "runing", code=2)
            self.assertIn("did you mean 'running'?", message)
            self.assertIn("held, waiting, starting, running, stopping, finished, failed, cancelled", message.replace("\n  ", " "))
            self.assertIn("--user", self.shown(80, command, "eve", code=2))
            self.assertIn("exclude each other", self.shown(80, command, "mine", "--user", "eve", code=2))
        self.assertIn("sharewell jobs --state waiting", self.shown(80, "top", "--state", "waiting", code=2))
        self.assertIn("experiment", self.shown(80, "top", "mine"))
        self.assertNotIn("experiment", self.shown(80, "top", "--user", "nobody-here"))
        listed = json.loads(self.ask("jobs", "--state", "failed", "--json").stdout)["jobs"]
        self.assertEqual([job["number"] for job in listed], [24])

    def test_6_a_job_by_its_name(self):
        for command in ("job", "why", "logs"):
            done = self.ask(command, "bert")
            self.assertEqual((done.returncode, done.stderr), (0, "job 26, the newest of 2 named 'bert'; others: 25\n"), done)
        self.assertEqual(self.ask("job", "fails").stderr, "")
        self.assertIn("did you mean 'bert'?", self.shown(120, "job", "brt", code=2))

    def test_7_only_one_live_job_is_cancelled_by_name(self):
        numbers = []
        for _ in range(2):
            self.submit("--name", "twin", "--hold", "--gpus", "0", "--", "true")
        numbers = [job["number"] for job in json.loads(self.ask("jobs", "--json").stdout)["jobs"] if job["name"] == "twin"]
        self.assertEqual(len(numbers), 2)
        refused = self.ask("cancel", "twin")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(f"2 of your jobs are named 'twin': {min(numbers)}, {max(numbers)}; give the number", refused.stderr)
        self.assertEqual(self.ask("cancel", str(min(numbers))).returncode, 0)
        end = time.monotonic() + PATIENCE
        while self.server.job(min(numbers))["phase"] != "cancelled":
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.ask("release", "twin").returncode, 0)
        self.server.wait_until(max(numbers), "finished")
        self.assertIn("no job that runs or waits is named 'twin'", self.ask("cancel", "twin").stderr)
        self.assertIn("no job that runs or waits is named 'bert'", self.ask("cancel", "bert").stderr)


if __name__ == "__main__":
    unittest.main()
