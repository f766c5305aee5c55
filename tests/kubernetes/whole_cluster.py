"""A whole Kubernetes on this machine: what cluster.py starts, with the authorizers and admission plugins of a real cluster, its controllers and scheduler,
and nodes that are real kubelets with containerd. Pods are containers; of a GPU there is a recording of what NVML said.

    with WholeCluster() as cluster:
        cluster.add_kubelet("n1")
        print(cluster.kubectl("get", "nodes"))

It lives in a network of its own, where 10.0.0.1 is the service `kubernetes`, so that several may run at once, and no kube-proxy is needed. Each node
has process and mount namespaces of its own (node.sh). All of it ends with the test, killed or not; control groups that a killed one leaves are removed by
the next. Needs root with CAP_SYS_ADMIN, as in a container with --privileged. Where that is absent it raises AssertionError, which says so.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import yaml
from cluster import PATIENCE, REPOSITORY, USERS, Cluster, die_with_parent
from images import write_images

GROUPS = pathlib.Path("/sys/fs/cgroup")
OURS = "sharewell-test-"  # groups: with the test's process and the node's name behind it
NODES = ("n1", "n2")
API_PORT, ADDRESS = 443, "10.88.0.1"
NETWORK = f"""
set -e
ip link set lo up
ip address add 10.0.0.1/32 dev lo
ip link add nodes type bridge
ip address add {ADDRESS}/24 dev nodes
ip link set nodes up
echo made
exec sleep infinity
"""
CLONE_NEWNET = 0x40000000


class WholeCluster(Cluster):
    """`sharewell`: the program whose image pods may run, with libfake_nvml.so beside it; n1 and n2 have recordings of one GPU each (/nvml/NODE.json)."""

    def __init__(self, sharewell):
        self.check_programs()
        super().__init__(real=True)
        self.sharewell = pathlib.Path(sharewell).resolve()
        self.port = self.ports = API_PORT
        self.holder, self.nodes = None, {}
        people = [("controllers", "system:kube-controller-manager", []), ("kube-scheduler", "system:kube-scheduler", [])]
        people += [(node, f"system:node:{node}", ["system:nodes"]) for node in NODES]
        self.write_tokens({**USERS, **{name: (f"{name}-token", user, groups) for name, user, groups in people}})

    @staticmethod
    def check_programs():
        absent = [name for name in ("containerd", "ctr", "runc", "etcd", "ip", "nsenter", "busybox") if not shutil.which(name)]
        assert not absent and pathlib.Path("/usr/lib/cni/bridge").exists(), f"for a node are not installed: {absent or 'container networking plugins'}; run tools/setup"
        tried = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
        assert os.geteuid() == 0 and tried.returncode == 0, \
            f"a cluster with real kubelets needs root with CAP_SYS_ADMIN, as a container has it with --privileged: {tried.stderr or 'this is not root'}"

    # ---- start and end

    def start(self):
        try:
            remove_groups_of_the_dead()
            image = re.search(r"image: (\S+)", (REPOSITORY / "deploy/kubernetes/base/scheduler.yaml").read_text(encoding="utf-8")).group(1)
            write_images(self.folder / "images", self.programs, image, self.sharewell, self.recordings())
            self.make_network()
            self.start_etcd()
            self.start_server()
            for name, words, user in (("kube-controller-manager", self.controllers(), "controllers"), ("kube-scheduler", [], "kube-scheduler")):
                self._run(name, [self.programs / name, f"--kubeconfig={self.kubeconfig(user)}", "--leader-elect=false",
                                 f"--cert-dir={self.folder}/{name}-certs", "--v=0", *words])
        except BaseException:
            self.stop()
            raise
        return self

    def recordings(self):
        """Of an idle H200 each, with a uuid by its node."""
        recording = (REPOSITORY / "tests/fixtures/nvml/h200-idle.json").read_text(encoding="utf-8")
        files = {"nvml.so": self.sharewell.with_name("libfake_nvml.so")}
        for node in NODES:
            files[f"nvml/{node}.json"] = recording.replace("GPU-00000000-0000-0000-0000-000000000000", f"GPU-{node}-0").encode()
        return files

    def make_network(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", NETWORK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                       preexec_fn=die_with_parent)
        assert self.holder.stdout.readline() == "made\n", "no network of its own; the error stands above"
        self.inside = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]  # not `ip netns exec`, which hides /sys/fs/cgroup

    def server_flags(self):
        usual = ("--bind-address", "--advertise-address", "--authorization-mode", "--disable-admission-plugins", "--endpoint-reconciler-type")
        return [flag for flag in super().server_flags() if not flag.startswith(usual)] + [
            "--bind-address=0.0.0.0", f"--advertise-address={ADDRESS}", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={self.folder}/admin.crt", f"--kubelet-client-key={self.folder}/admin.key",
            "--kubelet-preferred-address-types=InternalIP"]

    def controllers(self):
        return [f"--service-account-private-key-file={self.folder}/sa.key", f"--root-ca-file={self.ca}", "--use-service-account-credentials",
                "--node-monitor-grace-period=40s"]

    def stop(self):
        for name, node in self.nodes.items():
            node.kill()  # with it its init, and so every process of the node
            node.wait()
            remove_groups(group_of(os.getpid(), name))
        self.nodes = {}
        for name in list(self.processes):
            self._end(name, signal.SIGKILL)
        if self.holder:
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
        super().stop()

    # ---- nodes

    def add_kubelet(self, name):
        """A node of NODES; it is not ready yet."""
        folder = self.folder / name
        folder.mkdir()
        group = group_of(os.getpid(), name)
        make_groups(group)
        shutil.copy(self.kubeconfig(name), folder / "kubeconfig")
        (folder / "cni").mkdir()
        (folder / "cni" / "10-pods.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "pods", "isGateway": True, "ipam": {
                "type": "host-local", "dataDir": f"{self.folder}/addresses", "ranges": [[{"subnet": "10.99.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}),
            encoding="utf-8")
        (folder / "containerd.toml").write_text(containerd_settings(folder), encoding="utf-8")
        (folder / "kubelet.yaml").write_text(yaml.safe_dump(self.kubelet_settings(10250 + 10 * NODES.index(name), group)), encoding="utf-8")
        log = open(self.folder / f"{name}-node.log", "ab")  # noqa: SIM115 (the process has it)
        self.nodes[name] = subprocess.Popen([*self.inside, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash",
                                             REPOSITORY / "tests/kubernetes/node.sh", name, folder, self.programs],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        log.close()

    def kubelet_settings(self, port, group):
        return {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": ADDRESS, "port": port, "healthzPort": 0,
                "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{group}", "failSwapOn": False, "makeIPTablesUtilChains": False, "resolvConf": "",
                "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": str(self.ca)}},
                "authorization": {"mode": "Webhook"}, "nodeStatusUpdateFrequency": "5s",
                # Of this machine's disk and memory others use what they like.
                "evictionHard": {"memory.available": "50Mi"}, "imageGCHighThresholdPercent": 100}

    def wait_node(self, name):
        def ready():
            assert self.nodes[name].poll() is None, f"node {name} ended\n{self.said()}"
            status, node = self.request("GET", f"/api/v1/nodes/{name}")
            return status == 200 and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
        self.wait_until(ready, f"node {name} does not get ready", 120)

    def volume(self, pod, name):
        """Where an emptyDir of a pod lies on this machine."""
        return self.folder / pod["spec"]["nodeName"] / "lib/kubelet/pods" / pod["metadata"]["uid"] / "volumes/kubernetes.io~empty-dir" / name

    # ---- requests

    @contextlib.contextmanager
    def network(self):
        """What this thread connects to is the cluster's."""
        def enter(opened):
            if ctypes.CDLL(None, use_errno=True).setns(opened.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        with open("/proc/thread-self/ns/net", encoding="ascii") as before, open(f"/proc/{self.holder.pid}/ns/net", encoding="ascii") as its:
            enter(its)
            try:
                yield
            finally:
                enter(before)

    def request(self, *args, **how):
        with self.network():
            return super().request(*args, **how)

    def admin(self):
        """The environment of who uses kubectl, with a home of its own, as that is where it keeps what it learns."""
        return {**os.environ, "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig("admin"))}

    def kubectl(self, *words, stdin=None, check=True, patience=PATIENCE):
        """What it prints; `check`: it must succeed, else what it says of an error is there too."""
        done = subprocess.run([*self.inside, self.programs / "kubectl", *words], env=self.admin(), input=stdin or "", capture_output=True, text=True,
                              timeout=patience, check=False)
        assert done.returncode == 0 or not check, f"kubectl {words}: {done.stdout}{done.stderr}\n{self.said()}"
        return done.stdout if check else done.stdout + done.stderr


def containerd_settings(folder):
    return f"""
version = 2
root = "{folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.6"
  # A container of ours may not lower these, and so neither may what it starts.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"  # copies: in a container an overlay may lie on no other
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
"""


# ---- control groups: v2, or the hierarchies of v1

def hierarchies():
    if (GROUPS / "cgroup.controllers").exists():
        return [GROUPS]
    return sorted({folder.resolve() for folder in GROUPS.iterdir() if (folder / "cgroup.procs").exists()})


def group_of(pid, node):
    return f"{OURS}{pid}-{node}"


def make_groups(name):
    for top in hierarchies():
        if top == GROUPS:
            give_controllers(top)
        (top / name).mkdir()
        for file in ("cpuset.cpus", "cpuset.mems"):  # with v1 a new group has none
            if top != GROUPS and (top / file).exists():
                (top / name / file).write_text((top / file).read_text(encoding="ascii"), encoding="ascii")


def give_controllers(top):
    """To the groups below the top of v2; in a container processes stand in its way, which go into a group of their own."""
    wanted = " ".join("+" + name for name in (top / "cgroup.controllers").read_text(encoding="ascii").split())
    try:
        (top / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    except OSError:
        (top / "init").mkdir(exist_ok=True)
        for pid in (top / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):  # it ended
                (top / "init/cgroup.procs").write_text(pid, encoding="ascii")
        (top / "cgroup.subtree_control").write_text(wanted, encoding="ascii")


def remove_groups(name):
    """With those inside, deepest first. Processes that were killed leave theirs a moment later."""
    end = time.monotonic() + 10
    while left := [top / name for top in hierarchies() if (top / name).exists()]:
        for group in left:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        if time.monotonic() > end:
            break
        time.sleep(0.05)


def remove_groups_of_the_dead():
    for name in {folder.name for top in hierarchies() for folder in top.glob(OURS + "*")}:
        if not pathlib.Path(f"/proc/{name.removeprefix(OURS).split('-')[0]}").exists():
            remove_groups(name)
