#!/usr/bin/env python3
"""`sharewell top -w` at a real terminal: tmux is the terminal, a server with simulated GPUs answers."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from program import PATIENCE, PROGRAM
from serve_test import Server

HOSTILE = "sleep 600 # \x1b[2J\x1b]0;owned\x07\x1b[31mred\u009b31m"


class Terminal:
    """A tmux server of its own with one pane, in which a shell runs `top -w` and tells how it ended."""

    def __init__(self, folder, socket, width=110, height=24, **environment):
        self.folder = folder
        self.tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(folder / "tmux")]
        script = f"trap : INT; stty -a >before; '{PROGRAM}' top -w --server '{socket}'; echo \"left with $?\"; stty -a >after; exec cat"
        self.env = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR", "LC_ALL")}
        self.env.update({"LANG": "C.UTF-8", "TERM": "screen", **environment})
        words = [word for key in ("LANG", "NO_COLOR", "TERM") if key in self.env for word in ("-e", f"{key}={self.env[key]}")]
        self.do("new-session", "-d", "-x", str(width), "-y", str(height), *words, "sh", "-c",
                script if "TERM" not in environment else f"TERM={environment['TERM']}; {script}")

    def do(self, *args):
        done = subprocess.run([*self.tmux, *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", timeout=PATIENCE, check=False)
        if done.returncode:
            raise AssertionError(f"tmux {args}: {done.stderr}")
        return done.stdout

    def lines(self, *flags):
        return self.do("capture-pane", "-p", *flags).split("\n")[:-1]

    def screen(self):
        return "\n".join(self.lines())

    def press(self, *keys):
        self.do("send-keys", *keys)

    def wait_for(self, pattern):
        """The screen, once it has a line like this."""
        end = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            if re.search(pattern, screen, re.M):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"{pattern} never stood on the screen:\n{screen}")
            time.sleep(0.05)

    def fact(self, name):
        return self.do("display-message", "-p", f"#{{{name}}}").strip()

    def program(self):
        """The process of `top` itself."""
        shell = int(self.fact("pane_pid"))
        return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()[0])

    def end(self):
        subprocess.run([*self.tmux, "kill-server"], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


@unittest.skipUnless(shutil.which("tmux"), "needs tmux")
class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        cls.addClassCleanup(place.cleanup)
        cls.server = Server(pathlib.Path(place.name))
        cls.addClassCleanup(lambda: cls.server.kill(signal.SIGTERM))
        cls.addClassCleanup(lambda: cls.ask("cancel", "1-4"))
        cls.ask("submit", "--name", "talks", "--", "sh", "-c", "echo it begins; echo it complains >&2; exec sleep 600")
        cls.ask("submit", "--", "sh", "-c", HOSTILE)
        cls.ask("submit", "--name", "goes", "--exclusive", "--", "sleep", "600")
        cls.ask("submit", "--name", "waits", "--gpus", "2", "--exclusive", "--", "sleep", "600")

    @classmethod
    def ask(cls, *args):
        done = subprocess.run([PROGRAM, *args, "--server", cls.server.socket], cwd=cls.server.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False) if args[0] != "submit" else \
            subprocess.run([PROGRAM, "submit", "--server", cls.server.socket, *args[1:]], cwd=cls.server.folder, stdin=subprocess.DEVNULL,
                           capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)
        if args[0] == "submit" and done.returncode:
            raise AssertionError(done.stderr)
        return done

    def open(self, **options):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(place.cleanup)
        terminal = Terminal(pathlib.Path(place.name), self.server.socket, **options)
        self.addCleanup(terminal.end)
        return terminal

    def assert_restored(self, terminal, code):
        terminal.wait_for(rf"left with {code}$")
        self.assertEqual((terminal.fact("alternate_on"), terminal.fact("cursor_flag")), ("0", "1"))
        end = time.monotonic() + PATIENCE
        before, after = (terminal.folder / name for name in ("before", "after"))
        while not (after.exists() and after.read_bytes().count(b"\n") == before.read_bytes().count(b"\n")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual(before.read_text(encoding="utf-8"), after.read_text(encoding="utf-8"))

    def test_1_keys(self):
        terminal = self.open()
        screen = terminal.wait_for(r"^ +4 waits")
        terminal.wait_for(r"^simulated cores .* given  CPU .* memory .* of ")  # how busy it is takes two readings
        for line in (r"^sharewell top +\S+: policy \S+, 2 GPUs, ", r"^ +0 H200 ",
                     r"^ +1 talks .* speed .* SMs .* cores", r"^queue$", r"^q quit  \? help"):
            self.assertRegex(screen, re.compile(line, re.M))
        # A name stays text.
        self.assertIn("sleep 600 # ?[2J?]0;own", screen)
        self.assertNotIn("owned", terminal.fact("pane_title"))
        terminal.press("Down", "w")
        terminal.wait_for(r"^why: job 1$")
        terminal.wait_for(r"GPU")
        terminal.press("q")
        terminal.wait_for(r"^q quit")
        terminal.press("l")
        terminal.wait_for(r"^stdout of job 1$")
        terminal.wait_for(r"^it begins$")
        terminal.press("e")
        terminal.wait_for(r"^it complains$")
        terminal.press("q", "s")
        terminal.wait_for(r"s sort: busy")
        terminal.press("u", "nobody-here", "Enter")
        self.assertNotIn("talks", terminal.wait_for(r"no jobs of a user"))
        terminal.press("Escape")
        terminal.wait_for(r"^ +4 waits")
        terminal.press("?")
        terminal.wait_for(r"^ +c +cancel the chosen job, after a question$")
        terminal.press("Escape")
        terminal.press("End", "c")
        terminal.wait_for(r"^cancel job 4\?")
        terminal.press("n")
        terminal.wait_for(r"^job 4 was not cancelled$")
        terminal.press("c")
        terminal.wait_for(r"^cancel job 4\?")
        terminal.press("y")
        terminal.wait_for(r"^job 4: cancelled")
        end = time.monotonic() + PATIENCE
        while "4 waits" in terminal.screen():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        terminal.press("q")
        self.assert_restored(terminal, 0)

    def test_2_a_new_size(self):
        terminal = self.open()
        terminal.wait_for(r"^q quit")
        terminal.do("resize-window", "-x", "50", "-y", "9")
        end = time.monotonic() + PATIENCE
        while True:
            lines = terminal.lines()
            if len(lines) == 9 and lines[-1].startswith("q quit") and lines[-1].endswith("…"):
                break
            self.assertLess(time.monotonic(), end, lines)
            time.sleep(0.05)
        self.assertRegex(lines[-2], r"^rows 1-4 of \d+$")
        terminal.press("End")
        terminal.wait_for(r"^rows \d+-(\d+) of \1$")
        terminal.do("resize-window", "-x", "140", "-y", "30")
        terminal.wait_for(r"q quit .* c cancel$")
        self.assertEqual(len(terminal.lines()), 30)

    def test_3_colours_or_none(self):
        terminal = self.open()
        terminal.wait_for(r"^q quit")
        self.assertRegex("\n".join(terminal.lines("-e")), "\x1b\\[(3[123]|38;5;[123])m")
        terminal = self.open(NO_COLOR="1")
        terminal.wait_for(r"^q quit")
        self.assertNotRegex("\n".join(terminal.lines("-e")), "\x1b\\[[0-9;]*3[0-7]m")

    def test_4_without_unicode(self):
        terminal = self.open(LANG="C")
        screen = terminal.wait_for(r"^q quit")
        self.assertTrue(screen.isascii(), screen)

    def test_5_signals_restore_the_terminal(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)):
            with self.subTest(signal=number):
                terminal = self.open()
                terminal.wait_for(r"^q quit")
                os.kill(terminal.program(), number)
                self.assert_restored(terminal, code)

    def test_6_a_terminal_that_nobody_knows(self):
        terminal = self.open(TERM="no-such-terminal")
        terminal.wait_for(r"policy")
        terminal.press("C-c")
        terminal.wait_for(r"left with 130$")

    def test_7_a_server_that_goes_and_comes(self):
        terminal = self.open()
        terminal.wait_for(r"^q quit")
        self.server.kill()
        screen = terminal.wait_for(r"^no answer for .*, trying again: ")
        self.assertIn("talks", screen)
        terminal.press("?")
        terminal.wait_for(r"^keys$")  # keys work meanwhile
        terminal.press("q")
        self.server.start()
        terminal.wait_for(r"^simulated cores")
        terminal.press("q")
        self.assert_restored(terminal, 0)


if __name__ == "__main__":
    unittest.main()
