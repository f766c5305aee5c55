#!/usr/bin/env python3
"""What an admin, or Slurm itself, does to jobs of a real Slurm stays as it is: holds, requeues, releases, preemption, limits of arrays."""

import os
import time
import unittest

from accounts_test import MISSING, AccountedCluster
from engine_test import USER, ServeTest

FAILS = "#!/bin/bash\n[ -e {0}/fails ] && exit 1\nexit 0\n"


class AdminTest(ServeTest):
    def why(self, number, text):
        self.cluster.wait_until(lambda: text in " ".join(self.server.run("why", str(number)).stdout.split()),
                                f"why does not say {text!r}: {self.server.run('why', str(number)).stdout}", 30)


class Admin(AdminTest):
    OPTIONS = {"scripts": True, "nodes": {f"n{i}": (model, 1) for i, model in enumerate(("V100", "V100", "P100", "P100"), 1)},
               "site": "RequeueExitHold=42\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"}

    def stays_held(self, number, reason):
        time.sleep(2.5)  # two looks
        job = self.cluster.job(number)
        self.assertEqual((job["Priority"], job["Reason"]), ("0", reason))

    def test_s1_an_admins_hold_stays_until_he_gives_it_back(self):
        number = self.submit("--gres=gpu:1")
        self.cluster.scontrol("hold", number)
        self.serve()
        self.why(number, "an admin of Slurm holds it")
        self.stays_held(number, "JobHeldAdmin")
        self.cluster.scontrol("uhold", number)
        self.told(number)
        self.assertTrue(self.put(number))

    def test_s1_what_is_requeued_held_stays(self):
        self.serve()
        number, exits = self.submit("--gres=gpu:1"), self.submit("--gres=gpu:1", script="exit 42")
        self.told(number)
        self.cluster.scontrol("requeuehold", number)
        self.why(number, "(scontrol requeuehold)")
        self.why(exits, "(SPECIAL_EXIT)")
        self.stays_held(number, "job_requeued_in_held_state")
        self.assertEqual(self.cluster.job(exits)["JobState"], "SPECIAL_EXIT")
        self.assertEqual(self.cluster.job(exits)["Restarts"], "1")
        # As `why` says, it comes back.
        self.cluster.scontrol_lines(f"release {number}", f"uhold {number}")
        self.cluster.wait_until(lambda: self.cluster.job(number)["JobState"] == "RUNNING", f"it does not run: {self.cluster.job(number)}")

    def test_s3_what_no_gpu_model_has_room_for_waits_and_is_not_cancelled(self):
        self.serve()
        number = self.submit("-N3", "--gpus-per-node=1")
        self.cluster.wait_until(lambda: self.server.run("why", str(number)).returncode == 0, "the server does not have it")
        time.sleep(2.5)
        self.assertEqual(self.cluster.job(number)["JobState"], "PENDING")
        self.assertIn(self.server.job(number)["phase"], ("held", "waiting"), self.server.job(number))

    def test_s12_what_an_admin_releases_is_his(self):
        self.serve()
        self.told(self.submit("--gres=gpu:1", "--exclusive", "-w", "n1"))
        number = self.submit("--gres=gpu:1", "-w", "n1")  # it waits
        self.cluster.wait_until(lambda: self.server.run("why", str(number)).returncode == 0, "the server does not have it")
        self.cluster.scontrol("release", number)
        self.why(number, "an admin released it: it runs with what it asked for, without Sharewell")
        job = self.cluster.job(number)
        self.assertNotEqual(job["Priority"], "0")
        self.assertIn("gpu:1", job["TresPerNode"])

    def test_s13_a_job_that_slurm_preempts_waits_again(self):
        self.cluster.scontrol("create", "PartitionName=urgent", "Nodes=n1,n2", "State=UP", "PriorityTier=10")
        self.addCleanup(self.cluster.scontrol, "delete", "PartitionName=urgent")
        self.serve()
        number = self.submit("--gres=gpu:1", "-w", "n1", "-c8")
        self.told(number)
        urgent = self.cluster.sbatch("-p", "urgent", "-w", "n1", "-c16", script="sleep 6", user=USER)
        self.addCleanup(self.cluster.run, "scancel", urgent)
        self.cluster.wait_job(urgent, "RUNNING")
        self.cluster.wait_until(lambda: self.cluster.job(number)["Priority"] == "0", f"it does not wait: {self.cluster.job(number)}")
        self.cluster.wait_until(lambda: self.cluster.job(number)["JobState"] == "RUNNING", f"it does not run again: {self.cluster.job(number)}")
        self.assertEqual(self.cluster.job(number)["Restarts"], "1")

    def test_s14_the_first_task_of_a_long_array_starts_at_once(self):
        self.serve()
        time.sleep(1.5)
        array = self.submit("--gres=gpu:1", "--array=0-499")
        began = time.monotonic()
        self.cluster.wait_until(lambda: self.cluster.squeue("-t", "R"), "nothing runs")
        self.assertLess(time.monotonic() - began, 6)  # 2 s where nothing else is going on
        self.cluster.run("scancel", array)

    def test_s14_a_limit_of_an_array_that_changes_is_obeyed(self):
        self.serve()
        array = self.submit("--gres=gpu:1", "--array=0-5%1")
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 1, "nothing runs")
        time.sleep(2.5)
        self.assertEqual(len(self.cluster.squeue("-t", "R")), 1)
        self.cluster.scontrol("update", f"JobId={array}", "ArrayTaskThrottle=3")
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 3, "three do not run")

    def test_s14_a_singleton_follows_at_once(self):
        self.serve()
        first, second = (self.submit("--gres=gpu:1", "--dependency=singleton", "-J", "one", seconds=n) for n in (6, 1))
        self.cluster.wait_job(first, "RUNNING")
        self.why(second, f"afterany:{first}(singleton)")
        self.cluster.wait_job(first, "COMPLETED")
        ended = time.monotonic()
        self.cluster.wait_job(second, "COMPLETED")
        self.assertLess(time.monotonic() - ended, 15)


class Prolog(AdminTest):
    OPTIONS = {"nodes": {f"n{i}": ("V100", 1) for i in range(1, 5)}}

    def test_s1_a_failing_prolog_drains_one_node_and_not_all(self):
        place = self.cluster.folder / "etc/prolog.sh"
        place.write_text(FAILS.format(self.cluster.folder), encoding="utf-8")
        place.chmod(0o755)
        with open(self.cluster.conf, "a", encoding="utf-8") as conf:
            conf.write(f"Prolog={place}\n")
        self.cluster.restart()
        (self.cluster.folder / "fails").touch()
        self.serve()
        number = self.submit("--gres=gpu:1")
        self.cluster.wait_until(lambda: "launch failed" in self.server.run("why", str(number)).stdout,
                                f"why does not say it: {self.server.run('why', str(number)).stdout}")
        self.why(number, "Prolog error")
        self.assertRegex(self.server.run("why", str(number)).stdout, r"it\s+was\s+on\s+n\d")
        time.sleep(5)
        drained = [name for name in self.cluster.nodes if "DRAIN" in self.cluster.node(name)["State"]]
        self.assertEqual(len(drained), 1, drained)
        self.assertEqual(self.cluster.job(number)["Reason"], "launch_failed_requeued_held")


class PreemptingCluster(AccountedCluster):
    def __init__(self, **options):
        super().__init__(**options)
        with open(self.conf, "a", encoding="utf-8") as conf:
            conf.write("PreemptType=preempt/qos\nPreemptMode=REQUEUE\n")

    def start_controller(self, *args):
        super().start_controller(*args)
        self.run("sacctmgr", "-i", "modify", "qos", "urgent", "set", "preempt=normal", check=True)


@unittest.skipIf(MISSING or os.geteuid() != 0, f"not installed: {' '.join(MISSING)}, or not root")
class Preempting(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = PreemptingCluster(nodes={"n1": ("V100", 1)})
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def held(self, *args, user):
        number = self.cluster.sbatch("--hold", *args, script="sleep 60", user=user)
        self.cluster.scontrol("update", f"JobId={number}", "AdminComment=sharewell1 ask=gpus:1")
        return number

    def test_s13_a_qos_that_preempts_has_the_place_of_another(self):
        self.serve()
        normal = self.held("--qos=normal", user="bin")
        self.cluster.wait_job(normal, "RUNNING")
        urgent = self.held("--qos=urgent", user="bin")
        self.cluster.wait_job(urgent, "RUNNING")
        self.cluster.wait_job(normal, "PENDING")
        self.assertEqual(self.cluster.job(normal)["Reason"], "JobHeldUser")
        self.cluster.run("scancel", urgent, check=True)
        self.cluster.wait_job(normal, "RUNNING")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
