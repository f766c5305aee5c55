#!/usr/bin/env python3
"""The wheel, built without the network: its version is the project's, it says that it is typed, and it can be imported."""

import email
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


@unittest.skipUnless(importlib.util.find_spec("setuptools") and importlib.util.find_spec("wheel"), "needs setuptools and wheel")
class Wheel(unittest.TestCase):
    def test_it_holds_the_package(self):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(place.cleanup)
        # Away from the sources: the build leaves folders beside them.
        copy = pathlib.Path(place.name)
        shutil.copytree(ROOT / "python", copy / "python", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        shutil.copy(ROOT / "CMakeLists.txt", copy)
        done = subprocess.run([sys.executable, "-c", BUILD, str(copy)], cwd=copy / "python", capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        wheel = copy / done.stdout.splitlines()[-1]
        version = re.search(r"project\(sharewell VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        self.assertEqual(wheel.name, f"sharewell-{version}-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as files:
            names = set(files.namelist())
            metadata = email.message_from_bytes(files.read(f"sharewell-{version}.dist-info/METADATA"))
        self.assertEqual((metadata["Name"], metadata["Version"], metadata["Requires-Python"]), ("sharewell", version, ">=3.9"))
        ours = {f"sharewell/{path.name}" for path in (ROOT / "python" / "sharewell").iterdir() if path.suffix in (".py", ".typed")}
        self.assertIn("sharewell/py.typed", ours)
        self.assertEqual({name for name in names if ".dist-info/" not in name}, ours)
        done = subprocess.run([sys.executable, "-I", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import sharewell; sharewell.Client; print(sharewell.__version__)",
                               str(wheel)], cwd="/", capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, version + "\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
