#!/usr/bin/env python3
"""One node of a real Slurm with a real GPU, Sharewell as it is shipped (plugin, prologs, agent, server), and two users with ordinary scripts:

    sudo SHAREWELL=build/release/sharewell tools/lab/slurm_node.py OUT.json --device /dev/nvidia0 [--users ann,ben]

1. The first user's script runs: nothing is known of it until its watcher tells a step.
2. The second user's comes beside it. What their environment says, how many SMs they see, their pace.
3. A program beside them takes GPU memory until it is refused: its limit holds.
4. A large network that is said to be a small one comes beside them, and is evicted.
5. Both scripts again: they are known, and start at once.

Needs root, Slurm and munge. Without --device it runs on made-up GPUs, to rehearse it: nothing is shared then. About five minutes.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests" / "slurm"), str(REPOSITORY / "tests" / "cli")]
from cluster import Cluster, as_user  # noqa: E402
from engine_test import Server  # noqa: E402
from guard_test import Agent  # noqa: E402

ENVIRONMENT = r"""
env | grep -E '^(CUDA_|SHAREWELL_|PYTHONPATH|SLURM_SHARDS|SLURM_JOB_ID)' | sort
"""
SEES = """
import torch
if torch.cuda.is_available():
    here = torch.cuda.get_device_properties(0)
    print("sees", here.name, here.multi_processor_count, "SMs", flush=True)
"""
HOG = """
import torch
print(f"limit {torch.cuda.mem_get_info()[1]}", flush=True)
kept = []
try:
    while len(kept) < 64:
        kept.append(torch.zeros(1 << 28, device="cuda"))  # 1 GiB
        torch.cuda.synchronize()
        print(f"has {len(kept)} GiB", flush=True)
except torch.OutOfMemoryError as full:
    print("refused:", str(full).splitlines()[0], flush=True)
"""


class OneGpu(Cluster):
    device = None

    def _devices(self):
        return pathlib.Path(self.device[:-1]) if self.device else super()._devices()

    def start_node(self, name):
        # Slurm asks systemd for a control group, which a container has not got; nothing here needs one.
        if self.device:
            (self.folder / "etc/cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")
        super().start_node(name)
        time.sleep(1)
        if self.device and self.processes[name].poll() is not None:
            (self.folder / "etc/cgroup.conf").write_text("CgroupPlugin=autodetect\nIgnoreSystemd=yes\n", encoding="utf-8")
            super().start_node(name)


class Sitting:
    def __init__(self, args):
        self.args, self.began, self.found = args, time.time(), {"steps": [], "jobs": {}}
        self.small = REPOSITORY / "fuzz/corpus/onnx/enc_256x2.onnx"

    def note(self, what, **more):
        entry = {"seconds": round(time.time() - self.began, 1), "what": what, **more}
        self.found["steps"].append(entry)
        print(json.dumps(entry), flush=True)

    def script(self, name, command, before=""):
        place = self.out / name
        place.write_text(f"#!/bin/bash\nexport OMP_NUM_THREADS=4\n{ENVIRONMENT}\n{before}\nexec {command}\n", encoding="utf-8")
        return place

    def submit(self, user, script, comment=None):
        words = ["sbatch", "--parsable", "--gres=gpu:1", "-c4", "-o", f"{self.out}/%j.out", *([f"--comment={comment}"] if comment else [])]
        number = int(self.cluster.run(*words, script, user=user, check=True).stdout)
        self.note("submitted", job=number, user=user, script=script.name, comment=comment)
        return number

    def job(self, number):
        done = self.server.run("job", str(number), "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait(self, number, holds, what, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            job = self.job(number)
            if job and holds(job):
                self.note(what, job=number)
                return True
            if self.over(number):
                break
            time.sleep(0.5)
        self.note(f"NOT: {what}", job=number, state=self.cluster.job(number).get("JobState"), why=self.server.run("why", str(number)).stdout)
        return False

    def over(self, number):
        return self.cluster.job(number, check=False).get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

    def wait_over(self, number, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end and not self.over(number):
            time.sleep(0.5)
        self.note("ended", job=number, state=self.cluster.job(number).get("JobState"))

    def look(self, what, *numbers):
        gpu = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False).stdout if self.args.device else ""
        pages = {number: {"json": self.job(number), "why": self.server.run("why", str(number)).stdout,
                          "slurm": {k: v for k, v in self.cluster.job(number).items() if k in ("JobState", "AdminComment", "TresPerNode", "NodeList", "NumCPUs", "UserId")}}
                 for number in numbers}
        self.found["jobs"].setdefault(what, {}).update(pages)
        told = self.server.run("jobs").stdout
        self.note(what, jobs=told, gpu=gpu.splitlines()[-12:], paces={n: p["json"].get("steps_per_second") for n, p in pages.items()},
                  slowdowns={n: p["json"].get("slowdown") for n, p in pages.items()},
                  put={n: (re.search(r"put=\S+", p["slurm"].get("AdminComment", "")) or [None])[0] for n, p in pages.items()})

    def run(self):
        ann, ben = self.args.users.split(",")
        scripts = self.out / "scripts"
        shutil.copytree(REPOSITORY / "tools/lab/scripts", scripts)
        (scripts / "sees.py").write_text(SEES, encoding="utf-8")
        (scripts / "hog.py").write_text(HOG, encoding="utf-8")
        python = self.args.python
        sees = f"{python} {scripts}/sees.py"
        text = self.script("text.sh", f"{python} {scripts}/lstm.py --hidden 256 --layers 2 --batch 32 --steps $(cat {self.out}/steps)", sees)
        table = self.script("table.sh", f"{python} {scripts}/tabular.py --hidden 1024 --layers 4 --batch 1024 --workers 0 --lr 0.001 --steps $(cat {self.out}/steps)0", sees)
        # 1. Nothing is known.
        (self.out / "steps").write_text("30000", encoding="ascii")
        first = self.submit(ann, text)
        self.wait(first, lambda job: job.get("told"), "its watcher has told a step", 60)
        self.wait(first, lambda job: job.get("slowdown"), "its pace alone is known", 40)
        self.look("alone", first)
        # 2. Another one comes.
        second = self.submit(ben, table)
        self.wait(second, lambda job: job.get("told") and job.get("steps_per_second"), "it shares, and has told a step", 60)
        time.sleep(12)
        self.look("sharing", first, second)
        # 3. Memory.
        hog = self.submit(ben, self.script("hog.sh", f"{python} {scripts}/hog.py"), comment=f"sharewell model={self.small} batch=2 gpu_memory=4GB")
        self.wait_over(hog, 60)
        self.look("memory", hog)
        # 4. A network is said to be a smaller one.
        big = self.script("big.sh", f"{python} {scripts}/classifier.py --arch resnet50 --batch 256 --workers 3 --lr 0.1 --steps 100000", sees)
        liar = self.submit(ben, big, comment=f"sharewell model={self.small} batch=2 sm_share=100")
        self.wait(liar, lambda job: job["phase"] == "running", "it runs beside them", 40)
        self.wait(liar, lambda job: (job.get("evicted") or 0) > 0, "it was evicted", 100)
        self.look("evicted", liar, first, second)
        self.cluster.run("scancel", first, second, liar)
        for number in (first, second, liar):
            self.wait_over(number, 20)
        # 5. Both scripts again.
        (self.out / "steps").write_text("900", encoding="ascii")
        again = [self.submit(ann, text), self.submit(ben, table)]
        self.wait(again[1], lambda job: job["phase"] == "running", "both run at once", 30)
        self.look("again", *again)
        for number in again:
            self.wait_over(number, 40)
        self.found["outputs"] = {place.name: place.read_text(encoding="utf-8", errors="replace")[-6000:] for place in sorted(self.out.glob("*.out"))}

    def all(self):
        OneGpu.device = self.args.device
        nodes = {"n1": ("H200" if self.args.device else "V100", 1)}
        with OneGpu(nodes=nodes, scripts=True, cores=16, memory_mb=64000) as self.cluster:
            self.out = self.cluster.folder / "out"
            (self.cluster.folder / "steps").mkdir(mode=0o755, exist_ok=True)
            self.server = Server(self.cluster)
            agent = Agent(self.cluster, "n1", "--steps-folder", str(self.cluster.folder / "steps"))
            try:
                self.note("ready")
                self.run()
            finally:
                self.found |= {"server": self.server.said()[-8000:], "agent": agent.said()[-4000:],
                               "events": self.server.run("events", "--json").stdout[-60000:], "slurm": self.cluster.said(40)[-20000:],
                               "mps": {str(place.relative_to(self.cluster.folder)): place.read_text(errors="replace")[-3000:]
                                       for place in (self.cluster.folder / "mps").rglob("*.log") if place.is_file()}}
                pathlib.Path(self.args.out).write_text(json.dumps(self.found, indent=1), encoding="utf-8")
                agent.end()
                self.server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--device", help="the GPU's file, whose name ends in its number")
    parser.add_argument("--users", default="daemon,nobody")
    parser.add_argument("--python", default=shutil.which("python3"))
    args = parser.parse_args()
    for user in args.users.split(","):
        as_user(user)
    Sitting(args).all()


if __name__ == "__main__":
    main()
