#!/usr/bin/env python3
"""The guard over a real Slurm: jobs that share a GPU tell of their steps, agents on the nodes count them, and who breaks a bound is moved."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import PATIENCE, REPOSITORY  # noqa: E402
from engine_test import ServeTest, USER  # noqa: E402
from postgres import POSTGRES, start_postgres  # noqa: E402
from program import PROGRAM, Speaker  # noqa: E402

# With a share of the SMs of its own a job that was evicted would be tried beside the same one with fewer of them.
# So small a batch that two of it are foreseen to share a P100 too.
MODEL = f"sharewell sm_share=100 model={REPOSITORY}/fuzz/corpus/onnx/enc_256x2.onnx batch=2"
SMALL = f"--comment=sharewell model={REPOSITORY}/fuzz/corpus/onnx/enc_256x2.onnx batch=8"
# A training loop: so many steps a second alone, and so many while another job is on its GPU. Who is there stands in a folder for each GPU.
# A file that is made anew for each run says where a job would run twice at once.
STUB = """
exec python3 - "$SLURM_JOB_ID" {folder} {alone} {beside} <<'END'
import os, signal, sys, time
job, folder, alone, beside = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
gpu = f"{{folder}}/{{os.environ['SLURMD_NODENAME']}}.{{os.environ['CUDA_VISIBLE_DEVICES']}}"
once = f"{{folder}}/once.{{job}}"
os.makedirs(gpu, exist_ok=True)
try:
    os.close(os.open(once, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    print("twice", flush=True)
open(f"{{gpu}}/{{job}}", "w").close()
def leave(*_):
    os.unlink(f"{{gpu}}/{{job}}")
    os.unlink(once)
    print("left", flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
print(f"pid={{os.getpid()}}", flush=True)
print(f"{{os.environ['SLURMD_NODENAME']}} gpu={{os.environ['CUDA_VISIBLE_DEVICES']}}", flush=True)
steps, before, end = 0.0, time.monotonic(), time.monotonic() + {seconds}
while time.monotonic() < end:
    time.sleep(0.2)
    now = time.monotonic()
    steps += (now - before) * (beside if len(os.listdir(gpu)) > 1 else alone)
    before = now
    with open(os.environ["SHAREWELL_PROGRESS"], "a") as told:
        told.write(f"{{int(steps)}}\\n")
leave()
END
"""


class Agent(Speaker):
    """`sharewell monitor` of a node. All nodes are this machine, so one of them sees the steps of all."""

    def __init__(self, cluster, node, *args, env=None, store=None):
        self.said_in = cluster.folder / f"log/agent.{node}.said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "monitor", "--listen", "none", "--store", store or str(cluster.folder / "store.db"), "--node", node, *args],
                env={**cluster.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.wait_for("watching")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


class GuardTest(ServeTest):
    def setUp(self):
        super().setUp()
        self.stubs = self.cluster.folder / "out" / "stubs"
        self.stubs.mkdir(exist_ok=True)
        self.stubs.chmod(0o1777)

    def watch(self, node, *args, env=None, store=None):
        agent = Agent(self.cluster, node, *args, env=env, store=store)
        self.addCleanup(agent.end)
        return agent

    def train(self, name, *args, alone=20.0, beside=20.0, seconds=600):
        script = STUB.format(folder=self.stubs, alone=alone, beside=beside, seconds=seconds)
        return self.cluster.sbatch("--gres=gpu:1", f"--comment={MODEL}", f"--job-name={name}", *args, script=script, user=USER)

    def wait_for_job(self, number, holds, what, patience=90):
        try:
            self.cluster.wait_until(lambda: holds(self.server.job(number)), "", patience)
        except AssertionError as late:
            raise AssertionError(f"{what}: {self.server.run('job', str(number)).stdout}\n{self.cluster.output(number)}\n{self.server.said()}") from late


@unittest.skipUnless(POSTGRES and os.geteuid() == 0, "no PostgreSQL here, or not root")
class Agents(GuardTest):
    OPTIONS = {"scripts": True, "nodes": {"n1": ("V100", 1), "n2": ("V100", 1)}}

    def test_jobs_share_gpus_only_on_nodes_where_an_agent_is_heard(self):
        store = start_postgres(self)
        self.serve(store=store)
        self.assertIn("no agent is heard on n1, n2", self.server.said_in.read_text(encoding="utf-8"))
        numbers = [self.submit("--gres=gpu:1", SMALL, seconds=300) for _ in range(3)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 2, "two GPUs are not used by two jobs")
        self.watch("n2", store=store)
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 3, f"nobody shares\n{self.server.said()}")
        self.assertEqual([self.cluster.job(number)["NodeList"] for number in numbers].count("n2"), 2)


class Guard(GuardTest):
    OPTIONS = {"scripts": True, "nodes": {"n1": ("V100", 1), "n2": ("P100", 1), "n3": ("V100", 1)}}

    def test_who_slows_another_beyond_its_bound_is_moved_and_a_time_limit_grows_by_what_was_lost(self):
        self.cluster.drain("n3")
        self.addCleanup(self.cluster.resume, "n3")
        self.serve()
        self.watch("n1", "--steps-folder", str(self.cluster.folder / "steps"))
        slowed = self.train("slowed", "-C", "V100", alone=20, beside=5)
        short = self.train("short", "-C", "P100", "--time=1", alone=20, beside=16)
        for number in (slowed, short):
            self.told(number)
            self.wait_for_job(number, lambda job: (job["slowdown"] or 9) < 1.2, "its pace alone is not known")
        slows = self.train("slows", "-C", "V100")
        beside = self.train("beside", "-C", "P100", "--time=10")
        for number, node in ((slows, "n1"), (beside, "n2")):
            self.told(number, f"{node} gpu=0")
        # 20 steps a second became 5: whoever came leaves, and waits for another GPU.
        self.cluster.wait_until(lambda: "left" in self.cluster.output(slows), f"nobody was evicted\n{self.server.job(slowed)}\n{self.server.said()}", 120)
        why = self.server.run("why", str(slows)).stdout
        self.assertRegex(why, rf"it was evicted: job {slowed} of \S+ beside it takes [34]\.\d+ times as long as alone \(by its steps\)")
        self.wait_for_job(slows, lambda job: job["phase"] == "waiting", "it does not wait")
        self.assertEqual(self.cluster.job(slowed)["JobState"], "RUNNING")
        self.assertEqual(self.cluster.job(slows)["Priority"], "0")
        self.cluster.resume("n3")
        self.told(slows, "n3 gpu=0", patience=60)
        # 20 steps a second became 16: within its bound, so it stays, and may run for as much longer. Slurm counts whole minutes.
        self.cluster.wait_until(lambda: self.cluster.job(short)["TimeLimit"] == "00:02:00", f"it has no more time: {self.cluster.job(short)}")
        self.assertEqual(self.cluster.job(beside)["TimeLimit"], "00:11:00")
        self.assertIn("extended by", self.server.run("job", str(short)).stdout)
        self.assertEqual(self.cluster.job(slowed).get("Restarts"), "0")
        self.assertEqual(self.cluster.job(slows).get("Restarts"), "1")
        for number in (slowed, slows, short, beside):
            self.assertNotIn("twice", self.cluster.output(number))

    def test_gpu_figures_of_a_node_are_those_of_the_slurm_job_there(self):
        self.serve()
        number = self.train("measured", "-C", "P100")  # on n2
        self.told(number)
        pid = re.search(r"pid=(\d+)", self.cluster.output(number)).group(1)
        # What NVML said of a training job on an H200, which becomes this job's: GPU memory by process, SM activity by GPU.
        capture = (REPOSITORY / "tests/fixtures/nvml/h200-resnet50.json").read_text(encoding="utf-8").replace('"pid":427', f'"pid":{pid}')
        (self.cluster.folder / "capture.json").write_text(capture, encoding="utf-8")
        library = pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so"
        self.watch("n2", "--steps-folder", str(self.cluster.folder / "steps"),
                   env={"SHAREWELL_NVML_LIBRARY": str(library), "SHAREWELL_FAKE_NVML": str(self.cluster.folder / "capture.json")})
        # The capture begins idle, and ends with 55 % of the SMs active.
        self.wait_for_job(number, lambda job: 0.45 < ((job["seen"] or {}).get("sm") or 0) < 0.6, "its SM activity is not seen")
        self.assertEqual(self.server.job(number)["seen"]["gpu_memory_bytes"], 4588568576)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
