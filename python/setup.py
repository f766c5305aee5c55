"""The package has the version of the project, which stands in the top CMakeLists.txt. Everything else is in pyproject.toml."""
import pathlib
import re

from setuptools import setup

text = (pathlib.Path(__file__).resolve().parents[1] / "CMakeLists.txt").read_text(encoding="utf-8")
setup(version=re.search(r"^project\(sharewell VERSION ([0-9.]+)", text, re.MULTILINE)[1])
