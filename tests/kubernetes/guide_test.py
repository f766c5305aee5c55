#!/usr/bin/env python3
"""docs/kubernetes.md as an admin follows it, against a real API server: every command and every YAML of its guide, from an empty cluster to two pods that
share a GPU, and the way back out. kubectl is played: what the guide's few commands ask of the API server."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import REPOSITORY, KubeTest, place_of  # noqa: E402
from program import PROGRAM  # noqa: E402
from serving import MODEL, OURS, Server, condition, placed  # noqa: E402

GUIDE = (REPOSITORY / "docs/kubernetes.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## From an empty cluster to.*?(?=^## )", GUIDE, re.M | re.S).group()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", SECTION, re.M | re.S)


class Guide(KubeTest):
    REAL = True

    def test_in_and_out_again(self):
        self.assertGreaterEqual(len(BLOCKS), 8)
        self.assertEqual({kind for kind, _ in BLOCKS}, {"sh", "yaml"})
        self.assertEqual(re.findall(r"^```yaml", GUIDE, re.M), ["```yaml"] * sum(kind == "yaml" for kind, _ in BLOCKS), "each YAML stands in the guide")
        self.cluster.play()
        self.cluster.add_node("n1")
        self.server, self.yaml, self.text = None, None, None
        self.addCleanup(lambda: self.server and self.server.end(signal.SIGKILL))
        self.ran = []
        for kind, text in BLOCKS:
            if kind == "yaml":
                self.text = text
                if "schedulerName: sharewell" in text:  # as it is
                    self.apply(text)
                continue
            for line in text.splitlines():
                self.run_line(line)
        self.assertEqual(self.ran, ["apply", "serve", "annotate", "cp", "inject", "get", "describe", "jobs", "delete pod", "delete -k", "annotate"])
        self.assertEqual(self.cluster.pods(), [])
        left = self.cluster.get("/api/v1/nodes/n1")["metadata"].get("annotations", {})
        self.assertFalse([key for key in left if key.startswith(OURS)], left)
        self.assertEqual(self.cluster.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/sharewell-scheduler")[0], 404)

    def apply(self, text):
        for document in yaml.safe_load_all(text):
            document["metadata"].setdefault("namespace", "default")
            self.cluster.create(*place_of(document))

    def run_line(self, line):
        words = shlex.split(line)
        name = {"kubectl": "kubectl_" + words[1], "sharewell": "sharewell_" + words[1]}.get(words[0], words[0])
        getattr(self, name)(words, line)

    # ---- what the guide says, word for word

    def kubectl_apply(self, words, _):
        self.assertEqual(words[2:], ["-k", "deploy/kubernetes/base"])
        self.cluster.apply(REPOSITORY / words[3])
        self.ran.append("apply")

    def sharewell_serve(self, words, _):
        self.assertEqual(words[2:], ["--engine", "kubernetes", "--kubeconfig", "~/.kube/config"])
        self.ran.append("serve")  # it is started when the node has its GPUs

    def kubectl_annotate(self, words, _):
        self.assertEqual(words[2:4], ["node", "n1"])
        changes = {}
        for word in words[4:]:
            key, sep, value = word.partition("=")
            changes[key if sep else key.removesuffix("-")] = value if sep else None
        self.cluster.patch("/api/v1/nodes/n1", {"metadata": {"annotations": changes}}, kind="merge-patch")
        self.ran.append("annotate")
        if self.server is None:
            self.server = Server(self.cluster)

    def cp(self, words, _):
        self.assertEqual(words[2], "/var/lib/sharewell/models/resnet50.onnx")
        shutil.copy(MODEL, self.server.folder / "models/resnet50.onnx")
        self.ran.append("cp")

    def sharewell_kubernetes(self, _, line):
        self.assertEqual(line, "sharewell kubernetes inject < two.yaml | kubectl apply -f -")
        done = subprocess.run([PROGRAM, "kubernetes", "inject"], input=self.text, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.apply(done.stdout)
        self.ran.append("inject")
        pods = [self.cluster.wait_pod(name, phase="Running") for name in ("train-a", "train-b")]
        self.assertEqual(placed(pods[0]), placed(pods[1]), "they share a GPU")
        self.assertEqual(len(placed(pods[0])), 1)
        for pod in pods:
            paths = [entry["valueFrom"]["fieldRef"]["fieldPath"] for entry in pod["spec"]["containers"][0]["env"] if "valueFrom" in entry]
            for path in paths:  # what the kubelet would read is there
                self.assertIn(re.search(r"\['(.*)'\]", path).group(1), pod["metadata"]["annotations"])

    def kubectl_get(self, words, _):
        self.assertIn(r"sharewell\.io/gpu-ids", words[-1])
        self.ran.append("get")

    def kubectl_describe(self, words, _):
        pod = self.cluster.wait_pod(words[3], holds=lambda pod: condition(pod).get("status") == "False")
        self.assertIn("needs an idle GPU", condition(pod)["message"])
        self.assertIn("needs an idle GPU", self.server.why(self.server.number(words[3])))
        self.ran.append("describe")

    def sharewell_jobs(self, _, __):
        said = self.server.run("jobs").stdout
        for name in ("train-a", "train-b", "train-c"):
            self.assertIn(name, said)
        self.ran.append("jobs")

    def kubectl_delete(self, words, _):
        if words[2] == "-k":
            self.assertEqual(words[3], "deploy/kubernetes/base")
            for kind in ("clusterroles", "clusterrolebindings"):
                for name in ("sharewell-scheduler", "sharewell-agent"):
                    self.cluster.delete(f"/apis/rbac.authorization.k8s.io/v1/{kind}/{name}")
            self.cluster.delete("/api/v1/namespaces/sharewell-system")
            self.assertEqual(self.server.end(), 0)
        else:
            for name in words[3:]:
                self.cluster.delete(f"/api/v1/namespaces/default/pods/{name}")
            self.cluster.wait_until(lambda: not self.cluster.pods(), "pods are left")
        self.ran.append(" ".join(words[1:3]))


class Inject(unittest.TestCase):
    """The command itself; what it does to YAML is in pod_inject_test.cc."""

    def inject(self, text, *args):
        return subprocess.run([PROGRAM, "kubernetes", "inject", *args], input=text, capture_output=True, text=True, timeout=60, check=False)

    def test_what_it_prints_is_the_same_pod(self):
        pod = next(text for kind, text in BLOCKS if kind == "yaml")
        before, after = list(yaml.safe_load_all(pod)), list(yaml.safe_load_all(self.inject(pod).stdout))
        for one in after:
            self.assertEqual(one["spec"].pop("schedulerName"), "sharewell")
            container = one["spec"]["containers"][0]
            self.assertEqual([entry["name"] for entry in container.pop("env")],
                             ["NVIDIA_VISIBLE_DEVICES", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                              "CUDA_MPS_CLIENT_PRIORITY", "SHAREWELL_PROGRESS"])
            self.assertEqual(container.pop("volumeMounts"), [{"name": "sharewell-steps", "mountPath": "/sharewell-steps"}])
            self.assertEqual(one["spec"].pop("volumes"), [{"name": "sharewell-steps", "emptyDir": {}}])
        self.assertEqual(after, before)
        # The one that is written by hand needs nothing.
        by_hand = [text for kind, text in BLOCKS if kind == "yaml"][1]
        self.assertEqual(self.inject(by_hand).stdout, by_hand)

    def test_what_is_predicted_here_travels_with_the_pod(self):
        pod = next(text for kind, text in BLOCKS if kind == "yaml")
        done = self.inject(pod, "--model", str(MODEL))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for one in yaml.safe_load_all(done.stdout):
            known = json.loads(one["metadata"]["annotations"][OURS + "known"])
            self.assertEqual((known["v"], known["needs"]["source"], known["needs"]["batch"]), (1, "predicted", 8))
            self.assertGreater(known["needs"]["gpu_memory_bytes"], 1e8)
        self.assertEqual(self.inject(done.stdout, "--model", str(MODEL)).stdout, done.stdout, "a second time adds nothing")

    def test_errors(self):
        for text, args, words in (("a: [", (), "it is no YAML"), ("", (), "it has no pod"), ("kind: Pod\n", (), "no spec.containers"),
                                  ("kind: Pod\n", ("--scheduler-name", "a b"), "is no name of a scheduler"),
                                  ("kind: Pod\nspec: {containers: [{name: a}]}", ("--model", "none.onnx"), "none.onnx: no such file"),
                                  ("kind: Pod\nspec: {schedulerName: x, containers: [{name: a}]}", (), "remove that line")):
            done = self.inject(text, *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main(verbosity=2)
