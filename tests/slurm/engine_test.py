#!/usr/bin/env python3
"""`sharewell serve --engine slurm` over a real Slurm: whole lives of jobs, from sbatch to their end."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from cluster import PATIENCE, SlurmTest  # noqa: E402
from program import PROGRAM, Speaker  # noqa: E402

USER = "daemon" if os.geteuid() == 0 else None
TELL = 'echo "$SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES"; sleep {}'


class Server(Speaker):
    def __init__(self, cluster, *args, store=None):
        self.cluster = cluster
        self.socket = cluster.folder / "s.sock"
        self.said_in = cluster.folder / "log/server.said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--engine", "slurm", "--partition", cluster.partition, "--listen", "none", "--socket", str(self.socket),
                 *(("--store", store, "--state", str(cluster.folder)) if store else ("--store", str(cluster.folder / "store.db"))), *args], env=cluster.env, cwd=cluster.folder, stdin=subprocess.DEVNULL, stdout=said,
                stderr=said)
        self.wait_for("socket for users of this machine")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE)

    def run(self, *args, user=None):
        return self.cluster.run(PROGRAM, *args, user=user, timeout=60, env={"SHAREWELL_SERVER": str(self.socket), "NO_COLOR": "1"})

    def job(self, number):
        done = self.run("job", str(number), "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class ServeTest(SlurmTest):
    """A server for each test, with an empty store."""

    def setUp(self):
        self.server = None
        for place in self.cluster.folder.glob("store.db*"):
            place.unlink()
        self.addCleanup(lambda: self.server and self.server.end())

    def serve(self, *args, store=None):
        self.server = Server(self.cluster, *args, store=store)
        return self.server

    def submit(self, *args, seconds=60, script=None):
        return self.cluster.sbatch(*args, script=script or TELL.format(seconds), user=USER)

    def put(self, number):
        """Where the note says that it was put: [(node, [slots])]."""
        found = re.search(r"put=\d+,([^, ]+),", self.cluster.job(number).get("AdminComment", ""))
        return [(part.split(":")[0], part.split(":")[1].split("+")) for part in found.group(1).split("/")] if found else []

    def told(self, number, text="gpu=", patience=30):
        self.cluster.wait_until(lambda: text in self.cluster.output(number), f"job {number} did not tell {text}", patience)
        return self.cluster.output(number)


class Lives(ServeTest):
    OPTIONS = {"scripts": True, "site": "Licenses=seat:1"}

    def test_held_then_placed_on_the_chosen_gpu(self):
        number = self.submit("--gres=gpu:1", "-c2")
        self.assertEqual(self.cluster.job(number)["Reason"], "JobHeldUser")
        self.serve()
        said = self.told(number)
        [(node, [slot])] = self.put(number)
        self.assertIn(f"{node} gpu={slot[1:]}", said)
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "running", "the server does not know that it runs", 20)
        self.assertEqual(self.server.run("why", str(number)).returncode, 0)

    def test_the_model_that_was_asked_for(self):
        self.serve()
        old = self.submit("--gres=gpu:P100:1")
        constrained = self.submit("--gres=gpu:1", "-C", "P100")
        for number in (old, constrained):
            self.told(number)
            self.assertIn(self.put(number)[0][0], ("n3", "n4"))

    def test_each_gpu_is_given_once_to_jobs_that_fill_it(self):
        self.serve()
        numbers = [self.submit("--gres=gpu:1") for _ in range(12)]  # 10 GPUs
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 10, "not all GPUs are used")
        time.sleep(2)
        self.assertEqual(len(self.cluster.squeue("-t", "R")), 10)
        places = [self.put(n)[0][0] + self.put(n)[0][1][0] for n in numbers if self.cluster.job(n)["JobState"] == "RUNNING"]
        self.assertEqual(len(set(places)), 10)
        held = [n for n in numbers if self.cluster.job(n)["JobState"] == "PENDING"]
        self.assertEqual([self.cluster.job(n)["Priority"] for n in held], ["0", "0"])
        # One ends, one of those that wait has its GPU.
        running = next(n for n in numbers if n not in held)
        self.cluster.run("scancel", running, user=USER, check=True)
        self.cluster.wait_until(lambda: any(self.cluster.job(n)["JobState"] == "RUNNING" for n in held), "nobody has the free GPU")

    def test_several_gpus_of_one_node(self):
        self.serve()
        number = self.submit("--gpus=4")  # which n4 alone has
        self.told(number, "gpu=0,1,2,3")

    def test_cancelled_by_its_user_while_it_waits_and_while_it_runs(self):
        waits = self.submit("--gpus=10")  # more than any model has
        self.serve()
        runs = self.submit("--gres=gpu:1")
        self.told(runs)
        blocked = self.submit("--gpus=1", "--begin=now+1hour")
        for number in (waits, runs, blocked):
            self.cluster.run("scancel", number, user=USER, check=True)
            self.cluster.wait_job(number, "CANCELLED")
        self.cluster.wait_until(lambda: self.server.job(runs)["phase"] == "cancelled", "the server does not know", 20)
        # Through us it is the same.
        ours = self.submit("--gres=gpu:1")
        self.told(ours)
        self.assertEqual(self.server.run("cancel", str(ours)).returncode, 0)
        self.cluster.wait_job(ours, "CANCELLED")

    def test_a_drained_node_gets_no_new_jobs(self):
        for name in ("n1", "n2", "n4"):
            self.cluster.drain(name)
            self.addCleanup(self.cluster.resume, name)
        self.serve()
        numbers = [self.submit("--gres=gpu:1") for _ in range(3)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 2, "n3 is not used")
        self.cluster.drain("n3")
        self.addCleanup(self.cluster.resume, "n3")
        self.cluster.run("scancel", numbers[0], check=True)
        time.sleep(3)
        self.assertEqual(self.cluster.job(numbers[2])["JobState"], "PENDING")
        # It comes back without a restart.
        self.cluster.resume("n1")
        self.told(numbers[2], "n1 gpu=", patience=80)  # one that was released and cannot start is held again after 30 s

    def test_requeued_by_an_admin_it_is_placed_again(self):
        self.serve()
        number = self.submit("--gres=gpu:1")
        self.told(number)
        self.cluster.scontrol("requeue", number)
        self.cluster.wait_until(lambda: self.cluster.job(number).get("Restarts") == "1" and self.cluster.job(number)["JobState"] == "RUNNING",
                                f"it does not run again: {self.cluster.job(number)}")

    def test_an_array(self):
        self.serve()
        go = self.cluster.folder / "out/go"
        self.cluster.sbatch("--gres=gpu:1", "--array=0-4", script=f"while ! [ -e {go} ]; do sleep 0.1; done", user=USER)
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-r", "-t", "R")) == 5, "not all run")
        go.touch()
        self.cluster.wait_until(lambda: not self.cluster.squeue(), "not all end")

    def test_a_dependency_is_kept(self):
        self.serve()
        first = self.submit("--gres=gpu:1", seconds=4)
        second = self.submit("--gres=gpu:1", f"--dependency=afterok:{first}", seconds=1)
        never = self.submit("--gres=gpu:1", f"--dependency=afternotok:{first}", seconds=1)
        self.told(first)
        self.assertEqual(self.cluster.job(second)["JobState"], "PENDING")
        self.cluster.wait_job(second, "COMPLETED", patience=40)
        self.assertEqual(self.cluster.job(first)["JobState"], "COMPLETED")
        self.assertNotEqual(self.cluster.job(never)["JobState"], "COMPLETED")

    def test_a_gang_of_two_nodes_has_one_gpu_on_each(self):
        self.serve()
        number = self.submit("-N2", "--gres=gpu:1")
        self.cluster.wait_job(number, "RUNNING")
        places = self.put(number)
        self.assertEqual(len({node for node, _ in places}), 2, places)
        self.assertEqual([len(slots) for _, slots in places], [1, 1])
        self.assertEqual(places[0][1], places[1][1])

    def test_what_slurm_keeps_waits_outside_of_the_queue_and_says_why(self):
        later = self.submit("--gres=gpu:1", "--begin=now+8", seconds=1)
        hour = self.submit("--gres=gpu:1", "--begin=now+1hour")
        self.serve()
        self.cluster.wait_until(lambda: "it begins at" in self.server.run("why", str(hour)).stdout, self.server.run("why", str(hour)).stdout)
        licence = [self.submit("--gres=gpu:1", "-L", "seat:1") for _ in range(2)]
        self.cluster.wait_until(lambda: any("Licenses" in self.server.run("why", str(n)).stdout for n in licence), "no word of the licence")
        held = [n for n in licence if self.cluster.job(n)["JobState"] == "PENDING"]
        self.cluster.wait_until(lambda: [self.cluster.job(n)["Priority"] for n in held] == ["0"], f"{held} is not held")
        self.cluster.wait_job(later, "COMPLETED")
        self.assertEqual(self.cluster.job(hour)["Priority"], "0")

    def test_a_job_of_a_whole_node_and_srun_in_it(self):
        self.serve()
        number = self.submit("--gres=gpu:1", "--exclusive", "-c4",
                             script='echo "cpus=$SLURM_CPUS_ON_NODE"; srun -n1 bash -c "echo gpu=\\$CUDA_VISIBLE_DEVICES"; sleep 60')
        said = self.told(number)
        [(_, [slot])] = self.put(number)
        self.assertEqual(said.splitlines(), ["cpus=16", f"gpu={slot[1:]}"])
        # Without a GPU too, as Slurm gives it all of its node; GPUs by the tasks on each are plain Slurm's.
        whole, tasks = self.submit("--exclusive"), self.submit("-n2", "--ntasks-per-gpu=1")
        self.told(whole)
        self.assertRegex(self.told(tasks), r"gpu=\d,\d")
        places = [self.cluster.job(one)["NodeList"] for one in (number, whole, tasks)]
        self.assertEqual(len(set(places)), 3, places)
        self.assertIn("plain=--ntasks-per-gpu", self.cluster.job(tasks)["AdminComment"])

    def test_what_its_user_asks_for_of_its_nodes_is_kept(self):
        def features(*names):
            self.cluster.scontrol("update", "NodeName=n2", f"AvailableFeatures={','.join(names)}", f"ActiveFeatures={','.join(names)}")
        features("V100", "nvlink")
        self.addCleanup(features, "V100")
        self.serve()
        named, gang = self.submit("--gres=gpu:1", "-w", "n3"), self.submit("--gres=gpu:1", "-w", "n1,n2")
        others, linked = self.submit("--gres=gpu:1", "-x", "n[1-3]"), self.submit("--gres=gpu:1", "-C", "nvlink")
        nowhere = self.submit("--gres=gpu:1", "-C", "nvlink", "-x", "n2")
        for number, nodes in ((named, ["n3"]), (gang, ["n1", "n2"]), (others, ["n4"]), (linked, ["n2"])):
            self.cluster.wait_job(number, "RUNNING")
            self.assertEqual([node for node, _ in self.put(number)], nodes)
        self.cluster.wait_until(lambda: "--constraint 'nvlink'" in self.server.run("why", str(nowhere)).stdout,
                                self.server.run("why", str(nowhere)).stdout)
        # Also after a place of ours has replaced it.
        self.cluster.scontrol("requeue", named)
        self.cluster.wait_until(lambda: self.cluster.job(named).get("Restarts") == "1" and self.cluster.job(named)["JobState"] == "RUNNING",
                                f"it does not run again: {self.cluster.job(named)}")
        self.assertEqual(self.cluster.job(named)["NodeList"], "n3")

    def test_jobs_without_gpus_run_as_ever(self):
        self.serve()
        number = self.submit(seconds=0)
        self.cluster.wait_job(number, "COMPLETED")


if __name__ == "__main__":
    unittest.main()
