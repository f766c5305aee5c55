#!/usr/bin/env python3
"""`sharewell serve --engine slurm --mode user` and `sharewell sbatch` by somebody without admin rights, over a real Slurm that has shards but no plugin
of ours. As root: Slurm is root's, the server a plain user's, and the same again with a Slurm that the plain user has started (auth/none)."""

import os
import re
import signal
import subprocess
import sys
import unittest

from cluster import PATIENCE, REPOSITORY, SlurmTest, as_user
from engine_test import PROGRAM, Server

ROOT = os.geteuid() == 0
USER = "daemon" if ROOT else None
STRANGER = "games"
TELL = 'echo "$SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES shards=$SLURM_SHARDS_ON_NODE"; sleep {}'


class UserServer(Server):
    """With its store, state and socket in a folder of the user's."""

    def __init__(self, cluster, *args):  # not Server's: that one is the admin's
        self.cluster = cluster
        self.home = cluster.folder / "out/home"
        self.home.mkdir(exist_ok=True)
        if USER:
            os.chown(self.home, as_user(USER)["user"], as_user(USER)["group"])
        self.socket = self.home / "s.sock"
        self.said_in = cluster.folder / "log/user.said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--engine", "slurm", *(() if "--mode" in args else ("--mode", "user")), "--partition", cluster.partition,
                 "--listen", "none", "--socket", str(self.socket), "--store", str(self.home / "store.db"), *args],
                env={**cluster.env, "HOME": str(self.home)}, cwd=self.home,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, **as_user(USER))
        self.wait_for("socket for users of this machine")


class UserMode(SlurmTest):
    OPTIONS = {"lua": None}

    def setUp(self):
        self.server = None
        for place in self.cluster.folder.glob("out/home/store.db*"):
            place.unlink()
        self.addCleanup(lambda: self.server and self.server.end())

    def serve(self, *args):
        self.server = UserServer(self.cluster, *args)
        return self.server

    def sbatch(self, *args, seconds=60, after=(), user=USER):
        """`sharewell sbatch`: the job's number."""
        done = self.cluster.run(PROGRAM, "sbatch", *args, "--", "--parsable", "-o", f"{self.cluster.folder}/out/%j.out", *after, "--wrap",
                                TELL.format(seconds), user=user, check=True)
        return int(done.stdout.strip().split(";")[0])

    def told(self, number, text="gpu="):
        self.cluster.wait_until(lambda: text in self.cluster.output(number), f"job {number} did not tell {text}: {self.cluster.output(number)}\n"
                                f"{self.cluster.job(number)}\n{self.server.said()}")
        return self.cluster.output(number)

    def put(self, number):
        found = re.search(r"put=\d+,(\w+):(\w+),", self.cluster.job(number).get("Comment", ""))
        return found.groups() if found else None

    def wait_phase(self, number, phase):
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == phase, f"job {number} is not {phase}: {self.server.said()}")

    def test_ones_own_jobs_are_held_placed_run_and_end(self):
        first = self.sbatch(seconds=2)
        waits = self.cluster.job(first)
        self.assertEqual((waits["JobState"], waits["Priority"]), ("PENDING", "0"))
        self.serve()
        on_v100 = self.sbatch("--gpus", "2", "--gpu-model", "V100", seconds=1)
        small = self.sbatch("--gpu-memory", "4GB", "--sm-share", "40%", seconds=1, after=("-c", "2"))
        said = self.told(first)
        node, slot = self.put(first)
        self.assertIn(f"{node} gpu={slot[1:]} ", said)
        self.assertRegex(self.told(on_v100), r"^n[12] gpu=0,1 ")
        self.assertNotIn("shards=100", self.told(small))
        for number in (first, on_v100, small):
            self.wait_phase(number, "finished")
            self.assertEqual(self.cluster.wait_job(number, "OVER")["JobState"], "COMPLETED")
        self.assertIn(str(first), self.server.run("jobs", "--all", user=USER).stdout)
        self.assertEqual(self.server.run("why", str(first), user=USER).returncode, 0)

    def test_a_server_that_was_killed_finds_its_jobs_again(self):
        self.serve()
        runs = self.sbatch(seconds=60)
        self.told(runs)
        self.server.end(signal.SIGKILL)
        waits = self.sbatch(seconds=1)
        self.serve()
        self.told(waits)
        self.wait_phase(runs, "running")
        self.assertEqual(self.server.run("cancel", str(runs), user=USER).returncode, 0)
        self.cluster.wait_job(runs, "CANCELLED")
        self.assertEqual(self.cluster.output(runs).count("gpu="), 1)

    @unittest.skipUnless(ROOT, "needs a second user")
    def test_jobs_of_others_are_left_alone_and_their_gpus_too(self):
        forged = self.sbatch(user=STRANGER)  # as if it were for a server of theirs
        plain = self.cluster.sbatch("--hold", "--gres=gpu:g0:1", user=STRANGER)
        runs = self.cluster.sbatch("--gres=gpu:g0:1", "-w", "n4", user=STRANGER)
        self.cluster.wait_job(runs, "RUNNING")
        before = {number: self.cluster.job(number) for number in (forged, plain)}
        self.serve()
        mine = [self.sbatch() for _ in range(10)]  # there are ten GPUs, of which one is theirs
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-u", USER, "-t", "R")) == 9, "not all free GPUs are used")
        self.told(next(n for n in mine if self.cluster.job(n)["JobState"] == "RUNNING"))
        places = [self.put(number) for number in mine if self.cluster.job(number)["JobState"] == "RUNNING"]
        self.assertEqual(len(set(places)), 9)
        self.assertNotIn(("n4", "g0"), places)
        self.assertEqual({number: self.cluster.job(number) for number in (forged, plain)}, before)
        self.assertEqual(self.cluster.job(runs)["JobState"], "RUNNING")
        self.assertNotEqual(self.server.run("job", str(forged), user=USER).returncode, 0)
        # Nor does anybody else reach this server.
        self.assertNotEqual(self.server.run("jobs", user=STRANGER).returncode, 0)

    def test_what_it_cannot_do_is_said(self):
        self.serve()
        self.assertIn("only jobs that you submitted with `sharewell sbatch`", self.server.said())
        self.assertIn("SM shares are not enforced", self.server.said())
        if ROOT:  # else this account is Slurm's own
            self.server.end()
            self.serve("--mode", "admin")
            self.assertIn("neither root nor Slurm's own", self.server.said())

    def test_what_sbatch_would_choose_by_itself_is_refused(self):
        script = self.cluster.folder / "out/train.sh"
        script.write_text("#!/bin/bash\n#SBATCH -c 2 --gres=gpu:2\nsleep 1\n", encoding="utf-8")
        for words, what in ((["--", "--gres=gpu:1", "--wrap", "true"], "--gpus N"), (["--", str(script)], "take it out"), ([], "after --"),
                            (["--gpus", "-1", "--", "--wrap", "true"], "--gpus"), (["--model", "a b", "--", "--wrap", "true"], "blanks"),
                            (["--max-slowdown", "0.5", "--", "--wrap", "true"], "max_slowdown")):
            done = self.cluster.run(PROGRAM, "sbatch", *words, user=USER)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(what, done.stderr)
        self.assertEqual(self.cluster.squeue(), [])
        done = self.cluster.run(PROGRAM, "sbatch", "--", "--wrap", "true", user=USER, env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("sbatch cannot be run", done.stderr)


@unittest.skipUnless(ROOT, "that is what the tests above do without root")
class OwnSlurm(unittest.TestCase):
    """The same with nothing of root's at all."""

    def test_user_mode_over_a_slurm_of_ones_own(self):
        # One that a plain user may run, too.
        python = sys.executable if subprocess.run(["test", "-x", sys.executable], check=False, **as_user(USER)).returncode == 0 else "/usr/bin/python3"
        done = subprocess.run([python, __file__, "UserMode.test_ones_own_jobs_are_held_placed_run_and_end",
                               "UserMode.test_a_server_that_was_killed_finds_its_jobs_again"], env={**os.environ, "HOME": "/nonexistent",
                              "PYTHONDONTWRITEBYTECODE": "1"}, cwd=REPOSITORY, capture_output=True, text=True, timeout=4 * PATIENCE, check=False,
                              **as_user(USER))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"Ran 2 tests in [\d.]+s\n\nOK\n")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
