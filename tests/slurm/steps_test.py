#!/usr/bin/env python3
"""Steps of jobs that `sharewell serve --engine slurm` placed, over a real Slurm: srun in a script however its GPUs were asked for, and salloc."""

import os
import shutil
import unittest

from cluster import SITE, Cluster
from engine_test import ServeTest, USER

STEP = 'srun bash -c "echo step gpu=\\$CUDA_VISIBLE_DEVICES cpus=\\$SLURM_CPUS_ON_NODE"; echo "srun $?"'


class Steps(ServeTest):
    OPTIONS = {"scripts": True}

    def test_srun_in_a_script_has_the_gpus_of_its_job(self):
        """Slurm's own variables of what was asked for would make srun ask for GPUs, where the job has shards."""
        self.serve()
        ways = {"--gres=gpu:1": 1, "--gpus=1": 1, "--gpus-per-node=1": 1, "--gpus-per-task=1 -n1 -c2": 1, "--gpus=2": 2}
        numbers = {way: self.submit(*way.split(" "), script=STEP) for way in ways}
        for way, gpus in ways.items():
            said = self.told(numbers[way], "srun ")
            self.assertIn("srun 0", said, way)
            self.assertRegex(said, r"step gpu=\d" + r",\d" * (gpus - 1) + " ", way)
            self.assertEqual(self.cluster.wait_job(numbers[way], "OVER")["JobState"], "COMPLETED", way)

    def test_salloc_waits_for_its_place_and_its_steps_run_there(self):
        self.serve()
        done = self.cluster.run("salloc", "--gres=gpu:1", "srun", "bash", "-c", "echo $SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES", user=USER, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^n\d gpu=\d\n$")


class StepsThatAsk(ServeTest):
    """With cli_filter.lua on every host, steps may ask for the GPUs of their job."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(scripts=True, site="CliFilterPlugins=lua")
        cls.addClassCleanup(cls.cluster.stop)
        folder = cls.cluster.folder / "etc"
        shutil.copy(SITE / "cli_filter.lua", folder)
        plugin = (folder / "job_submit.lua").read_text(encoding="utf-8")
        (folder / "job_submit.lua").write_text(plugin.replace("local CLI_FILTER = false", "local CLI_FILTER = true"), encoding="utf-8")
        cls.cluster.start()

    def test_s6_srun_gres_inside_salloc(self):
        self.serve()
        for asks in ("--gres=gpu:1", "--gres=gpu", "--gpus=1", "--gpus-per-node=1"):
            done = self.cluster.run("salloc", "--gres=gpu:1", "srun", asks, "bash", "-c", "echo $SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES", user=USER, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"^n\d gpu=\d\n$", asks)

    def test_s6_steps_of_a_script_have_a_gpu_each(self):
        self.serve()
        step = "srun -n1 --exact --mem=100 --gres=gpu:1 bash -c 'echo one=$CUDA_VISIBLE_DEVICES; sleep 3'"
        number = self.submit("--gres=gpu:2", "-n2", "--mem=500", script=f"{step} &\n{step} &\nwait\nsrun -n1 --gres=gpu:2 bash -c 'echo both=$CUDA_VISIBLE_DEVICES'")
        said = self.told(number, "both=", 40)
        self.assertEqual(len(self.put(number)), 1)
        self.assertEqual(len({line for line in said.splitlines() if line.startswith("one=")}), 2, said)
        self.assertRegex(said, r"both=\d,\d")
        refused = self.submit("--gres=gpu:1", script="srun --gres=gpu:2 true; echo $?")
        self.assertIn("Unable to create step", self.told(refused, "1\n", 40))  # more than the job has


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
