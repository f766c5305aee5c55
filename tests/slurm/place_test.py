#!/usr/bin/env python3
"""Placement as the engine does it, by hand, against a real Slurm: what a node's scripts make of it, and the watchdog."""

import os
import pathlib
import re
import shutil
import time
import unittest

from cluster import REPOSITORY, SITE, SlurmTest

USER = "daemon" if os.geteuid() == 0 else None
TELL = 'echo "$SLURMD_NODENAME gpu=$CUDA_VISIBLE_DEVICES shards=$SLURM_SHARDS_ON_NODE cpus=$SLURM_CPUS_ON_NODE"; sleep 60'


class Placing(SlurmTest):
    def submit(self, *args, script=TELL):
        return self.cluster.sbatch(*args, script=script, user=USER)

    def place(self, number, node, gres, *more):
        self.cluster.scontrol("update", f"JobId={number}", f"ReqNodeList={node}", f"Gres={gres}", *more)
        self.cluster.scontrol("release", number)

    def note(self, number, put):
        self.cluster.scontrol("update", f"JobId={number}", f"AdminComment=sharewell1 ask=gpus:1 put={put}")

    def told(self, number, text):
        self.cluster.wait_until(lambda: text in self.cluster.output(number), f"job {number} did not tell {text}: {self.cluster.output(number)}", 15)

    def test_the_chosen_gpu_and_two_jobs_on_it_and_no_third(self):
        first, second, third = (self.submit("--gres=gpu:1", "-c2") for _ in range(3))
        self.place(first, "n2", "shard:g1:60", "NumCPUs=3", "CPUsPerTask=3")
        self.place(second, "n2", "shard:g1:40")
        self.told(first, "n2 gpu=1 shards=60 cpus=3")
        self.told(second, "n2 gpu=1 shards=40 cpus=2")
        self.place(third, "n2", "shard:g1:10")
        time.sleep(2.5)  # two rounds of the scheduler
        self.assertEqual(self.cluster.job(third)["JobState"], "PENDING")
        self.cluster.scontrol("requeuehold", first)
        self.told(third, "n2 gpu=1 shards=10")

    def test_a_running_job_moves_to_another_node(self):
        """To the same slot: on x86_64 slurmctld 22.05 divides by zero and dies when a job that had shards of g1 starts with shards of g0."""
        number = self.submit("--gres=gpu:1")
        self.place(number, "n2", "shard:g1:60")
        self.told(number, "n2 gpu=1")
        self.cluster.scontrol("requeuehold", number)
        self.cluster.wait_job(number, "PENDING")
        self.assertEqual(self.cluster.job(number)["Priority"], "0")
        self.cluster.scontrol("update", f"JobId={number}", "TresPerNode=")
        self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n3", "TresPerNode=gres:shard:g1:50", "StartTime=now")
        self.cluster.scontrol("release", number)
        self.told(number, "n3 gpu=1 shards=50")

    def test_a_job_over_two_gpus_and_one_over_two_nodes(self):
        two = self.submit("--gpus=2")
        gang = self.submit("-N2", "--gres=gpu:1", script='srun bash -c "echo \\$SLURMD_NODENAME gpu=\\$CUDA_VISIBLE_DEVICES"; sleep 60')
        self.place(two, "n4", "shard:g0:100,shard:g3:100")
        self.place(gang, "n1,n3", "shard:g1:70")
        self.told(two, "n4 gpu=0,3")
        self.told(gang, "n1 gpu=1")
        self.told(gang, "n3 gpu=1")

    def test_the_queue_survives_a_killed_slurmctld(self):
        number, other = self.submit("--gres=gpu:1"), self.submit("--gres=gpu:1")
        self.place(number, "n1", "shard:g0:30")
        self.told(number, "n1 gpu=0")
        time.sleep(6)  # slurmctld writes its state within five seconds: what is younger is lost with it
        self.cluster.kill_controller()
        self.assertNotEqual(self.cluster.run("squeue", timeout=3).returncode, 0)
        self.cluster.start_controller()
        self.assertEqual(self.cluster.job(number)["JobState"], "RUNNING")
        self.assertEqual((self.cluster.job(other)["Priority"], self.cluster.job(other)["AdminComment"].strip()), ("0", "sharewell1 ask=gpus:1"))


# An MPS daemon's face: says what it was told into a file, and is "alive" as long as a file is there.
FAKE_MPS = """#!/bin/bash
case "$1" in
  --help) echo "$FAKE_HELP"; exit 0 ;;
  -d) touch "$CUDA_MPS_PIPE_DIRECTORY/alive"; echo "start $CUDA_MPS_PIPE_DIRECTORY as $(id -un) ${*:2}" >> @LOG@; exit 0 ;;
esac
read -r words
[ -e "$CUDA_MPS_PIPE_DIRECTORY/alive" ] || exit 1
case "$words" in quit*) rm "$CUDA_MPS_PIPE_DIRECTORY/alive"; echo "quit $CUDA_MPS_PIPE_DIRECTORY" >> @LOG@ ;; esac
exit 0
"""
MPS = 'env | grep -E "^CUDA_(MPS|VISIBLE)" | sort; echo end; sleep 60'


class ChangingSlots(SlurmTest):
    OPTIONS = {"scripts": True}
    submit, place, note, told = Placing.submit, Placing.place, Placing.note, Placing.told

    def test_a_job_that_changes_its_slot_keeps_a_shard_of_the_old_one_and_does_not_see_that_gpu(self):
        """Without that shard slurmctld 22.05 would die here on x86_64."""
        number = self.submit("--gres=gpu:1")
        self.note(number, "1,n2:g1,shards:60,sm:100")
        self.place(number, "n2", "shard:g1:60")
        self.told(number, "n2 gpu=1")
        self.cluster.scontrol("requeuehold", number)
        self.cluster.wait_job(number, "PENDING")
        self.cluster.scontrol("update", f"JobId={number}", "TresPerNode=")
        self.note(number, "2,n3:g0,shards:60,sm:100,kept:g1")
        self.place(number, "n3", "shard:g0:60,shard:g1:1", "StartTime=now")
        self.told(number, "n3 gpu=0 ")
        self.assertIsNone(self.cluster.processes["slurmctld"].poll())


class NodeScripts(SlurmTest):
    OPTIONS = {"scripts": True}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.log = cls.cluster.folder / "out/mps.log"
        fake = cls.cluster.folder / "etc/mps-control"
        fake.write_text(FAKE_MPS.replace("@LOG@", str(cls.log)), encoding="utf-8")
        fake.chmod(0o755)
        cls.settings = cls.cluster.folder / "etc/sharewell-slurm.conf"
        cls.plain = cls.settings.read_text(encoding="utf-8")

    def setUp(self):
        self.log.write_text("", encoding="utf-8")
        self.log.chmod(0o666)

    def with_mps(self, there=True):
        control = self.cluster.folder / "etc" / ("mps-control" if there else "absent")
        self.settings.write_text(self.plain + f"MPS_CONTROL={control}\n", encoding="utf-8")

    def placed(self, node, slot, put, *args):
        number = self.cluster.sbatch("--gres=gpu:1", *args, script=MPS, user=USER)
        self.cluster.scontrol("update", f"JobId={number}", f"ReqNodeList={node}", f"Gres=shard:{slot}:40",
                              f"AdminComment=sharewell1 ask=gpus:1 put=1,{node}:{slot},{put}")
        self.cluster.scontrol("release", number)
        self.cluster.wait_until(lambda: "end" in self.cluster.output(number), "it does not run", 15)
        return number, dict(line.split("=", 1) for line in self.cluster.output(number).splitlines() if "=" in line)

    def test_a_shared_gpu_has_a_daemon_for_as_long_as_jobs_share_it(self):
        self.with_mps()
        first, environment = self.placed("n1", "g1", "shards:40,sm:80,cores:2,mem:14000")
        pipe = environment.pop("CUDA_MPS_PIPE_DIRECTORY")
        self.assertEqual(environment.pop("CUDA_MPS_LOG_DIRECTORY"), pipe + ".log")
        self.assertEqual(environment, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "80",
                                       "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=14000M"})
        second, environment = self.placed("n1", "g1", "shards:40,sm:100")
        self.assertEqual(environment["CUDA_MPS_PIPE_DIRECTORY"], pipe)
        self.assertNotIn("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", environment)
        who = USER or pathlib.Path.home().owner()
        self.assertEqual(self.log.read_text(encoding="utf-8").splitlines(), [f"start {pipe} as {who} "])
        self.cluster.run("scancel", first, check=True)
        self.cluster.wait_until(lambda: len(os.listdir(self.cluster.folder / "mps/jobs")) == 1, "no epilog")
        self.assertNotIn("quit", self.log.read_text(encoding="utf-8"))
        self.cluster.run("scancel", second, check=True)
        self.cluster.wait_until(lambda: f"quit {pipe}" in self.log.read_text(encoding="utf-8"), "the daemon was not stopped")

    def test_a_job_that_shares_nothing_has_no_daemon(self):
        self.with_mps()
        _, environment = self.placed("n1", "g1", "shards:100,sm:100")
        self.assertEqual({name for name in environment if "MPS" in name}, set())
        self.assertEqual(self.log.read_text(encoding="utf-8"), "")

    def test_without_mps_jobs_run_and_the_node_stays_up(self):
        self.with_mps(there=False)
        _, environment = self.placed("n2", "g0", "shards:40,sm:60")
        self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", environment)
        self.assertEqual(self.cluster.node("n2")["State"].rstrip("*"), "MIXED")

    def test_a_forged_note_gains_nothing(self):
        self.with_mps(there=False)
        # Past the plugin: root may write what he likes.
        number = self.cluster.sbatch("--gres=gpu:1", script=MPS, user=USER)
        self.cluster.scontrol("update", f"JobId={number}", "Name=x AdminComment=sharewell1 ask=gpus:1 put=1,n2:g0,shards:1,sm:99,mem:99999")
        self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n2", "Gres=shard:g0:40",
                              "AdminComment=sharewell1 ask=gpus:1 put=1,n2:g0,shards:40,sm:30,mem:500")
        self.cluster.scontrol("release", number)
        self.cluster.wait_until(lambda: "end" in self.cluster.output(number), "it does not run", 15)
        self.assertIn("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30\n", self.cluster.output(number))
        self.assertIn("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=500M\n", self.cluster.output(number))

    def test_A4_words_of_another_field_are_no_note(self):
        """With --container they stand behind the note, or in its place where there is none."""
        self.with_mps()
        forged = "/x AdminComment=sharewell1 ask=gpus:1 put=1,n2:g0,shards:40,sm:99,mem:99999"
        for name, words in (("Prolog", self.cluster.folder / "etc/prolog.sh"), ("TaskProlog", self.cluster.folder / "etc/task_prolog.sh")):
            with self.subTest(name):
                # A partition that is not ours: the plugin looks at none of its jobs.
                self.cluster.run("scontrol", "create", "PartitionName=other", "Nodes=n2", "State=UP")
                self.addCleanup(self.cluster.run, "scancel", "-p", "other")
                number = self.cluster.sbatch("-p", "other", "-H", "--container", forged, "-J", "x" + forged, user=USER)
                self.assertIn("AdminComment=sharewell1", self.cluster.scontrol("show", "job", "-o", number))
                env = {"SLURM_JOB_ID": str(number), "SLURM_JOB_UID": "1", "SLURMD_NODENAME": "n2", "SQUEUE_STATES": "R"}
                done = self.cluster.run(words, env=env)
                self.assertEqual((done.returncode, done.stdout), (0, ""))
                self.assertFalse((self.cluster.folder / "mps/jobs" / str(number)).exists())
                self.assertFalse((self.cluster.folder / "steps" / str(number)).exists())
                self.cluster.run("scancel", number, check=True)

    def test_the_note_is_found_whatever_a_user_sets_for_squeue(self):
        self.with_mps(there=False)
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.cluster.scontrol("update", f"JobId={number}", "AdminComment=sharewell1 ask=gpus:1 put=1,n2:g0,shards:40,sm:30,mem:500")
        env = {"SLURM_JOB_ID": str(number), "SLURMD_NODENAME": "n2", "SQUEUE_STATES": "R", "SQUEUE_FORMAT": "%i", "SQUEUE_PARTITION": "none"}
        shutil.rmtree(self.cluster.folder / "mps/places", ignore_errors=True)  # as an older prolog leaves it: then the task asks
        self.assertIn("export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30\n", self.cluster.run(self.cluster.folder / "etc/task_prolog.sh", env=env).stdout)

    def test_B4_a_folder_for_steps_that_is_not_roots_is_not_used(self):
        """Its owner could put a file of his own in the place of another's."""
        self.with_mps(there=False)
        script, steps = self.cluster.folder / "etc/prolog.sh", self.cluster.folder / "steps"
        shutil.rmtree(steps, ignore_errors=True)
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.cluster.scontrol("update", f"JobId={number}", "AdminComment=sharewell1 ask=gpus:1 put=1,n2:g0,shards:40,sm:30,mem:500")
        env = {"SLURM_JOB_ID": str(number), "SLURM_JOB_UID": str(os.geteuid() or 1), "SLURMD_NODENAME": "n2"}
        mine = steps / str(number)

        def written():
            self.assertEqual(self.cluster.run(script, env=env).returncode, 0)
            return mine.exists()
        self.assertTrue(written())
        self.assertEqual((steps.stat().st_mode & 0o7777, mine.stat().st_mode & 0o7777, mine.stat().st_uid), (0o755, 0o600, os.geteuid() or 1))
        mine.unlink()
        steps.chmod(0o1777)
        self.assertFalse(written())
        steps.chmod(0o755)
        if USER:
            os.chown(steps, 1, 1)
            self.assertFalse(written())
        shutil.rmtree(steps)
        (self.cluster.folder / "out/evil").mkdir(exist_ok=True)
        steps.symlink_to(self.cluster.folder / "out/evil")
        self.assertFalse(written())
        steps.unlink()

    def test_B4_the_folder_for_steps_is_one_that_the_agents_unit_sees(self):
        made = re.search(r"^D (/\S+) 0755 root root", (SITE.parent / "tmpfiles/sharewell.conf").read_text(encoding="utf-8"), re.M).group(1)
        for name in ("prolog", "task_prolog", "epilog"):
            self.assertIn(f"\nSTEPS_FOLDER={made}", (SITE / f"{name}.sh").read_text(encoding="utf-8"))
        self.assertIn(f'slurm = "{made}";', (REPOSITORY / "src/collect/host_collectors.h").read_text(encoding="utf-8"))
        # PrivateTmp and ProtectHome hide these from it.
        self.assertFalse(made.startswith(("/tmp/", "/var/tmp/", "/home/", "/root/", "/run/user/")))

    def test_a_job_that_is_not_ours_is_left_alone(self):
        self.with_mps()
        number = self.cluster.sbatch(script=MPS, user=USER)
        self.cluster.wait_until(lambda: "end" in self.cluster.output(number), "it does not run", 15)
        self.assertEqual(self.cluster.output(number), "end\n")

    def test_the_task_starts_while_slurmctld_is_gone(self):
        """Prolog and task prolog wait a bounded time for an answer that never comes."""
        script = self.cluster.folder / "etc/task_prolog.sh"
        began = time.monotonic()
        env = {"SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n1", "SLURM_CONF": "/nowhere/slurm.conf"}
        done = self.cluster.run(script, env=env, timeout=15)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        done = self.cluster.run(self.cluster.folder / "etc/prolog.sh", env={**env, "SLURM_JOB_UID": "1"}, timeout=15)
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - began, 12)


class Watchdog(SlurmTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.cluster.folder
        cls.script = folder / "etc/sharewell-watchdog"
        cls.script.write_bytes((SITE / "watchdog.sh").read_bytes())
        cls.script.chmod(0o755)
        cls.heartbeat = folder / "state/heartbeat"
        (folder / "etc/sharewell-slurm.conf").write_text(f"HEARTBEAT={cls.heartbeat}\nSTAMP={folder}/run/watchdog\n", encoding="utf-8")

    def setUp(self):
        for place in (self.heartbeat, self.cluster.folder / "run/watchdog.since"):
            place.unlink(missing_ok=True)

    def beat(self, seconds_ago):
        self.heartbeat.touch()
        then = time.time() - seconds_ago
        os.utime(self.heartbeat, (then, then))

    def run_watchdog(self, *args):
        done = self.cluster.run(self.script, *args, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_a_living_server_keeps_its_jobs(self):
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.beat(590)
        self.assertEqual(self.run_watchdog(), "")
        self.assertEqual(self.cluster.job(number)["Priority"], "0")

    def test_a_server_on_another_machine_keeps_its_jobs_by_what_it_says_in_slurm(self):
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.beat(700)
        self.addCleanup(self.cluster.scontrol, "update", "NodeName=n1", "Extra=")

        def heard(partition, seconds_ago):
            now = int(time.time() * 1000)
            self.cluster.scontrol("update", "NodeName=n1", f"Extra=sharewell1,big,a,1,s,m,{now},{now - 700_000};"
                                  f"sharewell1,{partition},b,1,s,m,{now},{now - seconds_ago * 1000}")
        for partition in (self.cluster.partition, "*"):
            heard(partition, 60)
            self.assertEqual(self.run_watchdog(), "")
        self.assertEqual(self.cluster.job(number)["Priority"], "0")
        heard("other", 0)
        self.assertIn("released 1 held jobs", self.run_watchdog())

    def test_jobs_of_a_server_that_is_gone_run_under_plain_slurm(self):
        tell = 'echo "gpu=$CUDA_VISIBLE_DEVICES"; sleep 60'
        plain = self.cluster.sbatch("--gres=gpu:1", script=tell, user=USER)
        model = self.cluster.sbatch("--gres=gpu:P100:2", script=tell, user=USER)
        gang = self.cluster.sbatch("-N2", "--gpus=2", script=tell, user=USER)
        array = self.cluster.sbatch("--gres=gpu:1", "--array=0-1", user=USER)
        placed = self.cluster.sbatch("--gres=gpu:1", script=tell, user=USER)
        self.cluster.scontrol("update", f"JobId={placed}", "ReqNodeList=n4", "Gres=shard:g3:50",
                              "AdminComment=sharewell1 ask=gpus:1 put=1,n4:g3,shards:50,sm:50")
        moved = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.cluster.scontrol("update", f"JobId={moved}", "ReqNodeList=n4", "Gres=shard:g3:50",
                              "AdminComment=sharewell1 ask=gpus:1 put=1,n4:g3,shards:50,sm:50")
        self.cluster.scontrol("release", moved)
        self.cluster.wait_job(moved, "RUNNING")
        self.cluster.scontrol("requeuehold", moved)
        self.cluster.wait_job(moved, "PENDING")
        admins = self.cluster.sbatch("--gres=gpu:1", user=USER)
        if USER:
            self.cluster.scontrol("hold", admins)
        users = self.cluster.sbatch("-H", user=USER)
        self.beat(601)
        self.assertIn("released 6 held jobs" if USER else "held jobs", self.run_watchdog())
        for number in (plain, model, gang, placed):
            self.cluster.wait_job(number, "RUNNING", patience=20)
        self.cluster.wait_until(lambda: "gpu=" in self.cluster.output(plain), "")
        self.assertIn(self.cluster.job(model)["NodeList"], ("n3", "n4"))
        self.cluster.wait_until(lambda: len(self.cluster.output(model).strip()) == len("gpu=0,1"), "it has no two GPUs")
        self.cluster.wait_until(lambda: "gpu=3" in self.cluster.output(placed), "")
        self.assertEqual(self.cluster.job(gang)["NumNodes"], "2")
        self.assertNotEqual(self.cluster.job(moved)["Priority"], "0")
        self.cluster.wait_until(lambda: [line[1] for line in self.cluster.squeue("-r", "-j", str(array))] == ["RUNNING"] * 2, "the array waits")
        # What somebody else holds stays held.
        self.assertEqual(self.cluster.job(users)["Priority"], "0")
        if USER:
            self.assertEqual(self.cluster.job(admins)["Priority"], "0")
            self.cluster.run("scancel", admins, check=True)
        self.assertEqual(self.run_watchdog(), "")

    def test_a_heartbeat_that_was_never_there_counts_from_the_first_look(self):
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        self.assertEqual(self.run_watchdog(), "")
        then = time.time() - 700
        os.utime(self.cluster.folder / "run/watchdog.since", (then, then))
        self.assertIn("released 1 held jobs", self.run_watchdog())
        self.cluster.wait_job(number, "RUNNING")

    def test_the_way_out_releases_at_once(self):
        number = self.cluster.sbatch("--gres=gpu:1", user=USER)
        # One that has left its place, as after an eviction: slurmctld 22.05 dies of a start without the shards that it had.
        left = self.cluster.sbatch("--gres=gpu:1", script='echo "gpu=$CUDA_VISIBLE_DEVICES"; sleep 60', user=USER)
        self.cluster.scontrol("update", f"JobId={left}", "ReqNodeList=n4", "Gres=shard:g3:50,shard:g1:1",
                              "AdminComment=sharewell1 ask=gpus:1 put=2,n4:g3,shards:50,sm:50,kept:g1")
        self.cluster.scontrol("update", f"JobId={left}", "TresPerNode=")
        self.beat(0)
        self.assertIn("released 2 held jobs", self.run_watchdog("--now"))
        for one in (number, left):
            self.cluster.wait_job(one, "RUNNING")
        self.cluster.wait_until(lambda: "gpu=1,3" in self.cluster.output(left), self.cluster.output(left))


if __name__ == "__main__":
    unittest.main()
