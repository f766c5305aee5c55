#!/usr/bin/env python3
"""Faults while `sharewell serve --engine slurm` places jobs of a real Slurm: no job is lost, none runs twice, none is left held."""

import os
import random
import signal
import time
import unittest

from engine_test import ServeTest, Server, USER

SMALL = "--comment=sharewell exclusive gpu_memory=4GB"


class Faults(ServeTest):
    def begin(self, count):
        """Tiny jobs that each write one line; gives their numbers."""
        self.ran = self.cluster.folder / "out" / f"ran.{time.monotonic_ns()}"
        self.ran.touch()
        self.ran.chmod(0o666)
        script = f"echo $SLURM_JOB_ID >> {self.ran}"
        return [self.cluster.sbatch("--gres=gpu:1", SMALL, "-o", "/dev/null", script=script, user=USER) for _ in range(count)]

    def all_ran_once(self, numbers, patience=150):
        self.cluster.wait_until(self.cluster.queue_is_empty, "jobs are left", patience)
        self.assertEqual(sorted(int(line) for line in self.ran.read_text(encoding="utf-8").split()), sorted(numbers))

    def test_the_server_is_killed_five_times_during_two_hundred_jobs(self):
        numbers = self.begin(100)
        chance = random.Random(14)
        self.serve()
        for _ in range(5):
            time.sleep(chance.uniform(0.3, 2))
            self.server.end(signal.SIGKILL)
            self.server = Server(self.cluster)
            numbers += [self.cluster.sbatch("--gres=gpu:1", SMALL, "-o", "/dev/null", script=f"echo $SLURM_JOB_ID >> {self.ran}", user=USER)
                        for _ in range(20)]
        self.all_ran_once(numbers)

    def test_slurmctld_is_killed_and_restarted_while_jobs_are_placed(self):
        numbers = self.begin(40)
        time.sleep(6)  # what is younger than five seconds is lost with slurmctld: Slurm's own limit
        self.serve()
        for pause in (0.3, 1.1, 2.3):
            time.sleep(pause)
            self.cluster.kill_controller()
            time.sleep(1)
            self.cluster.start_controller()
        # Slurm itself may start a job again whose end it forgot; none may be lost or left.
        self.cluster.wait_until(self.cluster.queue_is_empty, "jobs are left", 150)
        self.assertEqual({int(line) for line in self.ran.read_text(encoding="utf-8").split()}, set(numbers))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
