#!/usr/bin/env python3
"""A cluster with PrivateData=jobs: its users see their own jobs alone, through Sharewell as through Slurm."""

import json
import os
import unittest

from engine_test import ServeTest

ANN, BEN = "daemon", "games"


@unittest.skipUnless(os.geteuid() == 0, "two users need root")
class Private(ServeTest):
    OPTIONS = {"site": "PrivateData=jobs"}

    def numbers(self, user):
        done = self.server.run("jobs", "--all", "--json", user=user)
        self.assertEqual(done.returncode, 0, done.stderr)
        if user == BEN:
            self.assertNotIn(ANN, done.stdout)
        return [job["number"] for job in json.loads(done.stdout)["jobs"]]

    def test_users_see_their_own_jobs_alone(self):
        self.serve()
        anns = self.cluster.sbatch("--gres=gpu:1", "-J", "secret", user=ANN)
        bens = self.cluster.sbatch("--gres=gpu:1", user=BEN)
        waits = self.cluster.sbatch("--gpus=4", "-w", "n4", "-J", "big", user=ANN)
        for number in (anns, bens):
            self.cluster.wait_job(number, "RUNNING")
        self.cluster.wait_until(lambda: self.numbers(None) == sorted([anns, bens, waits], reverse=True), "root does not see all", 20)
        self.assertEqual(self.numbers(BEN), [bens])
        self.assertEqual(set(self.numbers(ANN)), {anns, waits})
        for words in ("job", "why", "logs", "cancel"):
            done = self.server.run(words, str(anns), user=BEN)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("there is no job", done.stderr)
            self.assertNotIn("secret", done.stdout + done.stderr)
        self.assertEqual(self.server.run("why", str(bens), user=BEN).returncode, 0)
        self.assertEqual(self.server.run("why", str(anns)).returncode, 0)
        # Of the GPUs he sees the figures, and which of them have jobs of his own.
        listed = json.loads(self.server.run("top", "--json", user=BEN).stdout)
        self.assertNotIn(str(anns), [str(job) for gpu in listed.get("gpus", []) for job in gpu.get("jobs", [])])
        refused = self.server.run("usage", user=BEN)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("PrivateData=jobs", refused.stderr)
        self.assertEqual(self.server.run("usage").returncode, 0)


if __name__ == "__main__":
    unittest.main()
