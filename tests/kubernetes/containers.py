"""Plays the containers of a cluster's pods (cluster.py): a real process for each pod that runs, in a control group as a kubelet makes it, with the
volume for its steps where a kubelet puts it. The process is a training loop without a GPU: so many steps a second alone on its GPU, and so many beside
another, as the pod's annotations test.sharewell.io/alone and /beside say; in a pod with sharewell.io/watch it is its container's own command, with its
environment and its volumes. Needs root and control groups that can be made."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

from cluster import die_with_parent

GROUPS = pathlib.Path("/sys/fs/cgroup")
TRAIN = """
import os, sys, time
steps_file, gpu, alone, beside = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
done, before = 0.0, time.monotonic()
while True:
    time.sleep(0.2)
    now = time.monotonic()
    done += (now - before) * (beside if len(os.listdir(gpu)) > 1 else alone)
    before = now
    with open(steps_file, "a", encoding="utf-8") as told:
        told.write(f"{int(done)}\\n")
"""


def hierarchies():
    """Where groups for a process can be made here: one folder with v2, several with v1; none."""
    found = [GROUPS] if (GROUPS / "cgroup.controllers").exists() else [GROUPS / name for name in ("cpuacct", "memory")]
    return [folder for folder in found if os.access(folder, os.W_OK) and folder.is_dir()] if os.geteuid() == 0 else []


def enter(groups):
    """In a child: into these groups."""
    die_with_parent()
    for group in groups:
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def remove(groups):
    tops = hierarchies()
    for group in groups:
        while group not in tops:
            try:
                group.rmdir()
            except OSError:  # others are in it
                break
            group = group.parent


class Containers:
    """`systemd`: control groups are named as with the kubelet's systemd driver."""

    def __init__(self, cluster, systemd=False):
        self.cluster, self.systemd = cluster, systemd
        self.kubelet = cluster.folder / "kubelet"
        (self.kubelet / "pods").mkdir(parents=True, exist_ok=True)
        self.running, self.lock = {}, threading.Lock()  # by uid: (process, groups, file on its GPU)
        cluster.playing.seen = self._seen

    def stop(self):
        self.cluster.playing.seen = lambda kind, pods: None
        for uid in list(self.running):
            self._end(uid)

    def pid(self, pod):
        return self.running[pod["metadata"]["uid"]][0].pid

    def _seen(self, kind, pods):
        for pod in pods:
            uid = pod["metadata"]["uid"]
            runs = pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp") and kind != "DELETED"
            with self.lock:
                if runs and uid not in self.running:
                    self._start(pod)
                elif not runs and uid in self.running:
                    self._end(uid)

    def make_groups(self, uid):
        groups = [folder / self._group(uid) for folder in hierarchies()]
        for group in groups:
            group.mkdir(parents=True, exist_ok=True)
        return groups

    def _group(self, uid):
        if self.systemd:
            return f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope"
        return f"kubepods/burstable/pod{uid}/{'a' * 64}"

    def _start(self, pod):
        uid, notes = pod["metadata"]["uid"], pod["metadata"]["annotations"]
        volume = self.kubelet / "pods" / uid / "volumes/kubernetes.io~empty-dir/sharewell-steps"
        gpu = self.cluster.folder / "gpus" / notes["sharewell.io/gpu-ids"].split(",")[0]
        for folder in (volume, gpu):
            folder.mkdir(parents=True, exist_ok=True)
        (gpu / uid).touch()
        groups = self.make_groups(uid)
        command = [sys.executable, "-c", TRAIN, volume / "steps", gpu, notes.get("test.sharewell.io/alone", "20"), notes.get("test.sharewell.io/beside", "20")]
        env = None
        if "sharewell.io/watch" in notes:
            command, env = self._own_command(pod, volume)
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, preexec_fn=lambda: enter(groups))
        self.running[uid] = (process, groups, gpu / uid)

    def _own_command(self, pod, steps):
        """Of its container, with the folders of its volumes in the place of where they would be mounted."""
        (container,), uid = pod["spec"]["containers"], pod["metadata"]["uid"]
        folder = self.kubelet / "pods" / uid / "volumes/kubernetes.io~configmap/sharewell-watcher"
        (volume,) = [one["configMap"] for one in pod["spec"]["volumes"] if one["name"] == "sharewell-watcher"]
        data = self.cluster.get(f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{volume['name']}")["data"]
        for item in volume["items"]:
            (folder / item["path"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / item["path"]).write_text(data[item["key"]], encoding="utf-8")
        places = {"sharewell-steps": steps, "sharewell-watcher": folder}
        env = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
        for mount in container["volumeMounts"]:
            env = {name: value.replace(mount["mountPath"], str(places[mount["name"]])) for name, value in env.items()}
        return container["command"], env

    def _end(self, uid):
        process, groups, on_gpu = self.running.pop(uid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        on_gpu.unlink()
        shutil.rmtree(self.kubelet / "pods" / uid, ignore_errors=True)
        remove(groups)
