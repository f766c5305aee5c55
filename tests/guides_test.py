#!/usr/bin/env python3
"""Every guide in docs/guides, and README.md, as its reader follows it: each command of its console blocks, in one shell, in a folder of its own.

A line that begins with `$ ` is a command (a line that ends with a backslash goes on); what stands below it is what it prints: each line must be
in the output, in this order; `...` stands for anything. A block marked `file NAME` is written to that file first. Commands must succeed, unless
what they print begins with `sharewell: `, an error that the guide shows.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("SHAREWELL", ROOT / "build/release/sharewell")).resolve()
GUIDES = [*sorted((ROOT / "docs/guides").glob("*.md")), ROOT / "README.md"]
MARK = "--- guide: the command above ended with"


def parts(text):
    """("file", name, content) and ("command", words, printed lines), in order."""
    for info, body in re.findall(r"^```(console|[a-z]+ file [\w.]+)\n(.*?)^```$", text, re.M | re.S):
        if info != "console":
            yield "file", info.split()[-1], body
            continue
        for command in re.split(r"^\$ ", body, flags=re.M)[1:]:
            lines = command.split("\n")
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            yield "command", "\n".join(lines[:last + 1]), [line for line in lines[last + 1:] if line.strip()]


def pattern(line):
    return re.compile(".*".join(r"\s+".join(re.escape(word) for word in piece.split()) for piece in line.split("...")))


class Shell:
    """One bash for the whole guide, so that folders, variables and background jobs last. Servers and clients meet in the guide's own folder."""

    def __init__(self, folder):
        own = folder / ".bin"
        own.mkdir()
        (own / "sharewell").write_text(f'#!/bin/sh\n[ "$1" = serve ] && shift && exec {PROGRAM} serve --socket {folder}/s "$@"\nexec {PROGRAM} "$@"\n',
                                       encoding="utf-8")
        (own / "sharewell").chmod(0o755)
        environment = {**os.environ, "NO_COLOR": "1", "HOME": str(folder), "COLUMNS": "100", "PATH": f"{own}:{os.environ['PATH']}",
                       "SHAREWELL_SERVER": str(folder / "s"), "SHAREWELL_STORE": str(folder / "store.db")}
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, command):
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null; code=$?; echo; echo '{MARK}' $code\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return lines, int(line.removeprefix(MARK))
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended during: {command}\n" + "\n".join(lines))

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


class Guides(unittest.TestCase):
    def test_there_are_guides(self):
        self.assertGreaterEqual(len(GUIDES), 5)

    def follow(self, guide):
        with tempfile.TemporaryDirectory(prefix="guide-", ignore_cleanup_errors=True) as name:
            folder = pathlib.Path(name)
            for linked in ("data", "examples", "zoo", "src"):
                (folder / linked).symlink_to(ROOT / linked)
            shell = Shell(folder)
            timer = subprocess.Popen(["sh", "-c", f"sleep 150; kill -TERM -{shell.process.pid}"], start_new_session=True)
            ran = 0
            try:
                for kind, what, content in parts(guide.read_text(encoding="utf-8")):
                    if kind == "file":
                        (folder / what).write_text(content, encoding="utf-8")
                        continue
                    printed, code = shell.run(what)
                    # A reader is slower than this: a job that starts runs by then.
                    for _ in range(100):
                        if what != "sharewell jobs" or not any(" starting " in line for line in printed):
                            break
                        time.sleep(0.1)
                        printed, code = shell.run(what)
                    # Whether a job that was just submitted runs already is a matter of a moment.
                    printed = [line.replace(": runs on", ": starts on") for line in printed]
                    whole = f"{guide.name}: {what}\n" + "\n".join(printed)
                    shows_an_error = bool(content) and content[0].startswith("sharewell: ")
                    self.assertTrue(code == 0 or shows_an_error, f"exit code {code}: {whole}")
                    at = 0
                    for line in content:
                        wanted = pattern(line)
                        found = next((i for i in range(at, len(printed)) if wanted.search(printed[i])), None)
                        self.assertIsNotNone(found, f"not printed: {line}\n{whole}")
                        at = found + 1
                    ran += 1
            finally:
                os.killpg(timer.pid, signal.SIGKILL)
                timer.wait()
                shell.end()
            self.assertGreaterEqual(ran, 3, guide.name)


class ReadmeFigures(unittest.TestCase):
    """What README.md says of the H200 is what the records say. Its simulated figures are in its console blocks, and followed."""

    TEXT = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())

    def times(self, folder, policies):
        """Makespan and mean completion of each policy's record."""
        records = [json.loads((ROOT / "data/h200" / folder / f"{policy}.json").read_text(encoding="utf-8")) for policy in policies]
        return [(r["makespan_seconds"], sum(j["end_seconds"] - j["submit_seconds"] for j in r["jobs"]) / len(r["jobs"])) for r in records]

    def test_scripts_of_which_nothing_is_told(self):
        (slot, slot_mean), (ours, ours_mean) = self.times("strangers/second-sitting", ("slot", "sharewell"))
        self.assertIn(f"all done in {ours:.0f} s instead of {slot:.0f} s with one job a GPU", self.TEXT)
        self.assertIn(f"the mean job {100 * (1 - ours_mean / slot_mean):.0f} % sooner", self.TEXT)

    def test_loops_that_are_known(self):
        (slot, _), (ours, _) = self.times("mix", ("slot", "sharewell"))
        self.assertIn(f"Twenty loops that it knew: {ours:.0f} s instead of {slot:.0f} s", self.TEXT)
        self.assertIn(f"| −{100 * (1 - ours / slot):.1f} % | `sharewell-lab reproduce yeung", self.TEXT)


def add(guide):
    setattr(Guides, "test_" + guide.stem.replace("-", "_"), lambda self: self.follow(guide))


for each in GUIDES:
    add(each)

if __name__ == "__main__":
    shutil.which("bash") or exit("guides: there is no bash")
    unittest.main()
