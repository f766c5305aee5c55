"""`sharewell serve --engine kubernetes` over a cluster of cluster.py, shared by the tests in this folder."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import PATIENCE, REPOSITORY, USERS, KubeTest, die_with_parent  # noqa: E402
from program import PROGRAM, Speaker  # noqa: E402

OURS = "sharewell.io/"
MODEL = REPOSITORY / "fuzz/corpus/onnx/enc_256x2.onnx"
# A small model: what it needs is predicted from its graph, so that it may share.
SMALL = {OURS + "model": "small.onnx", OURS + "batch": "8", OURS + "may-evict": "true"}
TOKENS = [token for token, _, _ in USERS.values()]


def gpus_of(node, count):
    """The uuids of a node's GPUs, as the tests make them."""
    return [f"GPU-{node}-{i}" for i in range(count)]


def claims_of(node):
    """{uid of a pod: (job, [uuids], {other words})}, as the node object has them."""
    claims = {}
    for claim in filter(None, node["metadata"].get("annotations", {}).get(OURS + "claims", "").split(";")):
        uid, number, gpus, *words = claim.split(" ")
        claims[uid] = (int(number.split(".")[0]), [] if gpus == "none" else gpus.split("+"), dict(w.split(":") if ":" in w else (w, True) for w in words))
    return claims


def condition(pod, kind="PodScheduled"):
    return next((c for c in pod["status"].get("conditions", []) if c["type"] == kind), {})


def placed(pod):
    """The GPUs that it was bound to."""
    text = pod["metadata"].get("annotations", {}).get(OURS + "gpu-ids", "")
    return text.split(",") if text else []


class Server(Speaker):
    """`name`: of its store, its socket and what it says."""

    def __init__(self, cluster, *args, name="one", user="scheduler", config=None, ready=True, front=None, env=None):
        self.cluster, self.name = cluster, name
        self.folder = cluster.folder / f"server-{name}"
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        shutil.copy(MODEL, self.folder / "models/small.onnx")
        self.socket = self.folder / "s.sock"
        self.said_in = self.folder / f"said.{len(list(self.folder.glob('said.*')))}"
        config = config or cluster.kubeconfig(user, front=front)
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--engine", "kubernetes", "--kubeconfig", str(config), "--listen", "none", "--socket", str(self.socket), "--store",
                 str(self.folder / "store.db"), *args], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=die_with_parent,
                env={**os.environ, **(env or {})})
        if ready:
            self.wait_ready()

    def wait_ready(self):
        return self.wait_for("socket for users of this machine")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE)

    def run(self, *args):
        return subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "SHAREWELL_SERVER": str(self.socket), "NO_COLOR": "1"})

    def job(self, number):
        done = self.run("job", number, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def jobs(self):
        done = self.run("jobs", "--all", "--limit", 100000, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["jobs"]

    def number(self, name):
        """Of the job with this name; None: it knows none."""
        return max((job["number"] for job in self.jobs() if job["name"] == name), default=None)

    def why(self, number):
        """On one line, as it is broken at the terminal's width."""
        done = self.run("why", number)
        return re.sub(r"\s+", " ", done.stdout + done.stderr)


class ServeTest(KubeTest):
    """A server for each test, with an empty store, and a cluster without nodes and pods. Kubelets play all the time."""

    OPTIONS = {"manifests": ("deploy/kubernetes/base",)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.play(heartbeat=None)

    def setUp(self):
        self.servers = []
        self.addCleanup(self.tidy)

    def tidy(self):
        for server in self.servers:
            server.end(signal.SIGKILL)
        said = "".join(path.read_text(encoding="utf-8") for path in self.cluster.folder.glob("server-*/said.*"))
        stored = b"".join(path.read_bytes() for path in self.cluster.folder.glob("server-*/*") if path.is_file())
        self.cluster.playing.silent.clear()
        for space in {pod["metadata"]["namespace"] for pod in self.cluster.pods()}:
            for pod in self.cluster.pods(space):
                self.cluster.request("DELETE", f"/api/v1/namespaces/{space}/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
        for node in self.cluster.get("/api/v1/nodes")["items"]:
            self.cluster.delete(f"/api/v1/nodes/{node['metadata']['name']}")
        for folder in self.cluster.folder.glob("server-*"):
            shutil.rmtree(folder)
        # Whatever was tested.
        for token in TOKENS:
            self.assertNotIn(token, said)
            self.assertNotIn(token.encode(), stored)

    def serve(self, *args, **how):
        self.servers.append(Server(self.cluster, *args, **how))
        return self.servers[-1]

    @property
    def server(self):
        return self.servers[-1]

    def add_nodes(self, *names, gpus=2, model="H200", near=(), **how):
        """`near`: ["near:0,1|2,3"], which of the GPUs are near each other."""
        for name in names:
            self.cluster.add_node(name, annotations={OURS + "gpus": " ".join([model, *gpus_of(name, gpus), *near])}, **how)

    def claims(self):
        """{uid: (node, job, [uuids])} of all nodes."""
        return {uid: (node["metadata"]["name"], job, gpus) for node in self.cluster.get("/api/v1/nodes")["items"]
                for uid, (job, gpus, _) in claims_of(node).items()}

    def events(self, name, space="default"):
        return [event for event in self.cluster.get(f"/api/v1/namespaces/{space}/events")["items"] if event["involvedObject"]["name"] == name]

    def number(self, name):
        """The job of a pod, as the server knows it."""
        return self.cluster.wait_until(lambda: self.server.number(name), f"no job {name}")

    def wait_waits(self, name, words, space="default", server=None):
        """Until the pod's condition says these words; gives the condition's message."""
        pod = self.cluster.wait_pod(name, space, holds=lambda pod: words in condition(pod).get("message", ""))
        found = condition(pod)
        self.assertEqual((found["status"], found["reason"]), ("False", "Unschedulable"))
        self.assertNotIn("nodeName", pod["spec"])
        return found["message"]

    def check_same(self, message, name):
        """`sharewell why` tells all that the condition of the pod does; its reason first."""
        def missing():
            why = self.server.why(self.number(name))
            return [part for part in message.split("; ") if part not in why] or ([message] if not why.startswith(message.split("; ")[0]) else [])
        self.cluster.wait_until(lambda: not missing(), lambda: f"{missing()} is not in {self.server.why(self.number(name))!r}", 20)

    def check_places(self):
        """Nothing is over-committed: by what the pods that are bound and not over were given, and by the claims."""
        alone, shared = {}, {}
        for pod in self.cluster.pods():
            if not pod["spec"].get("nodeName") or pod["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            for gpu in placed(pod):
                self.assertTrue(gpu.startswith(f"GPU-{pod['spec']['nodeName']}-"), pod["metadata"])
                share = int(pod["metadata"]["annotations"][OURS + "sm-share"])
                (alone if OURS + "model" not in pod["metadata"]["annotations"] else shared).setdefault(gpu, []).append((pod["metadata"]["name"], share))
        for gpu, pods in alone.items():
            self.assertEqual(len(pods), 1, f"{gpu}: {pods}")
            self.assertNotIn(gpu, shared)
        return alone, shared
