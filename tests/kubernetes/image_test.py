#!/usr/bin/env python3
"""The container image of deploy/kubernetes/Containerfile, built with podman and run as the manifests of base/ run it: their user, arguments,
capabilities and mounts, against a played API server. Its base is the C library of this machine and nothing else, as no registry is asked."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from cluster import REPOSITORY, KubeTest, die_with_parent, free_ports, manifests
from images import libraries
from serving import OURS, gpus_of, placed

RELEASE = REPOSITORY / "build/release"
IMAGE, BASE = "localhost/sharewell-test:1", "localhost/sharewell-test-base:1"
SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
PATIENCE = 120


def template(kind, name):
    """The pod's spec of a manifest, and its one container of that name."""
    for document in manifests(REPOSITORY / "deploy/kubernetes/base"):
        spec = document["spec"]["template"]["spec"] if document["kind"] == kind else {}
        for container in spec.get("initContainers", []) + spec.get("containers", []):
            if container["name"] == name:
                return spec, container
    raise AssertionError(f"no {kind} with a container {name}")


@unittest.skipUnless(shutil.which("podman") and os.geteuid() == 0, "needs podman, and root, as a container's user is another one")
@unittest.skipUnless((RELEASE / "sharewell").exists() and pathlib.Path(os.environ["SHAREWELL"]).resolve().parent == RELEASE,
                     "an image is made of build/release")
class Image(KubeTest):
    OPTIONS = {"manifests": ("deploy/kubernetes/base",)}

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="sharewell-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        os.chmod(cls.place, 0o755)
        cls.make_base()
        ran = cls.podman("run", "--rm", *cls.LIMITS, BASE, "/bin/busybox", "true") if shutil.which("busybox") else None
        if ran is not None and ran.returncode != 0:
            raise unittest.SkipTest(f"podman cannot run a container here: {ran.stderr}")
        subprocess.run(["tools/package", "tarball"], cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
        tarball = next((REPOSITORY / "build/image/out").glob("*.tar.gz"))
        made = cls.podman("build", "-f", str(REPOSITORY / "deploy/kubernetes/Containerfile"), "-t", IMAGE, "--build-arg", f"BASE={BASE}",
                          "--build-arg", f"NAME={tarball.name.removesuffix('.tar.gz')}", str(tarball.parent))
        assert made.returncode == 0, made.stderr
        super().setUpClass()
        cls.cluster.play(heartbeat=None)

    @classmethod
    def make_base(cls):
        """The loader and the C library, at the paths where programs look for them; and, for a first try, busybox."""
        root = cls.place / "root"
        for part in ("bin", "dev", "etc", "proc", "sys", "tmp", "run", "var/lib"):
            (root / part).mkdir(parents=True)
        # The tarball brings all but these (tools/package).
        wanted = re.compile(r"ld-linux.*|lib(c|m|pthread|dl|rt|resolv)\.so.*")
        for path, file in libraries(RELEASE / "sharewell").items():
            target = root / path
            if wanted.fullmatch(target.name):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
        if shutil.which("busybox"):
            shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        subprocess.run(["tar", "-C", root, "-cf", cls.place / "base.tar", "."], check=True)
        made = cls.podman("import", str(cls.place / "base.tar"), BASE)
        assert made.returncode == 0, made.stderr

    # A sandbox may not raise these, and podman would.
    LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")

    @classmethod
    def podman_words(cls, *args):
        return ["podman", "--root", str(cls.place / "storage"), "--runroot", str(cls.place / "run"), "--storage-driver", "vfs", *args]

    @classmethod
    def podman(cls, *args):
        return subprocess.run(cls.podman_words(*args), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def like(self, kind, name, *, network="none"):
        """The words of `podman run` that do what the pod's manifest says."""
        spec, container = template(kind, name)
        context = {**spec.get("securityContext", {}), **container.get("securityContext", {})}
        words = ["run", "--rm", "--network", network, *self.LIMITS, "--user", f"{context['runAsUser']}:{context.get('runAsGroup', 0)}"]
        words += ["--read-only", "--read-only-tmpfs=false"] if context["readOnlyRootFilesystem"] else []
        words += [] if context["allowPrivilegeEscalation"] else ["--security-opt", "no-new-privileges"]
        words += [word for capability in context["capabilities"]["drop"] for word in ("--cap-drop", capability)]
        words += [word for capability in context["capabilities"].get("add", []) for word in ("--cap-add", capability)]
        words += ["--pid", "host"] if spec.get("hostPID") else []
        for mount in container["volumeMounts"]:
            folder = self.place / "mounts" / name / mount["name"]
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, context["runAsUser"], context.get("runAsGroup", 0))
            words += ["-v", f"{folder}:{mount['mountPath']}{':ro' if mount.get('readOnly') else ''}"]
        for variable in container.get("env", []):
            words += ["--env", f"{variable['name']}={variable['value']}"] if "value" in variable else []
        return words, container["args"]

    def account(self, token):
        """What the kubelet gives a container by which it speaks to the API server."""
        secrets = self.place / token
        secrets.mkdir()
        (secrets / "token").write_text(token, encoding="utf-8")
        shutil.copy(self.cluster.ca, secrets / "ca.crt")
        address = self.cluster.url().removeprefix("https://").split(":")
        return ["-v", f"{secrets}:{SECRETS}:ro", "--env", f"KUBERNETES_SERVICE_HOST={address[0]}", "--env", f"KUBERNETES_SERVICE_PORT={address[1]}"]

    def start(self, words, log):
        with open(self.place / log, "w", encoding="utf-8") as said:
            process = subprocess.Popen(self.podman_words(*words), stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=die_with_parent)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.terminate()  # podman hands it on
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.podman("rm", "--all", "--force", "--time", "0")

    def said(self, log):
        return (self.place / log).read_text(encoding="utf-8", errors="replace")

    def test_it_starts_where_nothing_but_the_c_library_is(self):
        config = json.loads(self.podman("image", "inspect", IMAGE).stdout)[0]["Config"]
        self.assertEqual((config["User"], config["Entrypoint"]), ("65532:65532", ["sharewell"]))
        words, _ = self.like("Deployment", "sharewell")
        version = self.podman(*words, IMAGE, "--version")
        self.assertEqual((version.returncode, version.stdout), (0, subprocess.run([RELEASE / "sharewell", "--version"], capture_output=True, text=True,
                                                                                  check=True).stdout), version.stderr)
        for command in (["serve", "--help"], ["monitor", "--help"], ["kubernetes", "--help"], ["gpus"]):
            done = self.podman(*words, IMAGE, *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout)

    def test_the_scheduler_binds_a_pod_as_the_deployment_runs_it(self):
        self.cluster.add_node("n1", annotations={OURS + "gpus": " ".join(["H200", *gpus_of("n1", 1)])})
        words, args = self.like("Deployment", "sharewell", network="host")
        words += self.account("scheduler-token")
        args = [arg.replace("0.0.0.0:10402", f"127.0.0.1:{free_ports(1)}") for arg in args]
        self.start([*words, IMAGE, *args], "scheduler.log")
        self.cluster.wait_until(lambda: "this replica leads" in self.said("scheduler.log"), lambda: self.said("scheduler.log"))
        self.cluster.add_pod("a", annotations={OURS + "may-evict": "true"})
        try:
            pod = self.cluster.wait_pod("a", phase="Running", node="n1")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said('scheduler.log')}") from error
        self.assertEqual(placed(pod), gpus_of("n1", 1))
        self.assertNotIn("scheduler-token", self.said("scheduler.log"))

    def test_a_node_says_which_gpus_it_has_as_the_daemon_set_runs_it(self):
        """Its GPUs are a recording of NVML; all else is as in the manifest."""
        self.cluster.add_node("gpu-node")
        self.addCleanup(self.cluster.delete, "/api/v1/nodes/gpu-node")
        words, args = self.like("DaemonSet", "publish-gpus", network="host")
        at = words.index("-v")  # the volume with the token is the only one
        self.assertTrue(words[at + 1].endswith(f":{SECRETS}:ro"), words[at + 1])
        del words[at:at + 2]
        words += [*self.account("agent-token"), "-v", f"{RELEASE}/libfake_nvml.so:/nvml.so:ro", "-v",
                  f"{REPOSITORY}/tests/fixtures/nvml/h200-idle.json:/nvml.json:ro", "--env", "SHAREWELL_NVML_LIBRARY=/nvml.so",
                  "--env", "SHAREWELL_FAKE_NVML=/nvml.json"]
        done = self.podman(*words, IMAGE, *[arg.replace("$(NODE)", "gpu-node") for arg in args])
        self.assertEqual(done.returncode, 0, done.stderr)
        node = self.cluster.get("/api/v1/nodes/gpu-node")
        self.assertRegex(node["metadata"]["annotations"][OURS + "gpus"], r"^H200 GPU-\S+$")
        self.assertIn(OURS + "gpu-memory", node["status"]["allocatable"])
        self.assertNotIn("agent-token", done.stdout + done.stderr)

    def test_the_agent_tells_of_its_node_as_the_daemon_set_runs_it(self):
        words, args = self.like("DaemonSet", "agent", network="host")
        port = free_ports(1)
        args = [arg.replace("$(NODE)", "n1").replace("0.0.0.0:10400", f"127.0.0.1:{port}") for arg in args]
        self.start([*words, IMAGE, *args], "agent.log")

        def metrics():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    return answer.read().decode()
            except OSError:
                return ""
        self.cluster.wait_until(lambda: "node_cpu_seconds_total{" in metrics(), lambda: self.said("agent.log") + metrics()[:2000])
        self.assertIn("watching n1 every", self.said("agent.log"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
