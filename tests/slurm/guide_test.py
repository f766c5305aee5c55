#!/usr/bin/env python3
"""docs/slurm.md as an admin follows it: a plain Slurm, check, install, a first job that is held for us, and the way back out."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from cluster import REPOSITORY, SlurmTest

PROGRAM = os.environ["SHAREWELL"]
USER = "daemon" if os.geteuid() == 0 else None
GUIDE = (REPOSITORY / "docs/slurm.md").read_text(encoding="utf-8")


class Guide(SlurmTest):
    OPTIONS = {"lua": None, "slots": False}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.env["SHAREWELL_CRON"] = str(cls.cluster.folder / "etc/cron")

    def command(self, words, code=0):
        """A command of the guide: it must stand there."""
        self.assertIn(words, GUIDE)
        words = words.replace("sharewell", PROGRAM, 1).replace(" > install.sh", f" --state {self.cluster.folder}/state > install.sh")
        done = self.cluster.run("bash", "-c", words, cwd=self.cluster.folder / "etc", timeout=60)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def check(self, *args):
        done = self.cluster.run(PROGRAM, "slurm", "check", "--partition", "gpu", "--json", *args)
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if found["ready"] else 1)
        return {finding["name"]: finding["state"] for finding in found["findings"]}

    def test_in_and_out_again(self):
        before = {name: (self.cluster.folder / "etc" / name).read_text(encoding="utf-8") for name in ("slurm.conf", "gres.conf")}
        # 1 and 2: nothing is changed yet.
        said = self.command("sharewell slurm check --partition gpu", code=1)
        self.assertIn("missing  job_submit.lua", said)
        found = self.check()
        self.assertEqual([found[n] for n in ("slurmctld", "GRES", "shards", "Prolog", "watchdog")], ["good", *["missing"] * 4])
        self.command("sharewell slurm install --print --partition gpu > install.sh")
        for name, text in before.items():
            self.assertEqual((self.cluster.folder / "etc" / name).read_text(encoding="utf-8"), text)
        # 3.
        self.command("bash install.sh")
        installed = self.cluster.conf.read_text(encoding="utf-8")
        self.command("bash install.sh", code=1)  # a second time says so, and changes nothing
        self.assertEqual(self.cluster.conf.read_text(encoding="utf-8"), installed)
        self.cluster.restart()
        self.assertIn("This cluster is ready", self.command("sharewell slurm check --partition gpu"))
        self.assertEqual(set(self.check().values()) - {"good", "note"}, set())
        self.assertEqual(self.cluster.node("n1")["Gres"], "gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100")
        self.assertEqual(self.cluster.node("n4")["ActiveFeatures"], "P100")
        # 5: a job is held, two share a GPU.
        held = self.cluster.sbatch("--gres=gpu:V100:1", user=USER)
        self.assertEqual(self.cluster.job(held)["AdminComment"].strip(), "sharewell1 ask=gpus:1,model:V100")
        both = [self.cluster.sbatch("--gres=gpu:1", script='echo "gpu=$CUDA_VISIBLE_DEVICES"; sleep 30', user=USER) for _ in range(2)]
        for number in both:
            self.cluster.scontrol("update", f"JobId={number}", "ReqNodeList=n2", "Gres=shard:g1:50")
            self.cluster.scontrol("release", number)
        for number in both:
            self.cluster.wait_until(lambda n=number: "gpu=1" in self.cluster.output(n), "they do not share a GPU")
            self.cluster.run("scancel", number, check=True)
        # The way back: what was held runs under plain Slurm, and the files are as they were.
        self.cluster.wait_until(lambda: len(self.cluster.squeue()) == 1, "jobs do not end")
        self.command("bash install.sh --undo", code=1)  # it names the held one
        self.cluster.run("bash", "install.sh", "--undo", "--anyway", cwd=self.cluster.folder / "etc", check=True)
        self.cluster.restart()
        self.command("bash install.sh --clean")
        self.cluster.wait_job(held, "RUNNING", patience=20)
        self.assertIn(self.cluster.job(held)["NodeList"], ("n1", "n2"))
        for name, text in before.items():
            self.assertEqual((self.cluster.folder / "etc" / name).read_text(encoding="utf-8"), text)
        self.assertEqual([p.name for p in (self.cluster.folder / "etc").glob("sharewell*")], [])
        plain = self.cluster.sbatch("--gres=gpu:V100:1", user=USER, script="true")
        self.assertNotIn("AdminComment", self.cluster.wait_job(plain, "COMPLETED"))

    def test_every_command_of_the_guide_exists(self):
        for words in re.findall(r"^sharewell (\w+)", GUIDE, re.MULTILINE):
            self.assertEqual(subprocess.run([PROGRAM, words, "--help"], stdout=subprocess.DEVNULL, check=False).returncode, 0, words)


class Findings(SlurmTest):
    OPTIONS = {"scripts": True}

    def check(self, *args, code=1, env=None):
        done = self.cluster.run(PROGRAM, "slurm", "check", "--json", *args, env=env, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}

    def test_what_is_wrong_is_said_with_what_mends_it(self):
        found = self.check()
        self.assertEqual([n for n, f in found.items() if f["state"] not in ("good", "note")], ["watchdog"])
        self.cluster.scontrol("update", "NodeName=n1", "AvailableFeatures=fast", "ActiveFeatures=fast")
        self.assertIn("n1", self.check()["GPU model"]["what"])
        self.cluster.scontrol("update", "NodeName=n1", "AvailableFeatures=V100", "ActiveFeatures=V100")

    def test_a_slurmctld_that_is_down_and_one_that_would_die(self):
        self.cluster.kill_controller()
        text = self.cluster.conf.read_text(encoding="utf-8")
        self.cluster.conf.write_text(text + "AccountingStorageTRES=gres/gpu\n", encoding="utf-8")
        found = self.check()
        self.assertEqual((found["slurmctld"]["state"], found["accounting"]["state"]), ("wrong", "deadly"))
        self.cluster.conf.write_text(text, encoding="utf-8")
        self.cluster.start_controller()

    def test_no_configuration(self):
        found = self.check(env={"SLURM_CONF": "/nowhere/slurm.conf"})
        self.assertEqual(list(found), ["slurmctld"])
        self.assertIn("SLURM_CONF", found["slurmctld"]["mend"])
        done = self.cluster.run(PROGRAM, "slurm", "install", "--print", env={"SLURM_CONF": "/nowhere/slurm.conf"})
        self.assertEqual(done.returncode, 3)

    def test_usage(self):
        for args in (["install"], ["chekc"], ["check", "--partition", "none"], ["check", "--partition", "a b"]):
            done = self.cluster.run(PROGRAM, "slurm", *args)
            self.assertEqual(done.returncode, 2, args)


if __name__ == "__main__":
    unittest.main()
