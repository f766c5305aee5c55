#!/usr/bin/env python3
"""`sharewell kubernetes webhook` and deploy/kubernetes/webhook before a real API server: it is asked about every pod. And namespaces as users with
limits and projects."""

import base64
import copy
import http.client
import json
import os
import signal
import ssl
import subprocess
import unittest

import yaml

from cluster import PATIENCE, REPOSITORY, KubeTest, Refused, die_with_parent, manifests, place_of
from serving import OURS, PROGRAM, ServeTest, Speaker, condition, gpus_of

WEBHOOK = "deploy/kubernetes/webhook"
HOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/sharewell-webhook"
SECRETS = "/api/v1/namespaces/sharewell-system/secrets"
PODS = "/api/v1/namespaces/default/pods"
ASKS = {OURS + "share": "true"}


def pod_of(name, *, labels=None, annotations=None, scheduler=None, env=None, resources=None):
    container = {"name": "main", "image": "example.org/image", **({"env": env} if env else {}), **({"resources": resources} if resources else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {**({"schedulerName": scheduler} if scheduler else {}), "containers": [container],
                     "initContainers": [{"name": "first", "image": "example.org/image"}]}}


class Webhook(Speaker):
    def __init__(self, cluster, number, port=0):
        self.said_in = cluster.folder / f"webhook-said.{number}"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "kubernetes", "webhook", "--listen", f"127.0.0.1:{port}", "--kubeconfig", str(cluster.kubeconfig("webhook"))],
                cwd=cluster.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=die_with_parent,
                env={**os.environ, "NO_COLOR": "1"})
        self.port = int(self.wait_for(r"answers the API server on port (\d+)").group(1))

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE)


class Admission(KubeTest):
    REAL = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for folder in ("deploy/kubernetes/base", WEBHOOK):
            cls.cluster.apply(REPOSITORY / folder)
        cls.webhooks = [Webhook(cls.cluster, 0)]
        cls.addClassCleanup(lambda: [one.end(signal.SIGKILL) for one in cls.webhooks])
        cls.point_to(cls.webhooks[0])

    @classmethod
    def point_to(cls, webhook):
        """The Service of the manifests needs a cluster with a network; here the API server is told an address."""
        hook = cls.cluster.get(HOOK)
        assert "service" in hook["webhooks"][0]["clientConfig"], hook
        hook["webhooks"][0]["clientConfig"]["url"] = f"https://127.0.0.1:{webhook.port}/pods"
        hook["webhooks"][0]["clientConfig"].pop("service")
        status, answer = cls.cluster.request("PUT", HOOK, hook)
        assert status == 200, answer
        cls.cluster.wait_until(cls.is_asked, "the API server never asks the webhook")

    @classmethod
    def is_asked(cls):
        probe = cls.cluster.create(PODS + "?dryRun=All", pod_of("probe", labels=ASKS))
        return probe["spec"]["schedulerName"] == "sharewell"

    def made(self, pod):
        made = self.cluster.create(PODS, pod)
        self.addCleanup(self.cluster.request, "DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
        return made

    def refusal(self, pod):
        with self.assertRaises(Refused) as refused:
            self.made(pod)
        self.assertEqual(refused.exception.status, 403)
        self.assertIn("Sharewell refuses this pod: ", refused.exception.body["message"])
        return refused.exception.body["message"]

    def test_k6_a_pod_that_asks_gets_what_inject_gives(self):
        asked = pod_of("asks", labels=ASKS, annotations={OURS + "watch": "true"}, env=[{"name": "PYTHONPATH", "value": "/app"}])
        done = subprocess.run([PROGRAM, "kubernetes", "inject"], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True)
        injected = list(yaml.safe_load_all(done.stdout))[-1]["spec"]
        made = self.made(asked)["spec"]
        self.assertEqual(made["schedulerName"], injected["schedulerName"])
        for kind in ("containers", "initContainers"):
            for ours, theirs in zip(injected[kind], made[kind], strict=True):
                env = copy.deepcopy(theirs["env"])
                for variable in env:
                    variable.get("valueFrom", {}).get("fieldRef", {}).pop("apiVersion", None)  # a default of the API server
                self.assertEqual(env, ours["env"])
                self.assertEqual(theirs["volumeMounts"][:2], ours["volumeMounts"])
        self.assertEqual([one["name"] for one in made["volumes"][:2]], [one["name"] for one in injected["volumes"]])

    def test_k8_the_memory_that_a_pod_names_is_counted(self):
        made = self.made(pod_of("counted", labels=ASKS, annotations={OURS + "gpu-memory": "12Gi"}))
        amounts = made["spec"]["containers"][0]["resources"]
        self.assertEqual((amounts["limits"], amounts["requests"]), ({OURS + "gpu-memory": "12288"},) * 2)

    def test_k6_what_goes_around_the_accounting_is_refused(self):
        everything = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
        self.assertIn("sets NVIDIA_VISIBLE_DEVICES by hand", self.refusal(pod_of("p", labels=ASKS, env=everything)))
        self.assertIn("sets NVIDIA_VISIBLE_DEVICES by hand", self.refusal(pod_of("p", scheduler="sharewell", env=everything)))
        self.assertIn("under another scheduler", self.refusal(pod_of("p", resources={"limits": {OURS + "gpu-memory": "1024"}})))
        self.assertIn("sharewell.io/precision is 'half'", self.refusal(pod_of("p", labels=ASKS, annotations={OURS + "precision": "half"})))
        self.assertIn(OURS + "gpu-ids", self.refusal(pod_of("p", annotations={OURS + "gpu-ids": "GPU-1"})))
        self.made(pod_of("p", env=everything))  # of no concern to us

    def test_annotations_of_a_binding_are_the_schedulers(self):
        self.cluster.add_node("bound")
        self.made(pod_of("bound", scheduler="sharewell"))
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound", "annotations": {OURS + "gpu-ids": "GPU-1"}},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": "bound"}}
        self.cluster.create(f"{PODS}/bound/binding", binding, user="scheduler")
        for text in ("GPU-2", None):
            with self.assertRaises(Refused) as refused:
                self.cluster.patch(f"{PODS}/bound", {"metadata": {"annotations": {OURS + "gpu-ids": text}}}, kind="merge-patch")
            self.assertIn("is written by Sharewell when the pod is bound", refused.exception.body["message"])
        self.cluster.patch(f"{PODS}/bound", {"metadata": {"annotations": {OURS + "max-slowdown": "1.2", "mine": "x"}}}, kind="merge-patch")
        self.assertEqual(self.cluster.pod("bound")["metadata"]["annotations"][OURS + "gpu-ids"], "GPU-1")

    def test_replicas_share_a_certificate_and_without_any_pods_pass(self):
        secret = self.cluster.get(f"{SECRETS}/sharewell-webhook")
        self.assertEqual(secret["type"], "kubernetes.io/tls")
        bundle = self.cluster.get(HOOK)["webhooks"][0]["clientConfig"]["caBundle"]
        self.assertEqual(bundle, secret["data"]["ca.crt"])
        second = Webhook(self.cluster, len(self.webhooks))
        self.webhooks.append(second)
        self.assertEqual(self.cluster.get(f"{SECRETS}/sharewell-webhook")["data"], secret["data"])
        said = second.said()
        self.assertNotIn("made a certificate", said)
        for secret_text in ("tls.key", "PRIVATE"):
            self.assertNotIn(secret_text, said)
        self.webhooks[0].end()
        self.assertEqual(self.cluster.create(PODS + "?dryRun=All", pod_of("passes", labels=ASKS))["spec"]["schedulerName"], "default-scheduler")
        port = self.webhooks[0].port
        self.webhooks.append(Webhook(self.cluster, len(self.webhooks), port))
        self.webhooks[0] = self.webhooks.pop()
        self.cluster.wait_until(self.is_asked, "the API server does not ask the new one")

    def post(self, body, path="/pods"):
        context = ssl.create_default_context(cadata=base64.b64decode(self.cluster.get(f"{SECRETS}/sharewell-webhook")["data"]["ca.crt"]).decode())
        connection = http.client.HTTPSConnection("127.0.0.1", self.webhooks[0].port, context=context, timeout=PATIENCE)
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def test_hostile_input_is_refused_and_it_answers_on(self):
        for body in (b"", b"{}", b"\xff" * 1000, b"[" * 100_000):
            status, words = self.post(body)
            self.assertEqual(status, 400)
            self.assertIn("AdmissionReview", words)
        self.assertEqual(self.post(b"{}", "/other")[0], 404)
        try:
            self.assertEqual(self.post(b" " * (5 << 20))[0], 413)
        except OSError:
            pass  # it was closed before all of it was sent
        self.assertTrue(self.is_asked())

    def test_it_may_what_it_needs_and_nothing_else(self):
        merge = "application/merge-patch+json"
        for method, path, body, kind, may in (
                ("GET", f"{SECRETS}/sharewell-webhook", None, "application/json", True),
                ("GET", HOOK, None, "application/json", True),
                ("GET", f"{SECRETS}/sharewell-store", None, "application/json", False),
                ("GET", SECRETS, None, "application/json", False),
                ("GET", "/api/v1/pods", None, "application/json", False),
                ("PATCH", "/api/v1/namespaces/default/pods/p", {"spec": {}}, merge, False),
                ("PATCH", HOOK.replace("sharewell-webhook", "another"), {"webhooks": []}, merge, False),
                ("DELETE", HOOK, None, "application/json", False)):
            status, answer = self.cluster.request(method, path, body, user="webhook", kind=kind)
            self.assertEqual(status != 403, may, f"{method} {path}: {answer}")

    def test_pods_of_the_manifests_are_taken(self):
        (deployment,) = [one for one in manifests(REPOSITORY / WEBHOOK) if one["kind"] == "Deployment"]
        path, _ = place_of(deployment)
        template = self.cluster.get(f"{path}/sharewell-webhook")["spec"]["template"]
        self.cluster.create("/api/v1/namespaces/sharewell-system/pods?dryRun=All", {"metadata": {"name": "w"}, "spec": template["spec"]})


class Namespaces(ServeTest):
    REAL = False

    def test_k8_a_namespace_has_limits_and_a_project_of_its_name(self):
        settings = self.cluster.folder / "sharewell.toml"
        settings.write_text('[limits.user.team-a]\ngpus = 1\n[projects.team-a]\nshare = 0.5\nusers = ["team-a"]\n', encoding="utf-8")
        self.cluster.add_node("n1", annotations={OURS + "gpus": "H200 " + " ".join(gpus_of("n1", 3))})
        for space in ("team-a", "team-b"):
            self.cluster.create("/api/v1/namespaces", {"metadata": {"name": space}})
        server = self.serve("--config", str(settings))
        self.cluster.add_pod("first", space="team-a")
        self.cluster.wait_pod("first", "team-a", phase="Running")
        self.cluster.add_pod("second", space="team-a")
        self.cluster.add_pod("other", space="team-b")
        self.cluster.wait_pod("other", "team-b", phase="Running")
        waits = self.cluster.wait_pod("second", "team-a", holds=lambda pod: "limits.gpus" in condition(pod).get("message", ""))
        self.assertNotIn("nodeName", waits["spec"])
        self.assertEqual(server.job(server.number("first"))["project"], "team-a")
        self.assertEqual(server.job(server.number("other"))["project"], "default")
        self.assertNotIn("there is no user", server.said())


if __name__ == "__main__":
    unittest.main()
