#!/usr/bin/env python3
"""Steps of jobs that `sharewell serve --engine slurm` placed, over a real Slurm: srun in a script however its GPUs were asked for, and salloc."""

import os
import unittest

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


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
