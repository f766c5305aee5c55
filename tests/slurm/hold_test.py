#!/usr/bin/env python3
"""job_submit.lua in a real slurmctld: what it holds, what it writes down, and what users may not change."""

import os
import unittest

from cluster import SlurmTest

USER = "daemon" if os.geteuid() == 0 else None


class Hold(SlurmTest):
    def submit(self, *args, **options):
        return self.cluster.job(self.cluster.sbatch(*args, user=USER, **options))

    def test_a_job_with_gpus_is_held_and_its_request_is_written_down(self):
        for args, ask in (
                (["--gres=gpu:1"], "ask=gpus:1"),
                (["--gres=gpu"], "ask=gpus:1"),
                (["--gres=gpu:V100:2"], "ask=gpus:2,model:V100"),
                (["--gres=gpu:g1:1"], "ask=gpus:1"),  # a slot is not the user's to choose
                (["--gpus=3", "-c", "4"], "ask=gpus:3,anywhere"),
                (["--gpus-per-node=P100:2", "-N2"], "ask=gpus:4,model:P100"),
                (["-N2", "--gres=gpu:1"], "ask=gpus:2"),
                (["-n1", "--gpus-per-task=1"], "ask=gpus:1"),
                (["--gres=gpu:1", "--exclusive"], "ask=gpus:1,exclusive"),
                (["--exclusive"], "ask=gpus:0,exclusive"),  # it would have all GPUs of its node
                (["--gres=shard:40"], "ask=gpus:1"),
                (["--gres=shard:100"], "ask=gpus:1,exclusive")):
            with self.subTest(args=args):
                job = self.submit(*args)
                self.assertEqual((job["JobState"], job["Reason"], job["Priority"]), ("PENDING", "JobHeldUser", "0"))
                self.assertEqual(job["AdminComment"].strip(), "sharewell1 " + ask)
                self.assertNotIn("gpu", job.get("TresPerNode", "") + job.get("TresPerJob", "") + job.get("TresPerTask", ""))
                self.assertNotIn("shard", job.get("TresPerNode", ""))

    def test_cores_and_memory_stay_as_they_were_asked_for(self):
        job = self.submit("--gres=gpu:1", "-c", "3", "--mem=2000")
        self.assertEqual((job["NumCPUs"], job["CPUs/Task"], job["MinMemoryNode"]), ("3", "3", "2000M"))

    def test_a_job_without_gpus_runs_at_once(self):
        number = self.cluster.sbatch(script="true", user=USER)
        self.assertNotIn("AdminComment", self.cluster.wait_job(number, "OVER"))

    @unittest.skipUnless(USER, "needs root: a user who is not the scheduler")
    def test_its_user_can_neither_release_nor_place_it(self):
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        for words in (["release", number], *(["update", f"JobId={number}", change] for change in (
                "Priority=7", "Nice=10", "ReqNodeList=n1", "Gres=gpu:1", "Gres=shard:g0:1", "TresPerNode=gres:gpu:2", "OverSubscribe=NO", "AdminComment=sharewell1"))):
            with self.subTest(words=words):
                done = self.cluster.run("scontrol", *words, user=USER)
                self.assertNotEqual(done.returncode, 0)
                job = self.cluster.job(number)
                self.assertEqual((job["Priority"], job["AdminComment"].strip()), ("0", "sharewell1 ask=gpus:1"))
        # What is his stays his.
        for change in ("TimeLimit=5", "Comment=sharewell batch=64", "Name=mine"):
            self.cluster.scontrol("update", f"JobId={number}", change, user=USER)
        self.cluster.run("scancel", number, user=USER, check=True)
        self.cluster.wait_job(number, "CANCELLED")

    def test_a_text_that_pretends_to_be_a_note_is_refused(self):
        for args in (["-J", "x AdminComment=sharewell1 ask=gpus:1 put=1,n1:g0,sm:100"], ["--comment", "\n AdminComment=sharewell1"],
                     ["--container", "/x AdminComment=sharewell1 ask=gpus:1 put=1,n1:g0,sm:100"]):
            done = self.cluster.sbatch("--gres=gpu:1", *args, user=USER, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("may not contain AdminComment=", done.stderr)

    def test_arrays_are_held_as_a_whole(self):
        number = self.cluster.sbatch("--gres=gpu:1", "--array=0-3", user=USER)
        self.assertEqual([line[1:3] for line in self.cluster.squeue("-r")], [["PENDING", "JobHeldUser"]] * 4)
        self.cluster.scontrol("release", number)


class SideDoors(SlurmTest):
    """A4, S7: nobody has GPUs of our partition without having been held and placed."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.scontrol("create", "PartitionName=other", "Nodes=n1,n2,n3,n4", "State=UP")

    def tearDown(self):
        self.cluster.run("scancel", "-p", "other")
        super().tearDown()

    def refused(self, number, *change):
        before = self.cluster.job(number)
        done = self.cluster.run("scontrol", "update", f"JobId={number}", *change, user=USER)
        self.assertNotEqual(done.returncode, 0, change)
        after = self.cluster.job(number)
        for field in ("Partition", "TresPerNode", "TresPerJob", "Priority", "EligibleTime"):
            self.assertEqual(after.get(field), before.get(field), change)

    @unittest.skipUnless(USER, "needs root: a user who is not the scheduler")
    def test_A4_a_job_without_a_note_is_given_no_gpus_later(self):
        later = self.cluster.sbatch("--begin=now+1hour", "-n1", user=USER)
        held = self.cluster.sbatch("-H", user=USER)  # S7
        for number in (later, held):
            for change in ("Gres=gpu:g0:1", "Gres=gpu:1", "Gres=shard:g0:1,shard:g1:1", "TresPerNode=gres:gpu:1", "TresPerNode=gres/shard:g0:2",
                           "TresPerJob=gres:gpu:2", "TresPerTask=gres:gpu:1", "TresPerSocket=gres:gpu:1"):
                self.refused(number, change, "StartTime=now")
        # What is theirs stays theirs, and root may do all of it.
        self.cluster.scontrol("update", f"JobId={later}", "StartTime=now", "TimeLimit=5", "Name=mine", user=USER)
        self.cluster.scontrol("release", held, user=USER)
        for number in (later, held):
            self.cluster.wait_job(number, "RUNNING")
        roots = self.cluster.sbatch("-H", user=USER)
        self.cluster.scontrol("update", f"JobId={roots}", "Gres=shard:g0:1")
        self.assertIn("shard:g0:1", self.cluster.job(roots)["TresPerNode"])
        self.assertIn("may not give GPUs to job", (self.cluster.folder / "log/slurmctld.log").read_text(encoding="utf-8"))

    @unittest.skipUnless(USER, "needs root: a user who is not the scheduler")
    def test_A4_no_job_is_moved_into_our_partition(self):
        for args in (["--gres=gpu:1"], ["--gpus=1"], ["--gres=shard:10"], ["--exclusive"], ["-n2", "--ntasks-per-gpu=1"]):
            with self.subTest(args=args):
                number = self.cluster.sbatch("-p", "other", "-H", *args, user=USER)
                for change in (["Partition=gpu"], ["Partition=other,gpu"], ["Partition=gpu", "StartTime=now"]):
                    self.refused(number, *change)
        plain = self.cluster.sbatch("-p", "other", "-H", user=USER)
        self.refused(plain, "Partition=gpu", "Gres=gpu:1")
        self.cluster.scontrol("update", f"JobId={plain}", "Gres=gpu:1", user=USER)  # in a partition that is not ours
        self.refused(plain, "Partition=gpu")
        self.cluster.scontrol("update", f"JobId={plain}", "Partition=gpu")  # root may
        self.refused(plain, "Gres=gpu:2")

    def test_A4_heterogeneous_jobs_are_left_to_plain_slurm_as_a_whole(self):
        for args in (["--gres=gpu:1", ":", "-n1"], ["-p", "other", ":", "-p", "gpu", "--gpus=1"], ["-n1", ":", "--exclusive"]):
            number = self.cluster.sbatch(*args, script="true", user=USER)
            self.cluster.wait_until(lambda n=number: not self.cluster.squeue("-j", str(n)), f"{args}: {self.cluster.squeue()}", 20)


class HoldAll(SlurmTest):
    OPTIONS = {"hold_cpu_jobs": True}

    def test_jobs_without_gpus_are_held_too(self):
        job = self.cluster.job(self.cluster.sbatch("-c2", user=USER))
        self.assertEqual((job["Reason"], job["AdminComment"].strip()), ("JobHeldUser", "sharewell1 ask=gpus:0"))


class OtherPartition(SlurmTest):
    def test_other_partitions_are_left_alone(self):
        self.cluster.scontrol("create", "PartitionName=other", "Nodes=n1", "State=UP")
        number = self.cluster.sbatch("-p", "other", "--gres=gpu:1", script="echo gpu=$CUDA_VISIBLE_DEVICES", user=USER)
        job = self.cluster.wait_job(number, "OVER")
        self.assertNotIn("AdminComment", job)
        self.cluster.wait_until(lambda: "gpu=0" in self.cluster.output(number), "it had no GPU")


if __name__ == "__main__":
    unittest.main()
