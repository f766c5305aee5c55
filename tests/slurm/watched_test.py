#!/usr/bin/env python3
"""Jobs of a real Slurm that are watched from inside: an unmodified PyTorch script counts its steps and tells one of them, the agent on its node
hands both on, and the server knows the next submission of the script. With the PyTorch of Debian."""

import os
import shutil
import unittest

from guard_test import Agent
from engine_test import ServeTest, USER

TRAIN = """\
import os, time, torch
from torch import nn
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(512, 64), torch.randint(10, (512,))), batch_size=32)
while not os.path.exists("enough"):
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        time.sleep(0.05)
"""
SAY = 'echo "pipe=${SHAREWELL_WATCH_PIPE-none} path=${PYTHONPATH-none} end"'


class Watched(ServeTest):
    OPTIONS = {"scripts": True, "nodes": {"n1": ("V100", 2)}}

    def setUp(self):
        super().setUp()
        self.steps = self.cluster.folder / "steps"
        self.steps.mkdir(mode=0o755, exist_ok=True)  # as a package does it
        self.out = self.cluster.folder / "out"
        (self.out / "train.py").write_text(TRAIN, encoding="ascii")
        # A job counts and tells without a word from its author, so there is none in it.
        (self.out / "train.sh").write_text("#!/bin/bash\nexport OMP_NUM_THREADS=1\nexec /usr/bin/python3 train.py\n", encoding="ascii")
        (self.out / "enough").unlink(missing_ok=True)
        self.serve()
        agent = Agent(self.cluster, "n1", "--steps-folder", str(self.steps))
        self.addCleanup(agent.end)
        self.watcher = self.steps / "watcher"

    def train(self, *args):
        done = self.cluster.run("sbatch", "--parsable", "--gres=gpu:1", "-o", f"{self.out}/%j.out", *args, "train.sh", user=USER, check=True)
        return int(done.stdout.strip())

    def wait_for(self, number, holds, what):
        """The job once that holds; at first the server does not know it."""
        def knows_it():
            return self.server.run("job", str(number), "--json").returncode == 0
        try:
            self.cluster.wait_until(knows_it, "")
            self.cluster.wait_until(lambda: holds(self.server.job(number)), "")
        except AssertionError as late:
            raise AssertionError(f"{what}: {self.server.run('job', str(number)).stdout}\n{self.cluster.output(number)}\n{self.server.said()}") from late
        return self.server.job(number)

    def enough(self, *numbers):
        (self.out / "enough").touch()
        for number in numbers:
            self.cluster.wait_job(number, "OVER")

    def test_a_script_tells_its_steps_and_is_known_when_it_is_submitted_again(self):
        first = self.train()
        self.wait_for(first, lambda job: job["needs"]["source"] == "assumed", "nothing is known of it yet")
        job = self.wait_for(first, lambda job: job["told"] and job["steps_per_second"], "it told nothing")
        self.assertEqual((job["told"]["batch"], job["told"]["optimizer"], job["told"]["modules"], job["steps_by"]), (32, "SGD", "Sequential", "watcher"))
        self.assertEqual(job["needs"]["source"], "predicted")
        page = self.server.run("job", str(first)).stdout
        self.assertIn("counted by the watcher inside of it", page)
        self.assertRegex(page, r"steps/s +[\d.]+ +\d")
        self.assertIn("it has told that it trains Sequential", self.server.run("why", str(first)).stdout.replace("\n  ", " "))
        # Known before it has run a step, and for sure when it has told its own.
        second = self.train()
        job = self.wait_for(second, lambda job: job["needs"]["source"] == "predicted", "it is not known")
        self.assertIn("the last run of the same script", job["needs"]["from"])
        told = self.wait_for(second, lambda job: job["told"], "it told nothing")["told"]
        self.assertEqual(told["fingerprint"], self.server.job(first)["told"]["fingerprint"])
        self.wait_for(second, lambda job: "same script" not in job["needs"]["from"], "its own step is not believed")
        self.assertEqual({place.name for place in self.steps.glob("*.watch")}, {f"{first}.watch", f"{second}.watch"})
        self.enough(first, second)
        self.assertEqual(self.cluster.output(first), "")
        self.cluster.wait_until(lambda: not list(self.steps.glob("*.watch")), "the epilog left files")

    def test_a_third_of_which_nothing_is_known_joins_one_that_has_told_its_step(self):
        """Slurm cannot take shards from a job that runs: what has all of them nobody could ever join."""
        numbers = [self.train(f"--job-name=of-{i}") for i in range(3)]
        self.cluster.wait_job(numbers[2], "RUNNING")
        note = self.cluster.job(numbers[2])["AdminComment"]
        self.assertRegex(note, r"shards:25,sm:\d+,cores:\d+,mem:\d+,guest")
        self.assertEqual([self.cluster.job(number)["JobState"] for number in numbers], ["RUNNING"] * 3)
        for number in numbers[:2]:
            self.assertIn("shards:50,sm:100", self.cluster.job(number)["AdminComment"])
        self.enough(*numbers)

    def test_what_a_job_has_in_its_environment(self):
        """It keeps its own PYTHONPATH, tasks beside the first are not watched, and SHAREWELL_WATCH=0 is respected."""
        env = {"PYTHONPATH": "/mine:/too"}
        submit = ["sbatch", "--parsable", "--gres=gpu:1", "-n2", "-o", f"{self.out}/%j.out"]
        script = f"#!/bin/bash\n{SAY}\nsrun -l bash -c '{SAY}'\n"
        number = int(self.cluster.run(*submit, stdin=script, env=env, user=USER, check=True).stdout)
        own = f"pipe={self.steps}/{number}.watch path={self.watcher}:/mine:/too end"
        self.cluster.wait_job(number, "COMPLETED")
        *tasks, batch = sorted(self.cluster.output(number).splitlines())
        self.assertEqual(batch, own)
        self.assertEqual(tasks, [f"0: {own}", f"1: pipe=none path={self.watcher}:/mine:/too end"])
        off = int(self.cluster.run(*submit, stdin=f"#!/bin/bash\n{SAY}\n", env={"SHAREWELL_WATCH": "0"}, user=USER, check=True).stdout)
        self.cluster.wait_job(off, "COMPLETED")
        self.assertEqual(self.cluster.output(off), "pipe=none path=none end\n")
        # An agent that is not root puts no watcher there: then it is the package's.
        packaged = shutil.move(self.watcher, self.cluster.folder / "packaged")
        with open(self.cluster.folder / "etc/sharewell-slurm.conf", "a", encoding="utf-8") as settings:
            settings.write(f"PACKAGED_WATCHER={packaged}\n")
        number = int(self.cluster.run(*submit, stdin=f"#!/bin/bash\n{SAY}\n", user=USER, check=True).stdout)
        self.cluster.wait_job(number, "COMPLETED")
        self.assertEqual(self.cluster.output(number), f"pipe={self.steps}/{number}.watch path={packaged} end\n")

    def test_s14_no_task_asks_slurmctld(self):
        """What the note says is asked for once a job and node. Thousands of tasks would be thousands of calls, of other partitions too."""
        folder = self.cluster.folder / "counting"
        folder.mkdir()
        (folder / "squeue").write_text(f'#!/bin/bash\necho "$@" >>{folder}/calls\nexec {shutil.which("squeue")} "$@"\n', encoding="utf-8")
        (folder / "squeue").chmod(0o755)
        (folder / "calls").touch()
        (folder / "calls").chmod(0o666)
        folder.chmod(0o755)
        settings = self.cluster.folder / "etc/sharewell-slurm.conf"
        before = settings.read_text(encoding="utf-8")
        self.addCleanup(settings.write_text, before, encoding="utf-8")
        settings.write_text(f"{before}export PATH={folder}:$PATH\n", encoding="utf-8")
        number = self.submit("--gres=gpu:1", "-n4", script="srun -n4 bash -c 'echo gpu=$CUDA_VISIBLE_DEVICES'; srun -n4 true")
        plain = self.submit("-n4", script="srun -n4 true")
        self.cluster.wait_job(number, "COMPLETED")
        self.cluster.wait_job(plain, "COMPLETED")
        self.assertEqual(self.cluster.output(number), "gpu=0\n" * 4)
        calls = [line for line in (folder / "calls").read_text(encoding="utf-8").splitlines() if "admin_comment" in line]
        self.assertEqual(len(calls), 2, calls)
        self.cluster.wait_until(lambda: not list((self.cluster.folder / "mps/places").iterdir()), "the epilog left a file")

    def test_nonsense_is_said_and_costs_nothing(self):
        number = self.submit("--gres=gpu:1", script='printf "+2\\ngarbage\\n+x\\ndoc 1 0 1 {\\"sharewell_step\\":\\"many\\"}\\n" >> $SHAREWELL_WATCH_PIPE\n'
                             'head -c 4000000 /dev/urandom | tr -d "\\n" >> $SHAREWELL_WATCH_PIPE; printf "\\n+3\\n" >> $SHAREWELL_WATCH_PIPE; sleep 300')
        job = self.wait_for(number, lambda job: "cannot be used" in (job["note"] or ""), "it is not heard")
        self.assertIsNone(job["told"])
        self.assertEqual(job["needs"]["source"], "assumed")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
