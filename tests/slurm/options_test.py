#!/usr/bin/env python3
"""Every GPU option of sbatch over a real Slurm, as the table in docs/slurm.md has it: Sharewell places the job, or leaves it to plain Slurm whole.
Either way the job has what it asked for. And who is let in, what a release gives back, and what the watchdog does."""

import os
import re
import time
import unittest
from typing import NamedTuple

from cluster import SITE, SlurmTest
from engine_test import ServeTest, USER

NOBODY = "games"
# What each task of the job sees: a line for each.
TELL = 'srun bash -c "echo task gpu=\\$CUDA_VISIBLE_DEVICES"; echo "srun $?"'


class Row(NamedTuple):
    options: str
    plain: str = ""  # why plain Slurm runs it; empty: Sharewell places it
    nodes: int = 1
    tasks: int = 1
    gpus: int = 1  # that each task sees
    cpus: int = 1  # of all its nodes
    mem: str = "500M"
    script: str = TELL


ROWS = (
    Row("--gres=gpu:1"),
    Row("--gres=gpu"),
    Row("--gres=gpu:V100:2", gpus=2),
    Row("--gres=gpu:v100:1"),
    Row("--gres=gpu:1 -C P100"),
    Row("--gpus=2", gpus=2),
    Row("--gpus=4 -n4", tasks=4, gpus=4, cpus=4, mem="2000M"),
    Row("--gpus=4 -N2 --ntasks-per-node=1", nodes=2, tasks=2, gpus=2, cpus=2, mem="1000M"),
    Row("--gpus=4 -C V100", nodes=2, tasks=2, gpus=2, cpus=2, mem="1000M"),
    Row("--gpus-per-node=2", gpus=2),
    Row("--gpus-per-node=P100:1"),
    Row("--gpus-per-task=1 -n1 -c2", cpus=2, mem="1000M"),
    Row("--gres=shard:40"),
    Row("-N2 --gres=gpu:1 --ntasks-per-node=2 -c6", nodes=2, tasks=4, cpus=24, mem="12000M"),  # S5
    Row("-N2 --gres=gpu:1 --mem=40G", nodes=2, tasks=2, cpus=2, mem="80G"),  # S5
    Row("-N2 --gres=gpu:1 -c8", nodes=2, tasks=2, cpus=16, mem="8000M"),  # S5: nothing is known of it: it keeps its CPUs
    Row("--gres=gpu:1 -c8", cpus=8, mem="4000M"),
    # What plain Slurm alone can do.
    Row("--gpus-per-task=1 -n4", "--gpus-per-task", tasks=4, cpus=4, mem="2000M"),
    Row("--gpus-per-socket=1 --sockets-per-node=2", "--gpus-per-socket"),
    Row("--gpus-per-socket=V100:1 --sockets-per-node=2", "--gpus-per-socket"),
    Row("-N1 --gpus=2 -n2 --gpu-bind=single:1", "--gpu-bind", tasks=2, cpus=2, mem="1000M"),
    Row("--gpus=1 --gpu-freq=low", "--gpu-freq"),
    Row("--gpus=1 --mem-per-gpu=3G", "--mem-per-gpu", mem="3G"),
    Row("-N1 --gpus=V100:2 --cpus-per-gpu=3", "--cpus-per-gpu", gpus=2, cpus=6, mem="3000M"),
    Row("-N1 --gpus=2 --ntasks-per-gpu=2", "--ntasks-per-gpu", tasks=4, cpus=4, mem="2000M"),
    Row("-N1 -n4 --ntasks-per-gpu=2", "--ntasks-per-gpu", tasks=4, cpus=4, mem="2000M"),
    Row("--gpus=3 -N2 -n2", "uneven-gpus", nodes=2, tasks=2, gpus=0, cpus=2, mem="1000M"),
    Row("-N2 --exclusive --mem=100", "several-nodes-without-gpus", nodes=2, tasks=2, gpus=0, cpus=32, mem="200M"),
    Row("-p also,gpu --gres=gpu:V100:1", "several-partitions"),
    Row("--gres=gpu:1", "srun-asks-for-gpus", script='srun --gres=gpu:1 bash -c "echo task gpu=\\$CUDA_VISIBLE_DEVICES"; echo "srun $?"'),
    Row("-N1 --gpus=2", "srun-asks-for-gpus", script='srun -n 1 \\\n  --gpus 1 bash -c "echo task gpu=\\$CUDA_VISIBLE_DEVICES"; echo "srun $?"'),
    # Another partition: nothing is done.
    Row("-p also --gres=gpu:1", "-"),
    Row("-p also -N1 --gpus=2 -C V100", "-", gpus=2),
)


class Options(ServeTest):
    OPTIONS = {"scripts": True}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.scontrol("create", "PartitionName=also", "Nodes=n1,n2,n3,n4", "State=UP")

    def tearDown(self):
        self.cluster.run("scancel", "-p", "also")
        super().tearDown()

    def is_as_the_row_says(self, row, number):
        self.cluster.wait_until(lambda: "srun " in self.cluster.output(number),
                                f"{row.options}: {self.cluster.job(number)} {self.server.run('why', str(number)).stdout}", 60)
        said, job = self.cluster.output(number), self.cluster.job(number)
        note = job.get("AdminComment", "").strip(' "')
        if row.plain:
            self.assertEqual(note, "" if row.plain == "-" else f"sharewell1 plain={row.plain}")
        else:
            self.assertRegex(note, r"^sharewell1 ask=\S+ put=1,")
            self.assertIn(",shards:50,", note)  # the other half is for whoever may join it
        self.assertIn("srun 0", said)
        seen = [line.partition("gpu=")[2] for line in said.splitlines() if line.startswith("task ")]
        self.assertEqual(len(seen), row.tasks, said)
        if row.gpus:
            self.assertEqual({len([gpu for gpu in one.split(",") if gpu]) for one in seen}, {row.gpus}, said)
        had = dict(part.split("=", 1) for part in (job.get("TRES") or job["AllocTRES"]).split(","))
        self.assertEqual((had["node"], had["cpu"], had["mem"]), (str(row.nodes), str(row.cpus), row.mem), job)

    def test_s6_each_option(self):
        self.serve()
        # From 24.11 on a job of one task has one node, so that four GPUs of this model are nowhere.
        old = " 22." in self.cluster.run("slurmctld", "-V").stdout
        rows = [row for row in ROWS if old or row.options != "--gpus=4 -C V100"]
        numbers = [self.submit(*row.options.split(" "), script=row.script) for row in rows]
        for row, number in zip(rows, numbers):
            with self.subTest(options=row.options):
                self.is_as_the_row_says(row, number)

    def test_s6_srun_and_salloc_by_themselves(self):
        self.serve()
        tell = ("bash", "-c", "echo gpu=$CUDA_VISIBLE_DEVICES")
        done = self.cluster.run("srun", "--gres=gpu:V100:1", *tell, user=USER)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("use --constraint=V100", done.stderr)
        for words in (("srun", "--gres=gpu:1", "-C", "V100", *tell), ("salloc", "--gres=gpu:V100:1", "srun", *tell)):
            done = self.cluster.run(*words, user=USER, timeout=60)
            self.assertRegex(done.stdout, r"^gpu=\d\n$", words)
            self.assertEqual("plain Slurm places this job" in done.stderr, words[0] == "srun", done.stderr)

    def test_s6_a_heterogeneous_job_has_whole_gpus_of_plain_slurm(self):
        self.serve()
        number = self.submit("--gres=gpu:V100:1", ":", "--gpus=2", "-n2", script='srun --het-group=0,1 bash -c "echo task gpu=\\$CUDA_VISIBLE_DEVICES"; sleep 60')
        self.told(number, "task", 20)
        self.cluster.wait_until(lambda: self.cluster.output(number).count("task") == 3, self.cluster.output(number), 10)
        self.assertEqual(sorted(len(line.split("=")[1].split(",")) for line in self.cluster.output(number).splitlines()), [1, 2, 2])
        self.assertEqual({line[2] for line in self.cluster.squeue(form="%i %T %N")} & {""}, set())
        # Its GPUs are taken: nine are left, less those two.
        others = [self.submit("--gres=gpu:1") for _ in range(8)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 2 + 7, "seven GPUs are free")
        time.sleep(2)
        self.assertEqual(sum(self.cluster.job(n)["JobState"] == "PENDING" for n in others), 1)

    def test_what_cannot_be_had_waits_or_is_refused_by_slurm(self):
        self.serve()
        done = self.cluster.sbatch("--gres=gpu:V100:1,gpu:P100:1", user=USER, check=False)
        self.assertIn("Requested node configuration is not available", done.stderr)
        number, words = self.submit("-N3", "--gpus-per-node=1"), "no GPU model has 1 GPU on each of 3 nodes"
        self.cluster.wait_until(lambda: words in self.server.run("why", str(number)).stdout, self.server.run("why", str(number)).stdout, 20)
        self.assertEqual(self.cluster.job(number)["Priority"], "0")


class Plugin(SlurmTest):
    """What it writes, without a server."""

    def test_s_impossible_requests_are_refused_as_plain_slurm_refuses_them(self):
        for options, words in (("--gres=gpu:9", "a node of partition gpu has at most 4 GPUs, and the job asks for 9"),
                               ("--gres=gpu:V100:4", "at most 2 GPUs of model V100"), ("--gres=gpu:H100:1", "has GPUs of model H100"),
                               ("-N5 --gres=gpu:1", "has 4 nodes with 1 GPU, and the job asks for 5"), ("--gpus=11", "has 10 GPUs")):
            done = self.cluster.sbatch(*options.split(" "), user=USER, check=False)
            self.assertIn(words, done.stderr)
            self.assertIn("Requested node configuration is not available", done.stderr)
        for options in ("--gres=gpu:4", "--gres=gpu:v100:2", "-N4 --gres=gpu:1", "--gpus=10"):
            self.assertIn("ask=", self.note(*options.split(" ")))
        self.assertIn("plain=uneven-gpus", self.note("-N2", "--gpus=6"))  # as 4 and 2

    def test_a_comment_of_the_users_is_never_overwritten(self):
        silent, says = self.cluster.sbatch("--gres=gpu:1", user=USER), self.cluster.sbatch("--gres=gpu:1", "--comment=mine", user=USER)
        for words in ("Comment=[sharewell] no GPU is free", "Comment=[sharewell] 2 jobs go before it"):
            for number in (silent, says):
                self.cluster.scontrol("update", f"JobId={number}", words)
        self.assertEqual(self.cluster.job(silent)["Comment"].strip(), "[sharewell] 2 jobs go before it")
        for number in (silent, says):
            self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n2", "Gres=shard:g0:50", "Comment=")
        self.assertEqual(self.cluster.job(silent).get("Comment", "").strip(), "")
        self.assertEqual(self.cluster.job(says)["Comment"].strip(), "mine")

    def note(self, *args, script="true"):
        number = self.cluster.sbatch("-H", *args, script=script, user=USER)
        found = self.cluster.run("squeue", "-h", "-a", "-j", number, "-O", "admin_comment:200", check=True).stdout.strip()
        self.cluster.run("scancel", number, check=True)
        return found

    def test_only_steps_that_ask_for_gpus_leave_a_job_to_plain_slurm(self):
        asks = ("srun --gres=gpu:1 a", "  srun -n 2 --gpus=1 a", "x=1; time srun --gpus-per-task 1 a", "srun -G1 a", "srun --gres gpu:2 a & wait",
                "srun \\\n --gpu-bind=none a")
        others = ("srun a", "# srun --gres=gpu:1 a", "srun -n2 python train.py --gpus 2", "srun python train.py --gres=gpu:1", "mysrun --gpus=1", "true")
        for script in asks + others:
            with self.subTest(script=script):
                self.assertEqual("plain=srun-asks-for-gpus" in self.note("--gres=gpu:1", script=script), script in asks)

    def test_the_user_is_told_and_jobs_without_gpus_are_not(self):
        done = self.cluster.sbatch("-H", "--gpus=1", "--gpu-freq=low", user=USER, check=False)
        self.assertIn("plain Slurm places this job, with whole GPUs (--gpu-freq;", done.stderr)
        done = self.cluster.sbatch("-H", "-n2", "--ntasks-per-core=1", user=USER, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_scripts_without_a_path_are_told_apart_by_what_they_say(self):
        def script(*words, **options):
            return re.search(r",script:([0-9a-f]{16})$", self.note("--gres=gpu:1", *words, **options).strip()).group(1)
        first = self.cluster.run("sbatch", "-H", "--parsable", "--gres=gpu:1", "--wrap", "python a.py", check=True).stdout.strip()
        self.assertRegex(self.cluster.scontrol("show", "job", "-o", first), r",script:[0-9a-f]{16} ")
        self.assertEqual(len({script(script="a"), script(script="b"), script(script="a" * 99999)}), 3)
        self.assertEqual(script(script="a"), script("-n2", script="a"))
        place = self.cluster.folder / "out/train.sh"
        place.write_text("#!/bin/bash\ntrue\n", encoding="utf-8")
        number = self.cluster.run("sbatch", "-H", "--parsable", "--gres=gpu:1", place, check=True).stdout.strip()
        self.assertNotIn("script:", self.cluster.scontrol("show", "job", "-o", number))

    @unittest.skipUnless(USER, "needs root: a user who is not the scheduler")
    def test_s7_nobody_asks_for_shards_of_a_slot(self):
        self.cluster.scontrol("create", "PartitionName=also", "Nodes=n1,n2,n3,n4", "State=UP")
        for partition in (self.cluster.partition, "also"):
            done = self.cluster.sbatch("-p", partition, "--gres=shard:g0:1", user=USER, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("are given by Sharewell", done.stderr)
            number = self.cluster.sbatch("-H", "-p", partition, "--gpus=1", "--gpu-freq=low", user=USER)
            for change in ("Gres=shard:g0:1", "TresPerJob=gres:shard:g0:1"):
                done = self.cluster.run("scontrol", "update", f"JobId={number}", change, user=USER)
                self.assertNotEqual(done.returncode, 0, (partition, change))
            self.assertNotIn("shard", self.cluster.job(number).get("TresPerNode", ""))
            self.cluster.run("scancel", number, check=True)

    def test_a_job_that_is_left_to_plain_slurm_is_its_users_again(self):
        number = self.cluster.sbatch("-H", "--gpus=1", "--gpu-freq=low", user=USER)
        self.cluster.scontrol("update", f"JobId={number}", "Nice=5", "TimeLimit=5", user=USER)
        self.assertEqual(self.cluster.run("scontrol", "update", f"JobId={number}", "Gres=gpu:2", user=USER).returncode == 0, USER is None)
        self.cluster.scontrol("release", number, user=USER)
        self.cluster.wait_job(number, "RUNNING")


class Released(SlurmTest):
    """S12: an admin's release of a job that has no place gives it what it asked for."""

    WAYS = {"--gres=gpu:V100:2": "0,1", "--gres=gpu:v100:1": "0", "--gpus=3": "0,1,2", "-N2 --gres=gpu:1 -C V100": "0"}
    TELL = 'echo "gpu=$CUDA_VISIBLE_DEVICES"; sleep 60'

    def test_s12_what_was_asked_for_is_given_back(self):
        for way, gpus in self.WAYS.items():
            with self.subTest(way=way):
                number = self.cluster.sbatch(*way.split(" "), script=self.TELL, user=USER)
                self.cluster.scontrol("release", number)
                self.cluster.wait_until(lambda n=number, g=gpus: f"gpu={g}\n" in self.cluster.output(n), f"{self.cluster.job(number)}", 20)
                self.assertRegex(self.cluster.job(number)["AdminComment"], r"^sharewell1 ask=\S+ plain=released")
                self.assertIn(f"job {number} was released without a place", (self.cluster.folder / "log/slurmctld.log").read_text(encoding="utf-8"))
                self.cluster.run("scancel", number, check=True)
        array = self.cluster.sbatch("--gres=gpu:1", "--array=0-1", script=self.TELL, user=USER)
        self.cluster.scontrol("release", array)
        self.cluster.wait_until(lambda: [line[1] for line in self.cluster.squeue("-r", "-j", str(array))] == ["RUNNING"] * 2, "the array waits", 20)

    def test_s12_one_that_lost_its_place_has_its_slots(self):
        """slurmctld 22.05 would die of a start without them."""
        number = self.cluster.sbatch("--gres=gpu:1", script=self.TELL, user=USER)
        self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n4", "Gres=shard:g3:50,shard:g1:1",
                              "AdminComment=sharewell1 ask=gpus:1 put=2,n4:g3,shards:50,sm:50,kept:g1")
        self.cluster.scontrol("update", f"JobId={number}", "TresPerNode=")
        self.cluster.scontrol("release", number)
        self.cluster.wait_until(lambda: "gpu=1,3\n" in self.cluster.output(number), f"{self.cluster.job(number)}", 20)

    def test_s12_one_that_was_placed_stays_as_it_was_placed(self):
        number = self.cluster.sbatch("--gres=gpu:1", script=self.TELL, user=USER)
        note = "sharewell1 ask=gpus:1 put=1,n4:g3,shards:50,sm:50"
        self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n4", "Gres=shard:g3:50", "AdminComment=" + note)
        self.cluster.scontrol("release", number)
        self.cluster.wait_until(lambda: "gpu=3\n" in self.cluster.output(number), f"{self.cluster.job(number)}", 20)
        self.assertEqual(self.cluster.job(number)["AdminComment"].strip(), note)

    def test_s9_the_watchdog_gives_back_what_was_asked_for_without_the_plugin(self):
        folder = self.cluster.folder
        script = folder / "etc/sharewell-watchdog"
        script.write_bytes((SITE / "watchdog.sh").read_bytes())
        script.chmod(0o755)
        (folder / "etc/sharewell-slurm.conf").write_text(f"HEARTBEAT={folder}/state/heartbeat\nSTAMP={folder}/run/watchdog\n", encoding="utf-8")
        numbers = {way: self.cluster.sbatch(*way.split(" "), script=self.TELL, user=USER) for way in self.WAYS if "V100:2" not in way}
        own = self.cluster.sbatch("--hold", "--gres=gpu:1", user=USER)
        left = self.cluster.sbatch("--hold", "--gpus=1", "--gpu-freq=low", user=USER)
        plain = [self.cluster.sbatch("--gres=gpu:1", user=USER)]
        self.cluster.scontrol("hold", plain[0])  # by an admin
        lua = folder / "etc/job_submit.lua"
        was = lua.read_text(encoding="utf-8")
        self.addCleanup(lua.write_text, was, encoding="utf-8")
        lua.write_text("function slurm_job_submit() return slurm.SUCCESS end\nfunction slurm_job_modify() return slurm.SUCCESS end\nreturn slurm.SUCCESS\n",
                       encoding="utf-8")
        done = self.cluster.run(script, "--now", timeout=60)
        self.assertIn(f"released {len(numbers) + (USER is None)} held jobs to Slurm, 0 could not be", done.stderr)
        for way, number in numbers.items():
            self.cluster.wait_until(lambda n=number, w=way: f"gpu={self.WAYS[w]}\n" in self.cluster.output(n) or
                                    self.cluster.output(n).count(",") == self.WAYS[w].count(",") == 0 and "gpu=" in self.cluster.output(n),
                                    f"{way}: {self.cluster.job(number)} {self.cluster.output(number)}", 20)
        for number in (own, left, *(plain if USER else ())):
            self.assertEqual(self.cluster.job(number)["Priority"], "0")


class OptIn(SlurmTest):
    """Of the jobs of its partition it takes those that are let in; the others are plain Slurm's, on the same nodes."""

    OPTIONS = {"opt_in": '{ comment = true, user = { ["%s"] = true }, account = { lab = true } }' % NOBODY}

    @unittest.skipUnless(USER, "needs root: a user who is not let in")
    def test_by_a_word_in_the_comment_by_user_or_by_account(self):
        for args, user, held in ((["--gres=gpu:V100:2"], USER, False), (["--gpus=1", "--comment=share well"], USER, False),
                                 (["--gres=gpu:1", "--comment=sharewellness"], USER, False), (["--gpus-per-task=1", "-n2"], USER, False),
                                 (["--gres=gpu:1", "--comment=sharewell"], USER, True), (["--gpus=1", "--comment=sharewell exclusive"], USER, True),
                                 (["--gpus=1"], NOBODY, True), (["--gpus=1", "-A", "lab"], USER, True), (["--gpus=1", "-A", "labs"], USER, False)):
            with self.subTest(args=args, user=user):
                number = self.cluster.sbatch(*args, user=user)
                if held:
                    self.assertEqual(self.cluster.job(number)["Priority"], "0")
                    self.assertIn("ask=gpus:1", self.cluster.job(number)["AdminComment"])
                else:
                    self.cluster.wait_job(number, "RUNNING", patience=20)
                    self.assertNotIn("AdminComment", self.cluster.job(number))
                self.cluster.run("scancel", number, check=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
