#!/usr/bin/env python3
"""What happens between two steps of a placement by `sharewell serve --engine slurm` over a real Slurm: no job is lost, none runs twice, none is left
held."""

import os
import pathlib
import re
import shutil
import socket
import time
import unittest

from cluster import PATIENCE
from engine_test import ServeTest

# Stands before the real scontrol. Of what the engine says on its input it knows the steps of a placement: update (the place is written), check (it is
# read again) and release. A file in the hooks' folder named before.STEP or after.STEP is run once at that point; while there is one named
# hang.STEP, the command of that step does not end.
WRAPPER = """#!/bin/bash
hooks={hooks}
input=$(cat; echo x)
input=${{input%x}}
step=other
case "$*" in
  -o) step=check ;;
  "") case "$input" in *ReqNodeList=*) step=update ;; release*) step=release ;; esac ;;
esac
fire() {{
  mv "$hooks/$1.$step" "$hooks/$1.$step.now" 2>/dev/null || return
  bash "$hooks/$1.$step.now" >>"$hooks/said" 2>&1
  mv "$hooks/$1.$step.now" "$hooks/$1.$step.done"
}}
[ -e "$hooks/hang.$step" ] && echo $$ >>"$hooks/hung" && while [ -e "$hooks/hang.$step" ]; do sleep 0.1; done
fire before
printf %s "$input" | {scontrol} "$@"
code=${{PIPESTATUS[1]}}
fire after
exit $code
"""
# Never ends by itself, and says where it would run twice at once.
ONCE = """exec 9>{folder}/once.$SLURM_JOB_ID
flock -n 9 || echo twice
echo "$SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES"
exec sleep 300"""


class BetweenSteps(ServeTest):
    """Things happen between two steps of a placement, and not a moment earlier or later."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hooks = cls.cluster.folder / "hooks"
        cls.hooks.mkdir()
        wrapper = cls.cluster.folder / "bin" / "scontrol"
        wrapper.parent.mkdir()
        cls.scontrol = shutil.which("scontrol", path=cls.cluster.env["PATH"])
        wrapper.write_text(WRAPPER.format(hooks=cls.hooks, scontrol=cls.scontrol), encoding="utf-8")
        wrapper.chmod(0o755)

    def setUp(self):
        super().setUp()
        for hook in self.hooks.iterdir():
            hook.unlink()

    def serve(self, *args, store=None):
        """Only the server goes through the wrapper."""
        before = self.cluster.env
        self.cluster.env = {**before, "PATH": f"{self.cluster.folder}/bin:{before['PATH']}"}
        try:
            return super().serve(*args, store=store)
        finally:
            self.cluster.env = before

    def hook(self, when, script):
        (self.hooks / f"{when}.new").write_text(script + "\n", encoding="utf-8")
        (self.hooks / f"{when}.new").rename(self.hooks / when)

    def fired(self, when):
        self.cluster.wait_until(lambda: (self.hooks / f"{when}.done").exists(), f"nothing came to {when}\n{self.server.said()}")
        (self.hooks / f"{when}.done").unlink()

    def once(self, *args):
        return self.submit("--gres=gpu:1", *args, script=ONCE.format(folder=self.cluster.folder / "out"))

    def runs_once_where_it_was_put(self, number, patience=PATIENCE):
        """A slurmctld that forgot a place may start a job without it for a moment: the last start counts."""
        def right():
            lines = [line for line in self.cluster.output(number).splitlines() if "gpu=" in line]
            put = self.put(number)
            if not lines or not put or self.cluster.job(number)["JobState"] != "RUNNING":
                return False
            node, _, gpus = lines[-1].partition(" gpu=")
            # Of a slot that it had once, Slurm keeps a shard in the job; which of the two it may see is TaskProlog's, which is not here.
            kept = re.search(r"kept:([\w+]+)", str(self.cluster.job(number).get("AdminComment", "")))
            own, more = put[0][1][0][1:], {slot[1:] for slot in kept[1].split("+")} if kept else set()
            return node == put[0][0] and own in gpus.split(",") and set(gpus.split(",")) <= {own} | more
        try:
            self.cluster.wait_until(right, "", patience)
        except AssertionError as late:
            raise AssertionError(f"job {number} is not where it was put:\n{self.cluster.output(number)}"
                                 f"{self.cluster.scontrol('show', 'job', '-d', number)}{self.server.said()}{self.cluster.said(40)}") from late
        self.assertNotIn("twice", self.cluster.output(number))

    def healthz(self):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(5)  # the loop is not blocked by what Slurm does not answer
            one.connect(str(self.server.socket))
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := one.recv(65536):
                answer += part
        return answer.decode()

    def test_cancelled_between_decision_and_release(self):
        self.serve()
        for when in ("before.update", "after.update", "before.release", "after.release"):
            with self.subTest(when):
                self.hook(when, "set -x; scancel $(squeue -h -o %A)")
                number = self.once()
                self.fired(when)
                self.cluster.wait_job(number, "CANCELLED")
                self.cluster.wait_until(lambda n=number: self.server.job(n)["phase"] == "cancelled", f"the server does not know\n{self.server.said()}", 30)
        # Nothing is kept for them.
        numbers = [self.once() for _ in range(10)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 10, "not all GPUs can be used")
        self.assertEqual(len({(n, s[0]) for number in numbers for n, s in self.put(number)}), 10)

    def test_an_admin_changes_a_job_between_decision_and_release(self):
        self.cluster.scontrol("create", "PartitionName=other", "Nodes=n3", "MaxTime=INFINITE", "State=UP")
        self.addCleanup(self.cluster.scontrol, "delete", "PartitionName=other", check=False)
        self.addCleanup(self.cluster.run, "scancel", "-p", "other")
        self.serve()
        real = f'set -x; job=$(squeue -h -o %A -t PD | head -n1); {self.scontrol} '
        for what in ("update JobId=$job NumCPUs=4", "update JobId=$job ReqNodeList=n4", "update JobId=$job TimeLimit=5", "hold $job"):
            with self.subTest(what):
                self.hook("before.release", real + what)
                number = self.once()
                self.fired("before.release")
                self.cluster.wait_job(number, "RUNNING", patience=90)
                self.told(number)
                self.assertNotIn("twice", self.cluster.output(number))
                self.cluster.run("scancel", number, check=True)
                self.cluster.wait_until(lambda n=number: self.server.job(n)["phase"] in ("cancelled", "failed"), f"{self.server.job(number)}", 30)
        # Taken into another partition it is somebody else's, who may have it as it is. 24.11 now and then refuses that at first ("Resource
        # temporarily unavailable"): the admin says it again.
        self.hook("before.release", "for i in $(seq 100); do " + real + "update JobId=$job Partition=other ReqNodeList= && break; sleep 0.1; done")
        number = self.once()
        self.fired("before.release")
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "cancelled", f"{self.server.job(number)}\n{self.server.said()}", 60)
        self.assertIn("partition", self.server.run("job", str(number)).stdout)
        self.cluster.wait_job(number, "RUNNING")
        self.cluster.run("scancel", number, check=True)

    def test_slurmctld_is_killed_at_each_step_of_a_placement(self):
        self.serve()
        steps = ("before.update", "after.update", "before.release", "after.release")
        numbers = [self.once("--hold") for _ in steps]
        for number in numbers:
            self.cluster.wait_until(lambda n=number: self.server.run("job", str(n)).returncode == 0, "the server does not have it")
        time.sleep(6)  # what is younger than five seconds is lost with slurmctld: Slurm's own limit
        for number, when in zip(numbers, steps):
            with self.subTest(when):
                self.hook(when, f"kill -9 {self.cluster.processes['slurmctld'].pid}")
                self.assertEqual(self.server.run("release", str(number)).returncode, 0)
                self.fired(when)
                self.cluster.kill_controller()  # it is dead: its books are cleaned
                self.cluster.start_controller()
        for number in numbers:
            self.runs_once_where_it_was_put(number, patience=120)
        self.assertEqual(len({(n, s[0]) for number in numbers for n, s in self.put(number)}), 4)

    def test_scontrol_hangs(self):
        self.serve()
        (self.hooks / "hang.update").touch()
        number = self.once()
        self.cluster.wait_until(lambda: (self.hooks / "hung").exists(), "nothing was placed")
        hung = int((self.hooks / "hung").read_text(encoding="utf-8").split()[0])
        self.assertIn("200", self.healthz().splitlines()[0], "it answers while Slurm does not")
        self.cluster.wait_until(lambda: "503" in self.healthz().splitlines()[0], "it is not said")
        self.assertIn("scontrol did not answer within 20 s and was stopped", self.healthz())
        self.assertFalse(pathlib.Path(f"/proc/{hung}").exists())
        (self.hooks / "hang.update").unlink()
        self.runs_once_where_it_was_put(number)
        self.cluster.wait_until(lambda: "200" in self.healthz().splitlines()[0], self.healthz())


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
