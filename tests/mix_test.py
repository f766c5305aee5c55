#!/usr/bin/env python3
"""The runner of a mix: stub jobs through the real server give records that `reproduce yeung --real` reads; jobs forked from a warm process
are what they were started as. Without $SHAREWELL, the second alone."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAB = ROOT / "tools" / "lab"
sys.path.insert(0, str(LAB))

import mix_needs  # noqa: E402

MIX = """
[[jobs]]
arrival_seconds = 0.0
workload = "{}"
batch = {}
precision = "bf16"
workers = 1
steps = {}
"""


class Needs(unittest.TestCase):
    def test_measured_then_predicted_then_nearest_then_nothing(self):
        rows = mix_needs.profiles()
        job = {"workload": "hf:bert@128", "batch": 16, "precision": "bf16", "workers": 1, "steps": 264}
        measured = mix_needs.needs_of(job, rows)
        self.assertEqual(measured["source"], "measured")
        self.assertAlmostEqual(measured["duration_seconds"], 264 / measured["steps_per_second"])
        asked = []

        def predict(*what):
            asked.append(what)
            return {"busy": 0.5, "steps_per_second": 10.0, "gpu": "H200", "sm": None}
        larger = dict(job, batch=256)
        self.assertEqual(mix_needs.needs_of(larger, rows, predict), {
            "source": "predicted", "busy": 0.5, "gpu": "H200", "workload": "hf:bert@128", "batch": 256, "precision": "bf16", "workers": 1,
            "duration_seconds": 26.4})
        self.assertEqual([(pathlib.Path(file).name, batch) for file, batch, _ in asked], [("hf_bert_128.onnx", 256)])
        nearest = mix_needs.needs_of(larger, rows)
        self.assertIn("hf:bert@128 at batch 64", nearest["from"])
        self.assertNotIn("steps_per_second", nearest)       # it would be judged by it
        self.assertGreater(nearest["gpu_memory_upper_bytes"], 4 * nearest["gpu_memory_bytes"])
        self.assertIsNone(mix_needs.needs_of(dict(job, workload="new:1"), rows))


class Warm(unittest.TestCase):
    """With a loop that needs no PyTorch in the place of the training."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "w")
        self.folder = folder.name
        self.script = pathlib.Path(folder.name, "loop.py")
        self.script.write_text(textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(ROOT / "zoo")!r})
            import hand_over
            hand_over.hand_over()
            import os, time
            if sys.argv[1] == "fails": sys.exit("it cannot")
            print(os.environ["WHO"], sorted(os.sched_getaffinity(0)), os.getcwd(), hand_over.control_groups() == os.environ["GROUPS"], flush=True)
            if sys.argv[1] == "stays": time.sleep(60)
            """), encoding="utf-8")
        self.start_warm()

    def start_warm(self):
        pathlib.Path(self.socket).unlink(missing_ok=True)
        self.warm = self.python(f"import warm; warm.serve({self.socket!r})", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(self.warm.stdout.readline(), "warm\n")

    def python(self, text, **options):
        process = subprocess.Popen([sys.executable, "-B", "-c", textwrap.dedent(text)], text=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT / "zoo")}, **options)
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            self.addCleanup(stream.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def job(self, workload):
        groups = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8")
        cpu = min(os.sched_getaffinity(0))
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", f"import os, sys; os.sched_setaffinity(0, {{{cpu}}}); os.execv(sys.executable, [sys.executable, '-B',"
             f"{str(self.script)!r}, {workload!r}])"],
            cwd=self.folder, env={**os.environ, "WHO": "ann", "GROUPS": groups, "ZOO_WARM": self.socket}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for cleanup in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        return process, f"ann [{cpu}] {os.path.realpath(self.folder)} True\n"

    def test_a_job_is_what_it_was_started_as(self):
        job, words = self.job("works")
        self.assertEqual((*job.communicate(timeout=60), job.returncode), (words, "", 0))
        job, _ = self.job("fails")
        self.assertEqual((*job.communicate(timeout=60), job.returncode), ("", "it cannot\n", 1))

    def test_it_hears_signals_and_goes_with_who_started_it(self):
        job, words = self.job("stays")
        self.assertEqual(job.stdout.readline(), words)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(60), 128 + signal.SIGTERM)
        job, words = self.job("stays")
        self.assertEqual(job.stdout.readline(), words)
        job.kill()
        began = time.monotonic()
        self.assertEqual(job.stdout.read(), "")             # nobody holds it open any more
        self.assertLess(time.monotonic() - began, 30)

    def test_nothing_outlives_the_warm_process(self):
        for end in (lambda: self.warm.kill(), lambda: self.warm.stdin.close()):
            job, words = self.job("stays")
            self.assertEqual(job.stdout.readline(), words)
            end()
            self.warm.wait(60)
            self.assertEqual(job.stdout.read(), "")
            self.assertEqual(job.wait(60), 137)
            self.start_warm()


@unittest.skipUnless(os.environ.get("SHAREWELL"), "$SHAREWELL names no program")
class Mix(unittest.TestCase):
    def run_mix(self, folder, text, *more):
        (folder / "mix.toml").write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", LAB / "run_mix.py", folder / "mix.toml", "--out", folder / "out", "--stub", "--gpus", "1xH200",
                               "--server-binary", os.environ["SHAREWELL"], *more],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, check=False)

    def test_four_jobs_under_two_policies(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            jobs = (("hf:bert@128", 16, 264), ("enc:256x2", 32, 999), ("hf:bert@128", 200, 200), ("new:1", 1, 100))
            done = self.run_mix(folder, "".join(MIX.format(*job) for job in jobs), "--policy", "slot,sharewell", "--faster", "20")
            self.assertEqual(done.returncode, 0, done.stdout)
            for policy in ("slot", "sharewell"):
                record = json.loads((folder / "out" / f"{policy}.json").read_text(encoding="utf-8"))
                self.assertEqual((record["policy"], record["stub"], record["complete"], record["busy_mean"]), (policy, True, True, None))
                self.assertEqual([job["phase"] for job in record["jobs"]], ["finished"] * 4)
                for job in record["jobs"]:
                    self.assertLessEqual(job["submit_seconds"], job["start_seconds"])
                    self.assertLess(job["start_seconds"], job["end_seconds"])
                    self.assertEqual(job["steps_done"], job["steps"])
                    self.assertTrue(job["reason"])
                self.assertTrue([e for e in record["events"] if e["kind"].startswith("job.")])
                self.assertGreater(record["jobs"][0]["slowdown"], 0.5)
            self.assertIn("</svg>", (folder / "out" / "mix.svg").read_text(encoding="utf-8"))
            read = subprocess.run([os.environ["SHAREWELL"] + "-lab", "reproduce", "yeung", "--json", "--real", f"{folder}/out/slot.json,{folder}/out/sharewell.json"],
                                  stdout=subprocess.PIPE, text=True, timeout=60, check=True)
            rows = {row["what"]: row for row in json.loads(read.stdout)["experiments"][0]["rows"]}
            self.assertEqual(rows["makespan_vs_slot_sharewell"]["paper"], -0.335)
            self.assertGreater(rows["makespan_simulated_sharewell"]["ours"], 0)

    def test_a_wrong_mix_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            for text, word in (("", "no [[jobs]]"), ("[[jobs]]\nbatch = 1", "arrival_seconds"), ("x = [", "mix.toml"),
                               (MIX.format("a", 0, 1), "batch")):
                done = self.run_mix(pathlib.Path(name), text)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
