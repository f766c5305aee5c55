"""A Kubernetes control plane on loopback, for the tests in this folder: a real kube-apiserver 1.20.2 with etcd, or the fake of fake_api.py.

    with Cluster(real=True) as cluster:
        cluster.add_node("n1", capacity={"cpu": "16", "sharewell.io/gpu-memory": "80"})
        cluster.add_pod("a", annotations={"sharewell.io/model": "resnet50"})
        cluster.play()                       # kubelets: what is bound runs, what is deleted ends
        cluster.wait_pod("a", phase="Running")

Both speak HTTPS with the same certificate authority, and know the same users by token (TOKENS). With `faults` a real one stands behind front.Front
too, which can be told to fail. Ports are looked for, so that several may run at once. Everything that is started dies with the test.
"""

import base64
import functools
import http.client
import json
import os
import pathlib
import platform
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import yaml
from fake_api import FakeApi
from front import Forward, Front
from kubelets import Kubelets

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests" / "cli"))
from loopback import die_with_parent, free_ports  # noqa: E402

PATIENCE = 60
SPACE = "sharewell-system"
# What `inject` adds first: without it no pod is started.
GPU_ENV = [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['sharewell.io/gpu-ids']"}}}]
ACCOUNT = f"system:serviceaccount:{SPACE}:"
# user: (token, name, groups)
USERS = {
    "admin": ("admin-token", "admin", ["system:masters"]),
    "scheduler": ("scheduler-token", ACCOUNT + "sharewell", ["system:serviceaccounts"]),
    "agent": ("agent-token", ACCOUNT + "sharewell-agent", ["system:serviceaccounts"]),
    "webhook": ("webhook-token", ACCOUNT + "sharewell-webhook", ["system:serviceaccounts"]),
    "nobody": ("nobody-token", "nobody", []),
}
TOKENS = {token: (name, groups) for token, name, groups in USERS.values()}


@functools.lru_cache
def kube_programs():
    """The folder with kube-apiserver and the others, built where they are absent; skips the test where their source cannot be downloaded."""
    done = subprocess.run([REPOSITORY / "tools" / "kube_cluster"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 3:
        print(f"\n*** NOT TESTED against a real kube-apiserver: {done.stderr}", file=sys.stderr)
        raise unittest.SkipTest(done.stderr)
    if done.returncode != 0 or not shutil.which("etcd"):
        raise AssertionError(done.stderr or "etcd is not installed; run tools/setup")
    return pathlib.Path(done.stdout.strip())


def make_certificates(folder):
    """ca.crt, server.crt/key for 127.0.0.1 and for 10.0.0.1, the service `kubernetes`, admin.crt/key (a client in system:masters), other-ca.crt, which signed none of them, and sa.key."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    for name in ("ca", "other-ca"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out",
                f"{name}.crt", "-days", "2", "-subj", f"/CN={name}")
    for name, subject, extension in (("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:kubernetes.default.svc"),
                                     ("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                "-subj", subject)
        (folder / "extensions").write_text(extension + "\n", encoding="utf-8")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt", "-days", "2",
                "-extfile", "extensions")
    openssl("genrsa", "-out", "sa.key", "2048")


class Refused(Exception):
    """An answer that is no success: .status, .body."""

    def __init__(self, status, body, what):
        super().__init__(f"{what}: {status} {body.get('message', body) if isinstance(body, dict) else body}")
        self.status, self.body = status, body


class Cluster:
    """`faults`: .front can be told to fail, also before the real server; `manifests`: applied after the start, by folder in the repository."""

    def __init__(self, real=False, *, faults=False, manifests=()):
        self.programs = kube_programs() if real else None
        self.real, self.manifests, self.users = real, manifests, USERS
        self.inside = []  # words before each program that is started
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sharewell-kube-"))
        self.processes, self.playing = {}, None
        make_certificates(self.folder)
        self.ca = self.folder / "ca.crt"
        self.context = ssl.create_default_context(cafile=str(self.ca))
        self.front = self.fake = None
        if real:
            self.ports = free_ports(3)  # the API server, etcd for clients and for peers
            self.write_tokens(USERS)
            self.port = self.ports
            backend = Forward(self.port, self.ca)
        else:
            self.fake = backend = FakeApi(TOKENS)
        if faults or not real:
            self.front = Front(backend, self.folder / "server.crt", self.folder / "server.key")

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # ---- the servers

    def write_tokens(self, users):
        lines = [f'{token},{name},{name},"{",".join(groups)}"' for token, name, groups in users.values()]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.users = users

    def start(self):
        try:
            if self.real:
                self.start_etcd()
                self.start_server(wait=False)
            if self.front:
                self.front.start()
            self.wait_ready()
            self.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
            for folder in self.manifests:
                self.apply(REPOSITORY / folder)
        except BaseException:
            self.stop()
            raise
        return self

    def _run(self, name, words, **env):
        log = open(self.folder / f"{name}.log", "ab")  # noqa: SIM115 (the process has it)
        self.processes[name] = subprocess.Popen([str(word) for word in [*self.inside, *words]], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                                env={**os.environ, **env}, preexec_fn=die_with_parent)
        log.close()

    def start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.ports + 1}", f"http://127.0.0.1:{self.ports + 2}"
        unsupported = {} if platform.machine() == "x86_64" else {"ETCD_UNSUPPORTED_ARCH": {"aarch64": "arm64"}.get(platform.machine(), "")}
        self._run("etcd", ["etcd", "--name=one", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                           f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=one={peer}",
                           "--unsafe-no-fsync", "--log-level=error"], **unsupported)

    def start_server(self, wait=True):
        """After stop_server or kill_server; the first time start() does it."""
        if not self.real:
            self.front.start()
            return
        self._run("kube-apiserver", [self.programs / "kube-apiserver", *self.server_flags()])
        if wait:
            self.wait_ready()

    def server_flags(self):
        here = self.folder
        return [
            f"--etcd-servers=http://127.0.0.1:{self.ports + 1}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.ports}", f"--cert-dir={here}/certs", f"--tls-cert-file={here}/server.crt", f"--tls-private-key-file={here}/server.key",
            f"--client-ca-file={self.ca}", f"--token-auth-file={here}/tokens.csv", "--authorization-mode=RBAC",
            f"--service-account-key-file={here}/sa.key", f"--service-account-signing-key-file={here}/sa.key",
            "--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true", "--v=0"]

    def _end(self, name, how):
        process = self.processes.pop(name, None)
        if process and process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill_server(self):
        if self.real:
            self._end("kube-apiserver", signal.SIGKILL)
        else:
            self.front.stop()

    def kill_etcd(self):
        self._end("etcd", signal.SIGKILL)

    def forget(self):
        """What is past is no more: a list's next page and an old watch get 410. Of the real server watches are affected only after a restart."""
        if not self.real:
            self.fake.forget()
            return
        version = int(self.get("/api/v1/namespaces")["metadata"]["resourceVersion"])
        connection = http.client.HTTPConnection("127.0.0.1", self.ports + 1, timeout=PATIENCE)
        connection.request("POST", "/v3/kv/compaction", json.dumps({"revision": str(version)}), {"Content-Type": "application/json"})
        assert connection.getresponse().status == 200
        connection.close()

    def wait_ready(self):
        def ready():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            assert not dead, f"{dead} ended\n{self.said()}"
            try:
                # A real one makes this namespace some time after it is ready.
                return all(self.request("GET", path)[0] == 200 for path in ("/readyz", "/api/v1/namespaces/default"))
            except (OSError, http.client.HTTPException):
                return False
        self.wait_until(ready, "the API server does not get ready", 180)

    def stop(self):
        if self.playing:
            self.playing.stop()
        if self.front:
            self.front.stop()
        for name in ("kube-apiserver", "etcd"):
            self._end(name, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self, lines=15):
        """The end of each log, for a message of a failed test."""
        return "".join(f"--- {log.name}\n" + "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) + "\n"
                       for log in sorted(self.folder.glob("*.log")))

    def wait_until(self, holds, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if value := holds():
                return value
            time.sleep(0.05)
        raise AssertionError(f"{what() if callable(what) else what}\n{self.said()}")

    # ---- requests: always to the server itself, past the faults

    def request(self, method, path, body=None, *, user="admin", kind="application/json", timeout=PATIENCE):
        """(status, the answer: JSON where it is some)."""
        if self.real:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection("127.0.0.1", self.front.port, context=self.context, timeout=timeout)
        try:
            headers = {"Authorization": f"Bearer {self.users[user][0]}", **({"Content-Type": kind} if body is not None else {})}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            try:
                return answer.status, json.loads(text)
            except ValueError:
                return answer.status, text.decode("utf-8", "replace")
        finally:
            connection.close()

    def _ok(self, method, path, body=None, **how):
        status, answer = self.request(method, path, body, **how)
        if status >= 300:
            raise Refused(status, answer, f"{method} {path}")
        return answer

    def get(self, path, **how):
        return self._ok("GET", path, **how)

    def create(self, path, body, **how):
        return self._ok("POST", path, body, **how)

    def delete(self, path, body=None, **how):
        return self._ok("DELETE", path, body, **how)

    def patch(self, path, body, kind="strategic-merge-patch", **how):
        return self._ok("PATCH", path, body, kind=f"application/{kind}+json", **how)

    def apply(self, folder):
        """What kustomization.yaml in this folder lists, object for object; what is there is patched."""
        for document in manifests(folder):
            path, body = place_of(document)
            name = document["metadata"]["name"]
            if self.request("GET", f"{path}/{name}")[0] == 404:
                self.create(path, body)
            else:
                self.patch(f"{path}/{name}", body, kind="merge-patch")

    # ---- nodes and pods

    def add_node(self, name, *, labels=None, annotations=None, capacity=None, taints=None):
        """One that is ready. New ones are tainted by the server, and here is no controller that would take that away."""
        capacity = {"cpu": "16", "memory": "64Gi", "pods": "110", **(capacity or {})}
        self.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}, "annotations": annotations or {}}})
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": taints}}, kind="merge-patch")
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": capacity, "allocatable": capacity}})
        self.set_ready(name, "True")

    def set_ready(self, name, status):
        """"True", "False" or, when its kubelet is silent, "Unknown"."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [
            {"type": "Ready", "status": status, "reason": "Played", "message": "by a test", "lastHeartbeatTime": moment, "lastTransitionTime": moment}]}})

    def lose_node(self, name):
        """As the node lifecycle controller tells it when a kubelet is silent. Its pods stay as they are."""
        if self.playing:
            self.playing.silent.add(name)
        self.set_ready(name, "Unknown")
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}}, kind="merge-patch")

    def find_node(self, name):
        if self.playing:
            self.playing.silent.discard(name)
        self.set_ready(name, "True")
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, kind="merge-patch")

    def add_pod(self, name, *, space="default", annotations=None, labels=None, scheduler="sharewell", resources=None, user="admin", owner=None, **spec):
        """`owner`: (kind, name) of the controller that made it."""
        container = {"name": "main", "image": "example.org/image", "env": GPU_ENV, **({"resources": resources} if resources else {})}
        return self.create(f"/api/v1/namespaces/{space}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "annotations": annotations or {}, "labels": labels or {}, "ownerReferences": [] if not owner else [
                {"apiVersion": "batch/v1", "kind": owner[0], "name": owner[1], "uid": f"0000-{owner[1]}", "controller": True}]},
            "spec": {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container], **spec}}, user=user)

    def pod(self, name, space="default"):
        """None where there is none."""
        status, pod = self.request("GET", f"/api/v1/namespaces/{space}/pods/{name}")
        return pod if status == 200 else None

    def pods(self, space=None):
        return self.get(f"/api/v1/namespaces/{space}/pods" if space else "/api/v1/pods")["items"]

    def wait_pod(self, name, space="default", *, phase=None, node=None, holds=None, patience=PATIENCE):
        """Until it is in that phase, on that node (True: on any), or what `holds` says of it is true; gives the pod."""
        last = [None]

        def there():
            last[0] = pod = self.pod(name, space)
            on = (pod or {}).get("spec", {}).get("nodeName")
            return pod if pod and (phase is None or pod["status"].get("phase") == phase) and (node is None or on == node or (node is True and on)) and \
                (holds is None or holds(pod)) else None
        return self.wait_until(there, lambda: f"pod {name} never was so: {json.dumps(last[0])[:2000]}", patience)

    def play(self, **options):
        """Starts the kubelets of all nodes (kubelets.py)."""
        self.playing = Kubelets(self, **options).start()
        return self.playing

    # ---- for clients

    def url(self, front=None):
        if self.front and front is not False:
            return self.front.url
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, user="scheduler", *, certificate=False, front=None, name=None):
        """The path of a kubeconfig for that user; `certificate`: the admin's, instead of a token."""
        def data(file):
            return base64.b64encode((self.folder / file).read_bytes()).decode()

        who = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")} if certificate else {"token": self.users[user][0]}
        place = self.folder / (name or f"{user}.kubeconfig")
        place.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "here", "cluster": {"server": self.url(front), "certificate-authority-data": data("ca.crt")}}],
            "users": [{"name": user, "user": who}], "contexts": [{"name": "test", "context": {"cluster": "here", "user": user}}]}), encoding="utf-8")
        place.chmod(0o600)
        return place


# ---- manifests

PLURALS = {"NetworkPolicy": "networkpolicies", "PriorityClass": "priorityclasses"}
NOT_IN_A_NAMESPACE = {"Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "Node", "MutatingWebhookConfiguration"}


def manifests(folder):
    """The objects of a kustomize base, as far as we use it: `resources` and `namespace`."""
    folder = pathlib.Path(folder)
    settings = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for resource in settings["resources"]:
        if (folder / resource).is_dir():
            yield from manifests(folder / resource)
            continue
        for document in yaml.safe_load_all((folder / resource).read_text(encoding="utf-8")):
            if document["kind"] not in NOT_IN_A_NAMESPACE:
                document["metadata"].setdefault("namespace", settings.get("namespace", "default"))
            yield document


def place_of(document):
    """(the path to POST it to, the object)."""
    version, kind = document["apiVersion"], document["kind"]
    base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    space = document["metadata"].get("namespace")
    plural = PLURALS.get(kind, kind.lower() + "s")
    return f"{base}/namespaces/{space}/{plural}" if space else f"{base}/{plural}", document


class KubeTest(unittest.TestCase):
    """Tests of a class share one cluster, made with OPTIONS. A class of scenarios is a mixin, and has a child of this with REAL and one without."""

    REAL = False
    OPTIONS = {}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.REAL, **cls.OPTIONS)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
