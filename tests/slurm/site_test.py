#!/usr/bin/env python3
"""A whole site before Sharewell comes: slurmdbd with enforced limits and a QOS that preempts, SlurmUser=slurm, GPU types in lower case, two partitions
over the same nodes, nodes behind an Include. It is checked, changed by the script, and runs jobs of both partitions within its limits."""

import json
import os
import pwd
import shutil
import unittest

from accounts_test import MISSING, AccountedCluster
from engine_test import PROGRAM, ServeTest

ANN, BEN = "daemon", "games"


def has_slurm_account():
    try:
        return pwd.getpwnam("slurm").pw_uid != 0
    except KeyError:
        return False


class SiteCluster(AccountedCluster):
    """slurmctld and slurmdbd run as slurm; slurmd is root's."""

    def __init__(self):
        super().__init__(enforce="associations,limits,qos,safe", nodes={"n1": ("V100", 2), "n2": ("V100", 2)})
        text = self.conf.read_text(encoding="utf-8").replace("SlurmUser=root", "SlurmUser=slurm").replace("gpu:V100", "gpu:v100")
        text = text.replace("AccountingStorageTRES=gres/gpu,gres/gpu:v100,gres/gpu:P100", "AccountingStorageTRES=gres/gpu")
        lines = text.splitlines()
        nodes = [line for line in lines if line.startswith("NodeName")]
        (self.folder / "etc/nodes.conf").write_text("\n".join(nodes) + "\n", encoding="utf-8")
        kept = [line for line in lines if not line.startswith(("NodeName", "PartitionName"))]
        self.conf.write_text("\n".join([*kept, "PreemptType=preempt/qos", "PreemptMode=REQUEUE", "include nodes.conf",
                                        'PartitionName=gpu Nodes=n[1-2] Default=YES TRESBillingWeights="CPU=1.0,GRES/gpu=10"',
                                        "PartitionName=debug Nodes=n1,n2 MaxTime=60"]) + "\n", encoding="utf-8")
        gres = self.folder / "etc/gres.conf"
        gres.write_text(gres.read_text(encoding="utf-8").replace("V100", "v100"), encoding="utf-8")
        for name in ("state", "log", "run", "etc"):
            shutil.chown(self.folder / name, "slurm")

    def _spawn(self, name, *words):
        if name == "slurmdbd":
            conf = self.folder / "etc/slurmdbd.conf"
            conf.write_text(conf.read_text(encoding="utf-8").replace("SlurmUser=root", "SlurmUser=slurm"), encoding="utf-8")
            shutil.chown(conf, "slurm")
        is_slurms = name in ("slurmctld", "slurmdbd")
        super()._spawn(name, *(("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", *words) if is_slurms else words))

    def start_controller(self, *args):
        is_first = "slurmdbd" not in self.processes
        super().start_controller(*args)
        if is_first:
            for words in ("add qos high priority=50 preempt=normal", "modify user daemon set qos+=high", "modify qos normal set MaxTRESPU=gres/gpu=2"):
                self.run("sacctmgr", "-i", *words.split(), check=True)


@unittest.skipIf(MISSING, f"not installed: {' '.join(MISSING)}; run tools/setup")
@unittest.skipUnless(os.geteuid() == 0 and has_slurm_account(), "needs root and an account called slurm")
class Site(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SiteCluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.env["SHAREWELL_CRON"] = str(cls.cluster.folder / "etc/cron")
        cls.cluster.start()

    def sharewell(self, *words, code=0):
        done = self.cluster.run(PROGRAM, "slurm", *words, timeout=120, cwd=self.cluster.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def bad(self, code):
        found = json.loads(self.sharewell("check", "--partition", "gpu", "--json", code=code))["findings"]
        return {f["name"]: f for f in found if f["state"] not in ("good", "note")}

    def test_a_site_takes_sharewell_in_and_its_rules_hold(self):
        # Before: plain Slurm runs a job, and its week is simulated.
        old = self.cluster.sbatch("--gres=gpu:v100:1", script="sleep 2", user=ANN)
        self.cluster.wait_job(old, "COMPLETED")
        self.cluster.wait_until(lambda: "COMPLETED|2" in self.cluster.run("sacct", "-X", "-n", "-P", "-j", old, "-o", "State,End").stdout, "sacct does not have it")
        said = self.sharewell("preview", "--partition", "gpu", "--out", "week")
        for words in ("really", "sharewell instead of slot: of 1 job", "90 % busy", "sharewell whatif --trace week/history.csv"):
            self.assertIn(words, said)
        self.assertIn('gpu = "V100', (self.cluster.folder / "week/cluster.toml").read_text(encoding="utf-8"))
        # In.
        limit = self.bad(1)["MaxTRESPU of QOS normal"]["mend"]
        script = self.sharewell("install", "--print", "--partition", "gpu", "--state", str(self.cluster.folder / "state"))
        self.cluster.run("bash", "-c", script, check=True)
        self.cluster.restart()
        self.cluster.run(*limit.replace("sacctmgr", "sacctmgr -i").split(), check=True)
        self.assertEqual(self.bad(0), {})
        self.serve()
        # A job of each partition, on the same nodes; the GPU of the other one's is not given out.
        debug = self.cluster.sbatch("-p", "debug", "--gres=gpu:1", "-t10", script="sleep 300", user=ANN)
        self.cluster.wait_job(debug, "RUNNING")
        self.cluster.wait_until(lambda: f"Slurm job {debug} of {ANN} has it" in self.server.run("top", "--json").stdout, "its GPU is not taken", 20)
        anns = [self.alone("--gres=gpu:v100:1", user=ANN) for _ in range(3)]
        self.cluster.wait_until(lambda: len(self.cluster.squeue("-t", "R")) == 3, "two of hers do not run")
        # Her third GPU is beyond her limit, which holds for placed jobs; another user has it.
        third = next(n for n in anns if self.cluster.job(n)["JobState"] == "PENDING")
        self.cluster.wait_until(lambda: "PerUser" in self.server.run("why", str(third)).stdout, self.server.run("why", str(third)).stdout, 40)
        bens = self.alone("--gres=gpu:1", user=BEN)
        self.assertEqual(self.cluster.wait_job(bens, "RUNNING")["Restarts"], "0")
        # Why it waits is shown where users look.
        silent = self.cluster.sbatch("--gres=gpu:2", "-w", "n1", script="sleep 300", user=BEN)
        self.cluster.wait_until(lambda: "[sharewell]" in self.cluster.job(silent).get("Comment", ""), "squeue does not say why", 45)
        self.assertIn("sharewell exclusive", self.cluster.job(third)["Comment"])
        # A QOS that preempts has the place of one of the others.
        high = self.cluster.sbatch("--gres=gpu:1", "--qos=high", script="sleep 3", user=ANN)
        self.cluster.wait_job(high, "RUNNING", "COMPLETED", patience=90)
        self.assertEqual(self.cluster.job(debug)["JobState"], "RUNNING")

    def alone(self, *args, user):
        return self.cluster.sbatch(*args, "--comment=sharewell exclusive", script="sleep 300", user=user)

    def tearDown(self):
        self.cluster.run("scancel", "-p", "debug")
        super().tearDown()


if __name__ == "__main__":
    unittest.main()
