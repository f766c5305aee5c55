#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/ (not the tests), and remembers by content what was clean.

A file is checked again when it, a header of ours that it reaches, its compile command, .clang-tidy or
clang-tidy itself has changed. With --budget it starts no new file after so many seconds and says
how many it left.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "lint"  # configured with clang, without precompiled headers
CACHE = ROOT / "build" / "tidy"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def reached(path, seen):
    """The file and every header of ours it includes, directly or not."""
    if path in seen or not path.is_file():
        return seen
    seen.add(path)
    for name in INCLUDE.findall(path.read_bytes()):
        reached(ROOT / "src" / name.decode(), seen)
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS")
    budget = parser.parse_args().budget
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tidy or not shutil.which("clang++-14"):
        print("tidy: clang-tidy-14 or clang++-14 is missing: run tools/setup", file=sys.stderr)
        return 1
    configured = subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, capture_output=True, text=True,
                                check=False)
    if configured.returncode != 0:
        print(configured.stdout + configured.stderr, file=sys.stderr)
        return 1

    base = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout
    base += (ROOT / ".clang-tidy").read_bytes()
    work = []
    clean = 0
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if ROOT / "src" not in path.parents or path.name.endswith("_test.cc"):
            continue
        digest = hashlib.sha256(base + entry["command"].encode())
        for part in sorted(reached(path, set())):
            digest.update(part.relative_to(ROOT).as_posix().encode() + b"\0" + part.read_bytes())
        mark = CACHE / digest.hexdigest()
        if mark.exists():
            clean += 1
        else:
            work.append((path, mark))

    start = time.monotonic()

    def check(item):
        path, mark = item
        if time.monotonic() - start > budget:
            return None
        done = subprocess.run([tidy, "--quiet", "-p", str(BUILD), str(path)], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            mark.touch()
            return ""
        return (done.stdout + done.stderr).replace(str(ROOT) + "/", "")

    CACHE.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, work))
    bad = [text for text in results if text]
    left = results.count(None)
    for text in bad:
        print(text, file=sys.stderr)
    print(f"tidy: {len(work) - left} files checked, {clean} unchanged since they were clean, "
          f"{len(bad)} with findings" + (f", {left} left for `make lint` (time is up)" if left else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
