#!/usr/bin/env python3
"""The Python client against the real server, on simulated GPUs: submit, wait, steps, logs, errors, a stop that is saved, a restart."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import sharewell  # noqa: E402


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sw-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.start()
        cls.addClassCleanup(cls.end)
        cls.client = sharewell.Client(str(cls.folder / "s"))

    @classmethod
    def start(cls):
        cls.log = open(cls.folder / "log", "ab")
        cls.server = subprocess.Popen(
            [os.environ["SHAREWELL"], "serve", "--gpus", "2xH200", "--store", str(cls.folder / "store.db"), "--socket", str(cls.folder / "s"),
             "--listen", "none"], stdin=subprocess.DEVNULL, stdout=cls.log, stderr=cls.log)
        until = time.monotonic() + 60
        while time.monotonic() < until and cls.server.poll() is None:
            try:
                return sharewell.Client(str(cls.folder / "s")).info()
            except sharewell.Unreachable:
                time.sleep(0.05)
        raise AssertionError("the server does not come up: " + (cls.folder / "log").read_text(errors="replace"))

    @classmethod
    def end(cls):
        if cls.server.poll() is None:
            for job in cls.client.jobs(live=True):
                job.cancel()
                job.wait(60)
        cls.server.terminate()
        cls.server.wait(60)
        cls.log.close()

    def python(self, text, **asked):
        text = "import os, sys, time, sharewell\n" + textwrap.dedent(text)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        return self.client.submit([sys.executable, "-c", text], folder=str(self.folder), environment=environment, **asked)

    def test_a_job_runs_and_tells_of_itself(self):
        job = self.python("""
            for step in range(1, 41): sharewell.report_step(step); sharewell.report_metric('loss', 1 / step, step); time.sleep(0.01)
            print('größe', os.environ['SHAREWELL_JOB'], flush=True); print('bad', file=sys.stderr)
            """, name="told", gpus=1)
        self.assertEqual((job.name, job.gpus_asked), ("told", 1))
        self.assertTrue(all(isinstance(sentence, str) for sentence in job.why()))
        job.wait(60)
        self.assertEqual((job.phase, job.exit_code, job.steps), ("finished", 0, 40), job.record)
        self.assertEqual((job.logs(), job.logs("err")), (f"größe {job.number}\n", "bad\n"))
        self.assertIn(job.number, [other.number for other in self.client.jobs(limit=5)])
        kinds = []
        for event in self.client.events(after=0, job=job.number):
            kinds.append(event.kind)
            if self.client.job(job.number).over and len(kinds) >= 3:
                break
        self.assertTrue(all(kind.startswith("job.") for kind in kinds), kinds)

    def test_what_fails_is_said_in_the_servers_words(self):
        job = self.python("sys.exit(7)", gpus=0).wait(60)
        self.assertEqual((job.phase, job.exit_code), ("failed", 7))
        for wrong, word in ((lambda: self.client.job(10 ** 9), "1000000000"), (lambda: self.client.submit(["true"], gpu=1), "gpu"),
                            (lambda: self.client.submit([]), "command"), (lambda: self.client.cancel(10 ** 9), "1000000000")):
            with self.assertRaises(sharewell.ServerError) as raised:
                wrong()
            self.assertIn(raised.exception.status, (400, 404, 422))
            self.assertIn(word, str(raised.exception))

    def test_held_released_and_cancelled_with_its_work_saved(self):
        job = self.python("""
            sharewell.on_stop(lambda: print('saved', flush=True))
            print('up', flush=True)
            while True: sharewell.report_step(); time.sleep(0.02)
            """, gpus=1, held=True)
        self.assertEqual(job.refresh().phase, "held")
        self.client.release(job.number)
        for piece in self.client.logs(job.number, follow=True):
            if "up" in piece:
                break
        time.sleep(0.2)
        job.cancel()
        self.assertEqual((job.wait(60).phase, job.logs()), ("cancelled", "up\nsaved\n"))

    def test_it_takes_the_variables_that_the_command_takes(self):
        """The list stands in C++ and in Python, which cannot read each other: every name in either is set, and both submit."""
        command = next(path for path in (ROOT / "src").rglob("submit_request.cc"))
        names = set(re.findall(r'"([A-Z][A-Z_]+)"', command.read_text(encoding="utf-8"))) | sharewell.client._TAKEN
        names |= {"LC_ALL", "CONDA_PREFIX", "SECRET_TOKEN"}
        here = {**dict.fromkeys(names - {"LC_ALL"}, "/x"), "LC_ALL": "C", **os.environ, "SHAREWELL_SERVER": str(self.folder / "s")}
        submit = "import sharewell, sys; print(sharewell.Client().submit(['/usr/bin/env'], gpus=0).number)"
        seen = []
        for words in ([os.environ["SHAREWELL"], "submit", "--gpus", "0", "--json", "--", "/usr/bin/env"],
                      [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); " + submit, str(ROOT / "python")]):
            done = subprocess.run(words, env=here, cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            number = json.loads(done.stdout)["jobs"][0]["number"] if "{" in done.stdout else int(done.stdout)
            job = self.client.job(number).wait(60)
            lines = {line.split("=")[0] for line in job.logs().splitlines()}
            seen.append({name for name in lines if not name.startswith("SHAREWELL_")})
        self.assertEqual(seen[0], seen[1])
        self.assertLessEqual({"HF_HOME", "LC_ALL", "CONDA_PREFIX"}, seen[0])
        self.assertNotIn("SECRET_TOKEN", seen[0])

    def test_it_names_the_script_as_the_command_does(self):
        (self.folder / "train.py").write_text("print(1)\n", encoding="ascii")
        (self.folder / "odd.sh").write_bytes(bytes(range(256)))
        for script in ("train.py", "odd.sh", "none.py"):
            words = ["python3", script, "--lr", "0.1"]
            mine = self.client.submit(words, folder=str(self.folder), held=True)
            done = subprocess.run([os.environ["SHAREWELL"], "submit", "--server", str(self.folder / "s"), "--hold", "--json", "--", *words],
                                  cwd=self.folder, capture_output=True, check=True, timeout=60)
            theirs = json.loads(done.stdout)["jobs"][0]
            self.assertEqual(mine.script_digest, theirs["script_digest"], script)
            self.assertEqual(mine.script_digest is None, script == "none.py")
            mine.cancel()
            self.client.cancel(theirs["number"])

    def test_a_wait_outlives_the_server(self):
        job = self.python("time.sleep(3)", gpus=1)
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        self.log.close()
        type(self).start()
        self.assertEqual(job.wait(60).phase, "finished")


if __name__ == "__main__":
    unittest.main()
