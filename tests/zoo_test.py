#!/usr/bin/env python3
"""The zoo: every loop compiles and says kindly what it lacks; the one that needs nothing runs, tells of its steps and ends well."""

import ast
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ZOO = pathlib.Path(__file__).resolve().parents[1] / "zoo"
LIBRARIES = ("common", "feeds", "progress", "families", "hand_over", "warm")
LOOPS = sorted(path for path in ZOO.glob("*.py") if path.stem not in LIBRARIES)


class Loops(unittest.TestCase):
    def test_all_compile(self):
        for path in ZOO.glob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
        self.assertLessEqual({"vision", "language", "speech", "recommend", "recurrent", "mlp", "jax_zoo", "plain"},
                             {path.stem for path in LOOPS})

    def test_no_module_reaches_itself(self):
        """Over any imports, those inside functions too."""
        imports = {}
        for path in ZOO.glob("*.py"):
            names = set()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    names.add(node.module)
            imports[path.stem] = names
        for start in imports:
            reached, left = set(), [start]
            while left:
                more = imports.get(left.pop(), set()) - reached
                reached |= more
                left.extend(more)
            self.assertNotIn(start, reached, f"{start}.py imports itself in a circle")

    def test_what_is_missing_is_said(self):
        for path in LOOPS:
            needs = None if path.stem == "plain" else "jax" if path.stem == "jax_zoo" else "torch"
            if needs is None or importlib.util.find_spec(needs) is not None:
                continue
            with self.subTest(loop=path.name):
                done = subprocess.run([sys.executable, "-B", str(path), "--model", "mlp"], capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn("is not installed: pip install", done.stderr)


class Plain(unittest.TestCase):
    def start(self, *args, progress=""):
        environment = dict(os.environ, SHAREWELL_PROGRESS=progress, PYTHONDONTWRITEBYTECODE="1")
        return subprocess.Popen([sys.executable, str(ZOO / "plain.py"), "--size", "8", *args], env=environment,
                                stdout=subprocess.PIPE, text=True, start_new_session=True)

    def test_steps_are_counted_and_summed_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "progress")
            out, _ = self.start("--batch", "4", "--workers", "1", "--threads", "2", "--steps", "12", progress=path).communicate(timeout=60)
            with open(path, encoding="ascii") as file:
                lines = file.read().splitlines()
        self.assertEqual([int(line.split()[0]) for line in lines], list(range(1, 13)))
        summary = json.loads(out.splitlines()[-1])
        self.assertEqual((summary["steps"], summary["batch"], summary["workers"], summary["threads"]), (12, 4, 1, 2))
        self.assertGreater(summary["steps_per_second"], 0)

    def test_a_signal_ends_it_and_all_its_processes(self):
        for everyone in (False, True):
            with self.subTest(everyone=everyone), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "progress")
                loop = self.start("--workers", "2", "--threads", "2", progress=path)
                until = time.monotonic() + 60
                while not (os.path.exists(path) and os.path.getsize(path)) and time.monotonic() < until:
                    time.sleep(0.05)
                (os.killpg if everyone else os.kill)(loop.pid, signal.SIGTERM)
                out, _ = loop.communicate(timeout=30)
                self.assertEqual(loop.returncode, 0)
                self.assertGreaterEqual(json.loads(out.splitlines()[-1])["steps"], 1)
                with self.assertRaises(ProcessLookupError):  # the group is empty
                    for _ in range(100):
                        os.killpg(loop.pid, 0)
                        time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
