"""Drives the built programs, which are $SHAREWELL and sharewell-lab beside it; shared by the tests in this folder."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["SHAREWELL"]
LAB = PROGRAM + "-lab"
PATIENCE = 60
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
# Rewrites the golden files instead of comparing: look at the difference before it is committed.
UPDATE = bool(os.environ.get("SHAREWELL_UPDATE_GOLDEN"))

TWO_JOBS = "id,submit_seconds,duration_seconds,gpus\na,0,100,1\nb,10,100,1\n"


class Speaker:
    """A program that runs on (`process`) and says things into a file (`said_in`)."""

    def said(self):
        return self.said_in.read_text(encoding="utf-8")

    def wait_for(self, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = re.search(pattern, self.said())
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"{pattern} was never said: {self.said()}")


class ProgramTest(unittest.TestCase):
    """Each test has a folder of its own as working folder of the program."""

    maxDiff = None
    program = PROGRAM

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def run_program(self, *args, program=None, **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([program or self.program, *args], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              cwd=self.folder, timeout=120, check=False, encoding="utf-8", **options)

    def succeed(self, *args, program=None):
        done = self.run_program(*args, program=program)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def fail_with(self, code, *args, program=None):
        """The message. Nothing of a failure may reach stdout."""
        done = self.run_program(*args, program=program)
        self.assertEqual(done.returncode, code, (args, done.stderr))
        self.assertEqual(done.stdout, "", args)
        self.assertTrue(done.stderr.startswith(os.path.basename(program or self.program) + ": "), done.stderr)
        return done.stderr

    def assert_golden(self, name, text):
        path = GOLDEN / name
        if UPDATE:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"),
                         f"{path.name}: if this is meant, run with SHAREWELL_UPDATE_GOLDEN=1")
