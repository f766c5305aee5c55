#!/usr/bin/env python3
"""deploy/kubernetes on a whole cluster with two real kubelets (whole_cluster.py): the image, the manifests, what containers of pods that share a GPU see,
evictions, an update of both replicas while pods run, and what the accounts may do. Only the GPUs are played: NVML is a recording of one H200 a node, and
the MPS daemon does nothing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import ACCOUNT, PATIENCE, REPOSITORY, SPACE, die_with_parent  # noqa: E402
from program import PROGRAM  # noqa: E402
from serving import MODEL, OURS, SMALL, claims_of, condition, placed  # noqa: E402
from whole_cluster import NODES, WholeCluster  # noqa: E402

TRAIN = "env; i=0; while :; do i=$((i+1)); echo $i >>$SHAREWELL_PROGRESS; sleep 0.2; done"
VARIABLES = {"NVIDIA_VISIBLE_DEVICES": "gpu-ids", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "sm-share", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "memory-limit"}
PODS = "/api/v1/namespaces/default/pods"
SYSTEM = f"/api/v1/namespaces/{SPACE}"
RECORDED = """
- {{op: add, path: /spec/template/spec/{where}/0/env/-, value: {{name: SHAREWELL_NVML_LIBRARY, value: /nvml.so}}}}
- {{op: add, path: /spec/template/spec/{where}/0/env/-, value: {{name: SHAREWELL_FAKE_NVML, value: /nvml/$(NODE).json}}}}
"""


def write_overlay(folder):
    """The manifests as they are, but for what needs a GPU."""
    shutil.copytree(REPOSITORY / "deploy/kubernetes/base", folder / "base")
    target = {"group": "apps", "version": "v1", "kind": "DaemonSet", "namespace": SPACE}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"bases": ["base"], "patchesJson6902": [
        {"target": {**target, "name": "sharewell-agent"}, "path": "agent.yaml"}, {"target": {**target, "name": "sharewell-mps"}, "path": "mps.yaml"}]}), encoding="utf-8")
    (folder / "agent.yaml").write_text(RECORDED.format(where="initContainers") + RECORDED.format(where="containers"), encoding="utf-8")
    at = "/spec/template/spec/containers/0"
    (folder / "mps.yaml").write_text(yaml.safe_dump([{"op": "replace", "path": f"{at}/image", "value": "busybox:1"},
                                                     {"op": "replace", "path": f"{at}/command", "value": ["sleep", "infinity"]}]), encoding="utf-8")
    return folder


class RealKubelets(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = WholeCluster(PROGRAM)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        for node in NODES:
            cls.cluster.add_kubelet(node)
        for node in NODES:
            cls.cluster.wait_node(node)
            cls.cluster.kubectl("label", "node", node, "nvidia.com/gpu.present=true")
        cls.cluster.kubectl("apply", "-k", write_overlay(cls.cluster.folder / "overlay"))
        for what in ("daemonset/sharewell-agent", "deployment/sharewell"):
            cls.wait_rolled_out(what)
        cls.cluster.wait_until(lambda: any(cls.page(pod["metadata"]["name"], 10402, "/healthz")[1] == "ok\n" for pod in cls.replicas()), "no replica leads")

    def setUp(self):
        self.addCleanup(self.tidy)
        for pod in self.replicas():  # a new one knows no models
            models = self.cluster.volume(pod, "state") / "models"
            models.mkdir(exist_ok=True)
            models.chmod(0o755)
            shutil.copy(MODEL, models / "small.onnx")
            (models / "small.onnx").chmod(0o644)

    def tidy(self):
        self.cluster.kubectl("delete", "jobs,pods", "--all", "--wait=false", "--grace-period=1")
        self.cluster.wait_until(lambda: not self.cluster.pods("default"), "pods are left", 90)

    # ---- what there is

    @classmethod
    def wait_rolled_out(cls, what):
        said = cls.cluster.kubectl("-n", SPACE, "rollout", "status", what, "--timeout=90s", check=False, patience=120)
        if "successfully rolled out" not in said:
            about = cls.cluster.kubectl("-n", SPACE, "describe", "pods", check=False)[-6000:]
            logs = [cls.cluster.kubectl("-n", SPACE, "logs", pod["metadata"]["name"], "--all-containers", "--tail=5", check=False) for pod in cls.cluster.pods(SPACE)]
            raise AssertionError(f"{what}: {said}\n{about}\n{logs}\n{cls.cluster.said()}")

    @classmethod
    def replicas(cls, component="scheduler"):
        return [pod for pod in cls.cluster.pods(SPACE) if pod["metadata"]["labels"]["app.kubernetes.io/component"] == component and
                not pod["metadata"].get("deletionTimestamp")]

    def leader(self):
        lease = self.cluster.get(f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/sharewell")
        return lease["spec"]["holderIdentity"].split("_")[0]

    def sharewell(self, *words):
        """The command line, in the pod of the replica that leads."""
        return self.cluster.kubectl("-n", SPACE, "exec", self.leader(), "--", "sharewell", *words)

    def jobs(self):
        """By name; of several the newest."""
        return {job["name"]: job for job in reversed(json.loads(self.sharewell("jobs", "--all", "--json"))["jobs"])}

    @classmethod
    def page(cls, pod, port, path):
        """What a pod serves, as the API server's proxy brings it."""
        return cls.cluster.request("GET", f"{SYSTEM}/pods/{pod}:{port}/proxy{path}")

    def metric(self, name, pod):
        """Of a running pod, as the agent of its node tells it; None: it does not."""
        agent = next(one["metadata"]["name"] for one in self.replicas("agent") if one["spec"]["nodeName"] == pod["spec"]["nodeName"])
        found = re.search(rf'_{name}\S*{{[^}}]*pod/{pod["metadata"]["uid"]}[^}}]*}} (\S+)', self.page(agent, 10400, "/metrics")[1])
        return float(found.group(1)) if found else None

    def make(self, name, *, notes=None, command=TRAIN, node=None, limits=None, **more):
        """A pod as its user writes it, injected and applied."""
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes or {}},
                    "spec": self.spec(command, node, limits, **more)})

    @staticmethod
    def spec(command, node, limits=None, **more):
        return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}), **more,
                "containers": [{"name": "main", "image": "busybox:1", "command": ["sh", "-c", command],
                                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": limits or {}}}]}

    def apply(self, document):
        done = subprocess.run([PROGRAM, "kubernetes", "inject"], input=yaml.safe_dump(document), capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.cluster.kubectl("apply", "-f", "-", stdin=done.stdout)

    def running(self, name):
        return self.cluster.wait_pod(name, phase="Running")

    def wait_waits(self, name):
        """Until it is said why it waits; gives the words."""
        self.cluster.wait_until(lambda: condition(self.cluster.pod(name)).get("reason") == "Unschedulable", f"nothing is said of {name}", 30)
        pod = self.cluster.pod(name)
        self.assertNotIn("nodeName", pod["spec"])
        return condition(pod)["message"]

    # ---- tests

    def test_what_the_manifests_make(self):
        for node in NODES:
            said = self.cluster.get(f"/api/v1/nodes/{node}")
            self.assertEqual(said["metadata"]["annotations"][OURS + "gpus"], f"H200 GPU-{node}-0")
            self.assertGreater(int(said["status"]["allocatable"][OURS + "gpu-memory"]), 100000)
        leader, names = self.leader(), [pod["metadata"]["name"] for pod in self.replicas()]
        self.assertEqual(len(names), 2)
        self.assertIn("this replica leads", self.cluster.kubectl("-n", SPACE, "logs", leader))
        for name in names:  # both are alive and ready; one leads
            status, said = self.page(name, 10402, "/healthz")
            self.assertEqual((status, said == "ok\n"), (200, name == leader), said)
        agents = self.replicas("agent")
        self.assertEqual({pod["spec"]["nodeName"] for pod in agents}, set(NODES))
        for pod in agents:
            node = pod["spec"]["nodeName"]
            status, said = self.page(pod["metadata"]["name"], 10400, "/metrics")
            self.assertEqual(status, 200)
            self.assertIn(f"GPU-{node}-0", said)

    def test_the_server_is_reached_as_the_guide_says(self):
        guide = (REPOSITORY / "docs/kubernetes.md").read_text(encoding="utf-8")
        finds, jobs, forwards = re.search(r"^## Reaching the server.*?^```sh\n(.*?)^```$", guide, re.M | re.S).group(1).splitlines()
        (self.cluster.folder / "bin").mkdir()
        (self.cluster.folder / "bin/kubectl").symlink_to(self.cluster.programs / "kubectl")
        env = {**self.cluster.admin(), "PATH": f"{self.cluster.folder}/bin:{os.environ['PATH']}"}
        self.make("seen", notes=SMALL)
        self.running("seen")
        done = subprocess.run([*self.cluster.inside, "sh", "-c", f"{finds}\n{jobs}"], env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn("seen", done.stdout, done.stderr)
        forward = subprocess.Popen([*self.cluster.inside, "sh", "-c", f"{finds}\nexec {forwards}"], env=env, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        try:
            self.assertIn("127.0.0.1:10401", forward.stdout.readline())
            with self.cluster.network(), urllib.request.urlopen("http://127.0.0.1:10401/api/v1/jobs?live=1", timeout=PATIENCE) as answer:
                self.assertEqual([job["name"] for job in json.load(answer)["jobs"]], ["seen"])
        finally:
            forward.kill()
            forward.wait()
            forward.stdout.close()

    def test_pods_that_share_a_gpu_see_it_and_their_shares(self):
        self.make("a", notes={**SMALL, OURS + "gpu-memory": "12Gi"}, node="n1")
        self.make("b", notes=SMALL, node="n1")
        both = [self.running(name) for name in ("a", "b")]
        limits = []
        for pod in both:
            self.assertEqual(placed(pod), ["GPU-n1-0"])
            name = pod["metadata"]["name"]
            said = self.cluster.wait_until(lambda name=name: self.cluster.kubectl("logs", name), "no log")
            seen = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
            for variable, note in VARIABLES.items():
                self.assertEqual(seen[variable], pod["metadata"]["annotations"][OURS + note], variable)
            limits.append(seen["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"])
        self.assertEqual(limits[0], "0=12288M")
        shares = [int(pod["metadata"]["annotations"][OURS + "sm-share"]) for pod in both]
        self.assertTrue(all(0 < share <= 100 for share in shares), shares)
        # Nothing is known of a third: it waits, and who asks is told why.
        self.make("c", node="n1")
        why = self.wait_waits("c").split(";")[0]
        self.assertIn("GPU", why)
        self.assertIn(why, self.cluster.kubectl("describe", "pod", "c"))
        jobs = self.jobs()
        self.assertEqual([jobs[name]["phase"] for name in ("a", "b", "c")], ["running", "running", "waiting"])
        self.assertEqual(jobs["a"]["user"], "default")
        # The agent of that node counts the steps that a container tells of.
        self.cluster.wait_until(lambda: (self.metric("job_steps", both[0]) or 0) > 1, "no steps of a", 30)
        self.cluster.kubectl("delete", "pod", "a", "b", "--wait=false")
        self.assertEqual(placed(self.running("c")), ["GPU-n1-0"])

    def test_the_end_of_a_container_is_the_end_of_its_job(self):
        self.make("well", command="exit 0", notes=SMALL)
        self.make("ill", command="exit 7", notes=SMALL)
        self.cluster.wait_pod("well", phase="Succeeded")
        self.cluster.wait_pod("ill", phase="Failed")
        self.make("large", command="tail /dev/zero", notes=SMALL, limits={"memory": "32Mi"})
        ended = self.cluster.wait_pod("large", phase="Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(ended["reason"], "OOMKilled")
        names = ("well", "ill", "large")
        jobs = self.cluster.wait_until(lambda: (jobs := self.jobs()) and all(jobs[name]["exit_code"] is not None for name in names) and jobs, lambda: str(self.jobs()))
        self.assertEqual([jobs[name]["exit_code"] for name in names], [0, 7, 137])
        self.cluster.wait_until(lambda: not any(claims_of(self.cluster.get(f"/api/v1/nodes/{node}")) for node in NODES), "a claim is left")

    def test_the_agent_sees_a_container_kept_to_its_cores(self):
        self.make("busy", command="while :; do :; done", notes=SMALL, limits={"cpu": "300m"})
        pod = self.running("busy")

        def used():
            return self.metric("job_cpu_seconds", pod), time.monotonic()
        first, since = self.cluster.wait_until(lambda: (seen := used())[0] and seen, "nothing is seen of it", 30)
        last, now = self.cluster.wait_until(lambda: (seen := used())[0] > first + 1 and seen, "it uses nothing", 60)
        # What is read is up to a few seconds old.
        self.assertLess(last - first, 0.3 * (now - since + 5))

    def test_who_is_preempted_comes_back(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}))
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "low"}, "spec": {"template": {"spec": self.spec(TRAIN, "n2")}}})

        def of_job():
            return [pod for pod in self.cluster.pods("default") if pod["metadata"].get("labels", {}).get("job-name") == "low" and
                    not pod["metadata"].get("deletionTimestamp")]
        first = self.cluster.wait_until(lambda: [pod for pod in of_job() if pod["status"].get("phase") == "Running"], "no pod of the Job runs")[0]
        self.make("high", node="n2", priorityClassName="urgent")
        self.assertEqual(placed(self.running("high")), ["GPU-n2-0"])
        # The Job's controller makes another, which waits; when there is room it runs, as the same job.
        second = self.cluster.wait_until(lambda: [pod for pod in of_job() if pod["metadata"]["uid"] != first["metadata"]["uid"] and
                                                  condition(pod).get("status") == "False"], "no other pod of the Job waits")[0]
        self.cluster.kubectl("delete", "pod", "high", "--wait=false")
        second = self.running(second["metadata"]["name"])
        self.assertEqual([pod["metadata"]["annotations"][OURS + "job"].split(".")[0] for pod in (first, second)],
                         [first["metadata"]["annotations"][OURS + "job"].split(".")[0]] * 2)

    def test_an_update_of_both_replicas_takes_no_pod_its_place(self):
        for name in ("a", "b"):
            self.make(name, notes=SMALL, node="n1")
        before = {name: self.state(self.running(name)) for name in ("a", "b")}
        self.make("c", node="n1")
        self.wait_waits("c")
        claims = claims_of(self.cluster.get("/api/v1/nodes/n1"))
        self.assertEqual({gpu for _, gpus, _ in claims.values() for gpu in gpus}, {"GPU-n1-0"})
        old = {pod["metadata"]["uid"] for pod in self.replicas()}
        self.cluster.kubectl("-n", SPACE, "rollout", "restart", "deployment/sharewell")
        self.wait_rolled_out("deployment/sharewell")
        self.cluster.wait_until(lambda: self.leader() in [pod["metadata"]["name"] for pod in self.replicas() if pod["metadata"]["uid"] not in old],
                                "no new replica leads")
        jobs = self.cluster.wait_until(lambda: "a" in (jobs := self.answered()) and "c" in jobs and jobs, lambda: str(self.answered()))
        self.assertEqual([jobs[name]["phase"] for name in ("a", "b", "c")], ["running", "running", "waiting"])
        # What the new one decides, it decides with them in their places.
        self.make("d", node="n2")
        self.assertEqual(placed(self.running("d")), ["GPU-n2-0"])
        self.assertEqual({name: self.state(self.cluster.pod(name)) for name in ("a", "b")}, before)
        self.assertEqual(claims_of(self.cluster.get("/api/v1/nodes/n1")), claims)
        self.wait_waits("c")
        self.cluster.kubectl("delete", "pod", "a", "b", "--wait=false")
        self.assertEqual(placed(self.running("c")), ["GPU-n1-0"])

    @staticmethod
    def state(pod):
        status = pod["status"]["containerStatuses"][0]
        return pod["metadata"]["uid"], placed(pod), status["containerID"], status["restartCount"], pod["status"]["phase"]

    def answered(self):
        """Of a leader that may just begin."""
        try:
            return self.jobs()
        except (AssertionError, json.JSONDecodeError):
            return {}

    def may(self, account, verb, resource, space="", name="", group=""):
        resource, _, sub = resource.partition("/")
        said = self.cluster.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": ACCOUNT + account, "groups": ["system:serviceaccounts", f"system:serviceaccounts:{SPACE}", "system:authenticated"],
                "resourceAttributes": {"verb": verb, "resource": resource, "subresource": sub, "namespace": space, "name": name, "group": group}}})
        return said["status"]["allowed"]

    def test_the_accounts_may_do_what_they_need_and_no_more(self):
        """As `kubectl auth can-i --as` answers."""
        needs = {
            "sharewell": [("list", "pods"), ("watch", "nodes"), ("get", "pods/log", "default"), ("create", "pods/binding", "default"), ("create", "pods/eviction", "default"),
                          ("patch", "pods/status", "default"), ("delete", "pods", "default"), ("patch", "nodes"), ("create", "events", "default"),
                          ("list", "persistentvolumeclaims"), ("list", "persistentvolumes"),
                          ("patch", "leases", SPACE, "sharewell", "coordination.k8s.io"), ("create", "leases", SPACE, "", "coordination.k8s.io")],
            "sharewell-agent": [("get", "nodes"), ("patch", "nodes"), ("patch", "nodes/status")],
        }
        for account, listed in needs.items():
            for what in listed:
                self.assertTrue(self.may(account, *what), (account, what))
        for account in needs:
            for verb, resource in (("get", "secrets"), ("list", "secrets"), ("list", "configmaps"), ("create", "pods"), ("patch", "pods"), ("update", "pods"),
                                   ("create", "pods/exec"), ("create", "pods/attach"), ("create", "pods/ephemeralcontainers"),
                                   ("create", "serviceaccounts/token"), ("delete", "nodes"), ("create", "nodes"), ("update", "nodes"), ("get", "nodes/proxy"),
                                   ("create", "nodes/proxy"), ("impersonate", "users"), ("deletecollection", "pods"), ("create", "persistentvolumes")):
                self.assertFalse(self.may(account, verb, resource, SPACE), (account, verb, resource))
            for verb, resource, group in (("create", "clusterrolebindings", "rbac.authorization.k8s.io"), ("escalate", "clusterroles", "rbac.authorization.k8s.io"),
                                          ("bind", "clusterroles", "rbac.authorization.k8s.io"), ("create", "deployments", "apps"),
                                          ("create", "jobs", "batch"), ("approve", "certificatesigningrequests", "certificates.k8s.io"),
                                          ("create", "mutatingwebhookconfigurations", "admissionregistration.k8s.io")):
                self.assertFalse(self.may(account, verb, resource, group=group), (account, verb, resource))
        for what in (("patch", "nodes/status"), ("patch", "leases", SPACE, "another", "coordination.k8s.io"), ("delete", "leases", SPACE, "sharewell", "coordination.k8s.io"),
                     ("patch", "leases", "kube-system", "kube-scheduler", "coordination.k8s.io"), ("create", "leases", "default", "", "coordination.k8s.io")):
            self.assertFalse(self.may("sharewell", *what), what)
        for what in (("list", "nodes"), ("list", "pods"), ("get", "pods"), ("delete", "pods"), ("create", "pods/binding"), ("create", "pods/eviction"), ("get", "pods/log"),
                     ("create", "events"), ("get", "leases", SPACE, "sharewell", "coordination.k8s.io")):
            self.assertFalse(self.may("sharewell-agent", *what), what)
        # The container that runs on has no token at all, in a real pod too.
        agent = self.replicas("agent")[0]["metadata"]["name"]
        said = self.cluster.kubectl("-n", SPACE, "exec", agent, "-c", "agent", "--", "sharewell", "kubernetes", "publish-gpus", "--node", "n1", check=False)
        self.assertIn("serviceaccount/ca.crt: no such file", said)

    def advertise(self, node, gpus):
        """As NVIDIA's device plugin does it; None: it is taken away."""
        self.cluster.patch(f"/api/v1/nodes/{node}/status", {"status": {what: {"nvidia.com/gpu": gpus} for what in ("capacity", "allocatable")}}, kind="merge-patch")

    def make_stock(self, name):
        spec = self.spec("sleep 1000", "n1", {"nvidia.com/gpu": "1"})
        self.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}))

    def test_k7_a_taint_keeps_the_device_plugins_pods_away(self):
        self.addCleanup(self.cluster.kubectl, "taint", "node", "n1", OURS + "gpus-", check=False)
        self.addCleanup(self.advertise, "n1", None)
        self.advertise("n1", "1")
        warned = "node n1: NVIDIA's device plugin advertises 1 GPU"
        self.cluster.wait_until(lambda: warned in self.cluster.kubectl("-n", SPACE, "logs", self.leader()), "nobody is warned", 30)
        self.make_stock("stock")
        self.running("stock")
        self.make("a", node="n1", notes=SMALL)
        words = "pod 'default/stock' has 1 GPU of node n1 by nvidia.com/gpu"
        why = condition(self.cluster.wait_pod("a", holds=lambda pod: words in condition(pod).get("message", "")))["message"]
        command = re.search("`kubectl (taint node n1 [^`]*)`", why).group(1).split()
        self.cluster.kubectl(*command)
        self.cluster.kubectl("delete", "pod", "stock", "--wait=false")
        self.assertEqual(placed(self.running("a")), ["GPU-n1-0"])
        self.make_stock("late")  # kube-scheduler finds no node for it
        self.cluster.wait_until(lambda: "taint {sharewell.io/gpus: true}" in condition(self.cluster.pod("late")).get("message", ""),
                                lambda: json.dumps(self.cluster.pod("late")["status"]))

    def test_k11_logs_of_a_pod_are_shown(self):
        self.make("talks", command="i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; sleep 0.2; done; echo to stderr >&2; printf 'no end'", notes=SMALL)
        self.running("talks")
        number = str(self.jobs()["talks"]["number"])
        followed = self.sharewell("logs", number, "--follow")
        whole = "".join(f"line {i}\n" for i in range(1, 21)) + "to stderr\nno end"
        self.assertEqual(followed.strip(), whole)
        self.assertEqual(self.sharewell("logs", number).strip(), whole)
        self.assertEqual(self.sharewell("logs", number, "--tail", "2").strip(), "to stderr\nno end")
        # The agent names the pod in what it tells of it.
        self.make("named", notes=SMALL)
        pod = self.running("named")
        self.cluster.wait_until(lambda: (self.metric("job_steps", pod) or 0) > 1, "no steps", 30)
        agent = next(one["metadata"]["name"] for one in self.replicas("agent") if one["spec"]["nodeName"] == pod["spec"]["nodeName"])
        self.cluster.wait_until(lambda: f'{{job="pod/{pod["metadata"]["uid"]}",namespace="default",pod="named"}}' in self.page(agent, 10400, "/metrics")[1], "no name", 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
