#!/usr/bin/env python3
"""`sharewell serve --engine slurm` over a real Slurm: jobs that share GPUs and nodes, gangs, reservations, cores, and GPUs without shards."""

import os
import time
import unittest

from cluster import REPOSITORY
from engine_test import ServeTest, USER


class Shared(ServeTest):
    """Four nodes with one GPU each."""

    OPTIONS = {"scripts": True, "nodes": {f"n{i}": ("V100", 1) for i in range(1, 5)}}
    # A small model: what it needs is predicted from its graph, so that it may share.
    SMALL = f"--comment=sharewell model={REPOSITORY}/fuzz/corpus/onnx/enc_256x2.onnx batch=8"

    def test_two_share_a_gpu_because_of_what_their_models_need(self):
        self.serve()
        numbers = [self.submit("--gres=gpu:1", self.SMALL) for _ in range(6)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 6, "six jobs do not run on four GPUs", 40)
        nodes = [self.cluster.job(number)["NodeList"] for number in numbers]
        self.assertEqual(sorted(set(nodes)), ["n1", "n2", "n3", "n4"])
        last = self.server.run("why", str(numbers[5])).stdout
        self.assertIn("it shares its GPU with job", last)
        for number in numbers:
            self.told(number, "gpu=0")

    def test_what_is_assumed_to_fill_a_gpu_shares_with_nobody(self):
        self.serve()
        numbers = [self.submit("--gres=gpu:1") for _ in range(5)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 4, "not all GPUs are used", 40)
        time.sleep(2)
        self.assertEqual([self.cluster.job(n)["Priority"] for n in numbers if self.cluster.job(n)["JobState"] == "PENDING"], ["0"])

    def test_a_gang_over_two_nodes(self):
        self.serve()
        number = self.submit("-N2", "--gres=gpu:1", script='srun bash -c "echo \\$SLURMD_NODENAME gpu=\\$CUDA_VISIBLE_DEVICES"; sleep 60')
        self.cluster.wait_job(number, "RUNNING")
        self.cluster.wait_until(lambda: len(self.cluster.output(number).splitlines()) == 2, self.cluster.output(number), 20)
        nodes = {line.split(" ")[0] for line in self.cluster.output(number).splitlines()}
        self.assertEqual(nodes, {node for node, _ in self.put(number)})
        self.assertEqual(len(nodes), 2)

    def test_a_node_that_is_lost_takes_its_gang_with_it_and_it_starts_again(self):
        self.serve()
        number = self.submit("-N2", "--gres=gpu:1")
        self.cluster.wait_job(number, "RUNNING")
        lost = self.put(number)[1][0]
        self.addCleanup(self.cluster.resume, lost)
        self.addCleanup(self.cluster.start_node, lost)
        self.cluster.kill_node(lost)
        self.cluster.scontrol("update", f"NodeName={lost}", "State=DOWN", "Reason=lost")
        self.cluster.wait_until(lambda: self.cluster.job(number)["JobState"] == "RUNNING" and lost not in [n for n, _ in self.put(number)],
                                "it does not start again", 90)

    def test_a_reservation_is_respected(self):
        self.cluster.scontrol("create", "reservation", "ReservationName=theirs", "StartTime=now", "Duration=60", "Users=root", "Nodes=n1,n2,n3",
                              "Flags=IGNORE_JOBS")
        self.addCleanup(self.cluster.scontrol, "delete", "ReservationName=theirs")
        self.serve()
        numbers = [self.submit("--gres=gpu:1") for _ in range(2)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 1, "nothing runs on n4")
        time.sleep(3)
        self.assertEqual([self.cluster.job(n)["NodeList"] for n in numbers if self.cluster.job(n)["JobState"] == "RUNNING"], ["n4"])

    def test_jobs_of_a_reservation_run_on_its_nodes(self):
        self.cluster.scontrol("create", "reservation", "ReservationName=ours", "StartTime=now", "Duration=60", f"Users={USER or os.getlogin()}",
                              "Nodes=n3", "Flags=IGNORE_JOBS")
        self.addCleanup(self.cluster.scontrol, "delete", "ReservationName=ours")
        self.serve()
        plain = [self.submit("--gres=gpu:1") for _ in range(4)]
        ours = self.submit("--gres=gpu:1", "--reservation=ours")
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 4, "not all GPUs are used")
        self.assertEqual(self.cluster.job(ours)["NodeList"], "n3")
        self.assertEqual({self.cluster.job(n).get("NodeList") for n in plain if self.cluster.job(n)["JobState"] == "RUNNING"}, {"n1", "n2", "n4"})
        self.cluster.run("scancel", ours, check=True)

    def test_a_job_does_not_run_into_a_reservation_that_is_to_come(self):
        self.cluster.scontrol("create", "reservation", "ReservationName=maint", "StartTime=now+10minutes", "Duration=60", "Users=root",
                              "Nodes=n1,n2,n3,n4", "Flags=IGNORE_JOBS")
        self.serve()
        lengthy = self.submit("--gres=gpu:1", "--time=60")
        self.cluster.wait_until(lambda: "reservation 'maint' begins at" in self.server.run("why", str(lengthy)).stdout,
                                self.server.run("why", str(lengthy)).stdout)
        brief = [self.submit("--gres=gpu:1", "--time=3") for _ in range(4)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 4, "a GPU is kept for the job that waits")
        self.assertEqual(self.cluster.job(lengthy)["Priority"], "0")
        self.cluster.scontrol("delete", "ReservationName=maint")
        self.cluster.run("scancel", brief[0], check=True)
        self.cluster.wait_job(lengthy, "RUNNING")

    def test_no_job_is_placed_where_others_have_the_cores(self):
        for name in ("n1", "n2", "n3"):
            plain = self.submit("-w", name, "-c12")  # no GPU: not ours
            self.cluster.wait_job(plain, "RUNNING")
        self.serve()
        time.sleep(1)
        number = self.submit("--gres=gpu:1", "-c8")
        self.cluster.wait_job(number, "RUNNING")
        self.assertEqual(self.put(number)[0][0], "n4")
        self.assertIn("put=1,", self.cluster.job(number)["AdminComment"])  # it was not tried elsewhere before

    def test_cores_that_a_job_cannot_use_are_left_to_others(self):
        self.serve()
        number = self.submit("--gres=gpu:1", "-c8", "--mem-per-cpu=400", self.SMALL, script='echo "cpus=$SLURM_CPUS_ON_NODE"; sleep 60')
        job = self.cluster.wait_job(number, "RUNNING")
        self.assertLess(int(job["NumCPUs"]), 8)
        self.told(number, f"cpus={job['NumCPUs']}\n")
        self.assertIn("mem=3200M", job.get("TRES") or job["ReqTRES"])  # 22.05, 24.11
        self.cluster.wait_until(lambda: f"it has {job['NumCPUs']} of the 8 cores" in self.server.run("why", str(number)).stdout,
                                self.server.run("why", str(number)).stdout)
        self.assertEqual(self.server.job(number)["cores"], int(job["NumCPUs"]))


class Plain(ServeTest):
    """GPUs as a site has them before our slots: the plugin holds jobs, and each GPU is one job's."""

    OPTIONS = {"slots": False, "nodes": {"n1": ("V100", 2), "n2": ("V100", 1)}}

    def test_gpus_without_shards_are_given_whole(self):
        self.serve()
        self.assertIn("each is given to one job at a time", self.server.said_in.read_text(encoding="utf-8"))
        numbers = [self.submit("--gres=gpu:1", Shared.SMALL) for _ in range(4)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 3, "three GPUs are not used by three jobs")
        time.sleep(2)
        self.assertEqual(len(self.cluster.squeue("-t", "R")), 3)
        running = [n for n in numbers if self.cluster.job(n)["JobState"] == "RUNNING"]
        self.assertEqual(sorted(self.told(n).strip() for n in running), ["n1 gpu=0", "n1 gpu=1", "n2 gpu=0"])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
