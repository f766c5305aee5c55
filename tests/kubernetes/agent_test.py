#!/usr/bin/env python3
"""What pods do is seen on their nodes: `sharewell monitor` as the DaemonSet runs it finds them by their control groups, counts the steps that they tell
of in their volumes, and writes into a store that the scheduler reads. Pods are real processes (containers.py) and NVML is a recording."""

import os
import pathlib
import re
import signal
import subprocess
import unittest

import yaml
from cluster import PATIENCE, REPOSITORY, place_of
from containers import Containers, enter, hierarchies, remove
from postgres import POSTGRES, start_postgres
from program import PROGRAM, Speaker
from serving import OURS, SMALL, ServeTest, condition, placed

TEST = "test.sharewell.io/"
WATCHED = """
kind: Pod
apiVersion: v1
metadata: {{name: {name}, annotations: {{sharewell.io/watch: "true"}}}}
spec:
  containers:
    - name: main
      image: example.org/train
      command: [/usr/bin/python3, {script}]
      env:
        - {{name: OMP_NUM_THREADS, value: "1"}}
        - {{name: PYTHONPATH, value: {folder}/lib}}
"""
TRAIN = """
import time, mine, torch
from torch import nn
net = nn.Linear(64, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(512, 64), torch.randint(10, (512,))), batch_size=32)
while True:
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        time.sleep(0.05)
"""
AGENT_UID = "a9e27000-1b2c-4d3e-8f90-a1b2c3d4e5f6"
NAME_SPACE = ["unshare", "--cgroup"]
CONTAINED = NAME_SPACE if subprocess.run([*NAME_SPACE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 else []
RECORDED = {"SHAREWELL_NVML_LIBRARY": str(pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so")}


class Agent(Speaker):
    """In control groups of its own, which are the root of those that it sees (where the kernel lets us), as container runtimes make it for a pod."""

    def __init__(self, cluster, node, store, groups, *args, env=None):
        self.said_in = cluster.folder / f"agent.{node}.said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen([*CONTAINED, PROGRAM, "monitor", "--listen", "none", "--store", str(store), "--node", node, *map(str, args)],
                                            env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                            preexec_fn=lambda: enter(groups))
        self.wait_for("watching")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


@unittest.skipUnless(hierarchies(), "needs root, and control groups that can be made")
class AgentTest(ServeTest):
    def setUp(self):
        super().setUp()
        self.store = self.make_store()

    def make_store(self):
        """Of the agents, of which the server is told, as in a cluster: its address."""
        store = self.cluster.folder / "agents.db"
        self.addCleanup(store.unlink, missing_ok=True)
        return str(store)

    def contain(self, **how):
        containers = Containers(self.cluster, **how)
        self.addCleanup(containers.stop)
        return containers

    def watch(self, node, containers, env=None):
        groups = containers.make_groups(AGENT_UID)
        self.addCleanup(remove, groups)
        agent = Agent(self.cluster, node, self.store, groups, "--kubelet-folder", containers.kubelet, env=env)
        self.addCleanup(agent.end)
        return agent

    def serve_with_agents(self):
        return self.serve("--agents-store", self.store)

    def wait_for_job(self, number, holds, what, patience=90):
        self.cluster.wait_until(lambda: holds(self.server.job(number)),
                                lambda: f"{what}: {self.server.run('job', number).stdout}\n{self.server.said()}", patience)


class Published:
    def publish(self, user):
        return subprocess.run([PROGRAM, "kubernetes", "publish-gpus", "--node", "n1", "--kubeconfig", str(self.cluster.kubeconfig(user))],
                              env={**os.environ, **RECORDED, "SHAREWELL_FAKE_NVML": str(REPOSITORY / "tests/fixtures/nvml/h200-idle.json")},
                              capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_a_nodes_gpus_and_their_memory_are_what_pods_ask_for(self):
        self.cluster.add_node("n1")
        done = self.publish("agent")  # the DaemonSet's own account
        self.assertEqual(done.returncode, 0, done.stderr)
        node = self.cluster.get("/api/v1/nodes/n1")
        self.assertRegex(node["metadata"]["annotations"][OURS + "gpus"], r"^H200 GPU-\S+$")
        memory = int(node["status"]["capacity"][OURS + "gpu-memory"])
        self.assertEqual(node["status"]["allocatable"][OURS + "gpu-memory"], str(memory))
        self.assertIn("says already", self.publish("admin").stderr)
        if self.REAL:
            refused = self.publish("nobody")
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("nodes", refused.stderr)
        # What one asks for is not left for the next.
        self.serve()

        def asks(amount):
            return {"requests": {OURS + "gpu-memory": str(amount)}, "limits": {OURS + "gpu-memory": str(amount)}}
        self.cluster.add_pod("a", annotations=SMALL, resources=asks(memory * 3 // 4))
        self.cluster.wait_pod("a", phase="Running", node="n1")
        self.cluster.add_pod("b", annotations=SMALL, resources=asks(memory // 2))
        self.cluster.wait_pod("b", holds=lambda pod: condition(pod).get("status") == "False")
        self.cluster.playing.finish("a")
        self.cluster.wait_pod("b", phase="Running", node="n1")


class Seen:
    def test_gpu_host_and_steps_of_a_pod_are_those_of_its_job(self):
        self.add_nodes("n1", gpus=1)
        containers = self.contain(systemd=self.REAL)
        self.serve_with_agents()
        self.cluster.add_pod("a", annotations=SMALL)
        pod = self.cluster.wait_pod("a", phase="Running")
        self.cluster.wait_until(lambda: pod["metadata"]["uid"] in containers.running, "no process for the pod")
        # What NVML said of a training job on an H200, which becomes this pod's: GPU memory by process, SM activity by GPU.
        capture = (REPOSITORY / "tests/fixtures/nvml/h200-resnet50.json").read_text(encoding="utf-8")
        (self.cluster.folder / "capture.json").write_text(capture.replace('"pid":427', f'"pid":{containers.pid(pod)}'), encoding="utf-8")
        self.watch("n1", containers, env={**RECORDED, "SHAREWELL_FAKE_NVML": str(self.cluster.folder / "capture.json")})
        number = self.number("a")
        self.wait_for_job(number, lambda job: (job["steps"] or 0) > 20, "its steps are not counted")
        # The recording begins idle, and ends with 55 % of the SMs active.
        self.wait_for_job(number, lambda job: 0.45 < ((job["seen"] or {}).get("sm") or 0) < 0.6, "its SM activity is not seen")
        seen = self.server.job(number)["seen"]
        self.assertEqual(seen["gpu_memory_bytes"], 4588568576)
        # Its samples are there under its pod's name.
        done = subprocess.run([PROGRAM, "samples", "--store", self.store, "--node", "n1", "--json"], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertIn(f"pod/{pod['metadata']['uid']}", done.stdout, done.stderr)
        # What it was seen to need stays with its job when it is over.
        self.cluster.playing.finish("a")
        self.wait_for_job(number, lambda job: job["phase"] == "finished", "it does not end")
        self.assertGreater(self.server.job(number)["steps"], 20)
        self.assertEqual(self.server.job(number)["seen"]["gpu_memory_bytes"], 4588568576)

    def test_pods_share_gpus_only_on_nodes_where_an_agent_is_heard(self):
        self.add_nodes("n1", "n2", gpus=1)
        containers = self.contain()
        self.serve_with_agents()
        for name in ("a", "b"):
            self.cluster.add_pod(name, annotations=SMALL)
            self.cluster.wait_pod(name, phase="Running")
        self.cluster.add_pod("c", annotations=SMALL)
        said = self.wait_waits("c", "no agent is heard there")
        self.check_same(said, "c")
        self.watch("n2", containers)
        self.cluster.wait_pod("c", phase="Running", node="n2")


class FakePublished(Published, ServeTest):
    pass


class RealPublished(Published, ServeTest):
    REAL = True


class FakeSeen(Seen, AgentTest):
    def make(self, name, script):
        """A pod as its user writes it, injected and applied."""
        done = subprocess.run([PROGRAM, "kubernetes", "inject"], input=WATCHED.format(name=name, script=script, folder=script.parent), capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for document in yaml.safe_load_all(done.stdout):
            document["metadata"].setdefault("namespace", "default")
            if document["kind"] == "Pod" or not self.applied:
                self.cluster.create(*place_of(document))
        self.applied = True
        number = self.number(name)
        self.cluster.wait_until(lambda: (self.cluster.pod(name) or {}).get("status", {}).get("phase") == "Running", lambda: self.server.why(number))
        return number

    def test_a_pod_that_is_watched_tells_its_steps_and_the_next_of_its_kind_is_known(self):
        """An unmodified script in the PyTorch of Debian, which the manifest gives a PYTHONPATH of its own."""
        self.applied = False
        self.add_nodes("n1", gpus=2, capacity={"cpu": "64"})
        containers = self.contain()
        self.serve_with_agents()
        self.watch("n1", containers)
        script = self.cluster.folder / "train.py"
        script.write_text(TRAIN, encoding="ascii")
        (script.parent / "lib").mkdir(exist_ok=True)
        (script.parent / "lib" / "mine.py").touch()
        first = self.make("a", script)
        self.wait_for_job(first, lambda job: job["told"] and job["steps_per_second"], "it told nothing")
        job = self.server.job(first)
        self.assertEqual((job["told"]["batch"], job["told"]["optimizer"], job["steps_by"], job["needs"]["source"]), (32, "SGD", "watcher", "predicted"))
        second = self.make("b", script)
        self.assertIn("the last run of the same script", self.server.job(second)["needs"]["from"])
        self.wait_for_job(second, lambda job: job["told"], "it told nothing")
        self.assertEqual(self.server.job(second)["told"]["fingerprint"], job["told"]["fingerprint"])


@unittest.skipUnless(POSTGRES, "no PostgreSQL here")
class RealSeen(Seen, AgentTest):
    """As in a cluster: agents and scheduler meet in a PostgreSQL database."""

    REAL = True

    def make_store(self):
        return start_postgres(self)

    def test_who_slows_another_beyond_its_bound_is_evicted(self):
        """By the steps that both tell of, which nobody could have predicted."""
        self.add_nodes("n1", gpus=1)
        containers = self.contain()
        self.serve_with_agents()
        self.watch("n1", containers)
        self.cluster.add_pod("slowed", annotations={**SMALL, TEST + "alone": "20", TEST + "beside": "5"})
        slowed = self.number("slowed")
        self.wait_for_job(slowed, lambda job: (job["slowdown"] or 9) < 1.2, "its pace alone is not known")
        self.cluster.add_pod("slows", annotations=SMALL, owner=("Job", "slows"))
        both = [placed(self.cluster.wait_pod(name, phase="Running")) for name in ("slowed", "slows")]
        self.assertEqual(both[0], both[1], "they share the GPU")
        self.cluster.wait_until(lambda: self.cluster.pod("slows") is None, lambda: f"nobody was evicted\n{self.server.job(slowed)}\n{self.server.said()}", 120)
        why = rf"it was evicted: job {slowed} .*takes [34]\.\d+ times as long as alone \(by its steps\)"
        self.cluster.wait_until(lambda: re.search(why, self.server.why(self.number("slows"))), lambda: self.server.why(self.number("slows")), 20)
        self.assertEqual(self.cluster.pod("slowed")["status"]["phase"], "Running")


if __name__ == "__main__":
    unittest.main(verbosity=2)
