#!/usr/bin/env python3
"""A real Slurm with slurmdbd and MariaDB: a site's own history becomes a trace that tells what would have changed; fair share and QOS say whose turn
it is; and how a job ended is known when Slurm itself has forgotten it."""

import csv
import io
import json
import os
import pwd
import shutil
import signal
import subprocess
import time
import unittest

from cluster import Cluster, free_ports
from engine_test import PROGRAM, ServeTest

MISSING = [c for c in ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacct", "sacctmgr")
           if not shutil.which(c, path=os.environ.get("PATH", "") + ":/usr/sbin")]


class AccountedCluster(Cluster):
    """With a database and a slurmdbd of its own, which are there before slurmctld is."""

    def __init__(self, enforce="", **options):
        self.database_port = free_ports(2)
        site = (f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={self.database_port + 1}\n"
                "AccountingStorageTRES=gres/gpu,gres/gpu:V100,gres/gpu:P100\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
                "AccountingStoreFlags=job_comment\nPriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nPriorityWeightQOS=1000")
        if enforce:
            site += f"\nAccountingStorageEnforce={enforce}"
        super().__init__(lua=None, slots=False, site=site, **options)
        if self.auth == "munge":  # where slurmdbd's munge listens
            with open(self.conf, "a", encoding="utf-8") as conf:
                conf.write(f"AccountingStoragePass={self.folder}/run/munge.sock\n")

    def start_controller(self, *args):
        if "slurmdbd" not in self.processes:
            self._start_database()
            # Before slurmctld, which works fair shares out when it starts, and later only every few minutes.
            for words in ("account poor fairshare=0", "account rich fairshare=9", "qos urgent priority=100", "user daemon account=poor",
                          "user games account=rich", "user bin account=rich qos=normal,urgent"):
                self.run("sacctmgr", "-i", "add", *words.split(), check=True)
        super().start_controller(*args)

    def _start_database(self):
        me, data = pwd.getpwuid(os.geteuid()).pw_name, self.folder / "db"
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={me}", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], env=self.env, capture_output=True, timeout=120, check=True)
        self._spawn("mariadbd", "mariadbd", "--no-defaults", f"--datadir={data}", f"--user={me}", "--bind-address=127.0.0.1",
                    f"--port={self.database_port}", f"--socket={self.folder}/run/db.sock", f"--pid-file={self.folder}/run/db.pid",
                    "--innodb-buffer-pool-size=64M")
        words = ["mariadb", "--no-defaults", f"--socket={self.folder}/run/db.sock", "-u", "root", "-e"]
        grant = "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'x'; GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1'"
        self.wait_until(lambda: self.run(*words, "SELECT 1").returncode == 0, "the database does not come up")
        self.run(*words, grant, check=True)
        auth = f"AuthType=auth/{self.auth}\n" + (f"AuthInfo=socket={self.folder}/run/munge.sock\n" if self.auth == "munge" else "")
        conf = self.folder / "etc/slurmdbd.conf"
        conf.touch(mode=0o600)
        conf.write_text(f"{auth}DbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={self.database_port + 1}\nSlurmUser={me}\n"
                        f"LogFile={self.folder}/log/slurmdbd.log\nPidFile={self.folder}/run/slurmdbd.pid\nStorageType=accounting_storage/mysql\n"
                        f"StorageHost=127.0.0.1\nStoragePort={self.database_port}\nStorageUser=slurm\nStoragePass=x\nStorageLoc=slurm_acct_db\n",
                        encoding="utf-8")
        self._spawn("slurmdbd", "slurmdbd", "-D")
        self.wait_until(lambda: self.run("sacctmgr", "-i", "show", "cluster").returncode == 0, "slurmdbd does not answer")
        self.run("sacctmgr", "-i", "add", "cluster", "lab")


@unittest.skipIf(MISSING, f"not installed: {' '.join(MISSING)}; run tools/setup")
class Accounts(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def sharewell(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], env=self.cluster.env, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_the_history_of_a_site_becomes_a_trace_and_tells_what_would_have_changed(self):
        one = self.cluster.sbatch("--gres=gpu:V100:1", "-J", "one", script="sleep 2")
        two = self.cluster.sbatch("--gres=gpu:P100:2", "-J", "two", script="sleep 2")
        cpus = self.cluster.sbatch("-c", "2", "-J", "cpus", script="sleep 1")
        array = self.cluster.sbatch("--gres=gpu:1", "--array=0-1", "-J", "many", script="sleep 1")
        fails = self.cluster.sbatch("--gres=gpu:1", "-J", "fails", script="exit 3")
        self.cluster.wait_until(lambda: not self.cluster.squeue(), "jobs do not end")

        def rows():
            text = self.cluster.run("sacct", "-a", "-X", "-n", "-P", "-j", ",".join(map(str, (one, two, cpus, array, fails))), "-o", "JobID,State,End").stdout
            return [line for line in text.splitlines() if "Unknown" not in line and "RUNNING" not in line and "PENDING" not in line]

        self.cluster.wait_until(lambda: len(rows()) == 6, f"sacct has not all jobs: {rows()}")
        out = self.cluster.folder / "history.csv"
        told = self.sharewell("trace", "import", "sacct", "--since", time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400)), "--out", str(out))
        trace = [row for row in csv.DictReader(io.StringIO("".join(
            line for line in out.read_text(encoding="utf-8").splitlines(True) if not line.startswith("#"))))]
        by_id = {row["id"]: row for row in trace}
        self.assertIn(str(one), by_id, told.stderr)
        self.assertEqual(by_id[str(one)]["gpus"], "1")
        self.assertEqual(by_id[str(two)]["gpus"], "2")
        self.assertIn(f"{array}_0", by_id)
        self.assertGreaterEqual(float(by_id[str(one)]["duration_seconds"]), 2)
        self.assertNotEqual(cpus, fails)
        machines = self.cluster.folder / "cluster.toml"
        machines.write_text("".join(f'[[nodes]]\ngpus = {count}\ngpu = "{model}"\ncores = 16\n' for model, count in self.cluster.nodes.values()),
                            encoding="utf-8")
        answer = self.sharewell("whatif", "--trace", str(out), "--cluster", str(machines))
        for word in ("really", "slot", "sharewell"):
            self.assertIn(word, answer.stdout)

    def held(self, *args, script, user=None, gpus=1):
        """A job that waits for the server: held and noted by hand, as there is no plugin here."""
        number = self.cluster.sbatch("--hold", *args, script=script, user=user)
        self.cluster.scontrol("update", f"JobId={number}", f"AdminComment=sharewell1 ask=gpus:{gpus}")
        return number

    @unittest.skipUnless(os.geteuid() == 0, "needs several users")
    def test_whose_turn_it_is_follows_fair_share_and_qos(self):
        shares = self.cluster.run("sshare", "-a", "-n", "-P", "-o", "User,FairShare", check=True).stdout.split()
        factor = {user.strip(): float(value) for user, _, value in (line.partition("|") for line in shares) if user and value}
        self.assertLess(factor["daemon"], factor["games"])
        self.assertEqual(factor["games"], factor["bin"])
        for name in self.cluster.nodes:  # the server begins without a node
            self.cluster.drain(name)
            self.addCleanup(self.cluster.resume, name)
        order = self.cluster.folder / "out/order"
        order.touch()
        order.chmod(0o666)
        # On all GPUs of n1, so that they run one after the other. At first nobody has used anything: the order is that of their submission. Then all
        # have used about as much, which counts half for who has the QOS, and four times for who has the small share.
        users = (("daemon",), ("games",), ("bin", "--qos=urgent"))
        numbers = [self.held(*qos, script=f"id -un >> {order}; sleep {seconds}", user=user, gpus=2) for seconds in (2, 0) for user, *qos in users]
        self.serve()
        for number in numbers:
            self.cluster.wait_until(lambda n=number: self.server.run("job", str(n)).returncode == 0, "the server does not have it")
        self.cluster.resume("n1")
        for number in numbers:
            self.cluster.wait_job(number, "COMPLETED")
        self.assertEqual(order.read_text(encoding="utf-8").split(), ["daemon", "games", "bin", "bin", "games", "daemon"])

    def test_yesterdays_ends_that_slurm_has_forgotten_are_read_from_its_accounting(self):
        go = self.cluster.folder / "out/go"
        script = f"while ! [ -e {go} ]; do sleep 0.1; done; exit "
        self.serve()
        ends = {self.held(script=script + code): (phase, int(code)) for phase, code in (("finished", "0"), ("failed", "3"))}
        for number in ends:
            self.cluster.wait_until(lambda n=number: self.server.run("job", str(n)).returncode == 0 and self.server.job(n)["phase"] == "running", "it waits")
        self.server.end(signal.SIGKILL)
        go.touch()
        for number in ends:
            self.cluster.wait_until(lambda n=number: "|2" in self.cluster.run("sacct", "-X", "-n", "-P", "-j", n, "-o", "State,End").stdout, "it does not end")
        self.cluster.kill_controller(signal.SIGTERM)
        self.cluster.start_controller("-c")
        self.cluster.wait_nodes("idle")
        self.assertEqual([self.cluster.job(number) for number in ends], [{}, {}], "slurmctld has forgotten them")
        self.serve()
        for number, (phase, code) in ends.items():
            self.cluster.wait_until(lambda n=number, p=phase: self.server.job(n)["phase"] == p, f"{number} is not {phase}")
            self.assertEqual(self.server.job(number)["exit_code"], code)


@unittest.skipIf(MISSING, f"not installed: {' '.join(MISSING)}; run tools/setup")
@unittest.skipUnless(os.geteuid() == 0, "needs several users")
class Limits(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(enforce="associations,limits,qos")
        cls.addClassCleanup(cls.cluster.stop)
        text = cls.cluster.conf.read_text(encoding="utf-8")
        cls.cluster.conf.write_text(text.replace("Default=YES", 'Default=YES TRESBillingWeights="CPU=1.0,GRES/gpu=10"'), encoding="utf-8")
        cls.cluster.env["SHAREWELL_CRON"] = str(cls.cluster.folder / "etc/cron")
        cls.cluster.start()

    def findings(self):
        done = self.cluster.run(PROGRAM, "slurm", "check", "--partition", "gpu", "--json")
        return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}, done.returncode

    def test_s4_limits_and_prices_of_gpus_hold_for_placed_jobs(self):
        self.cluster.run("sacctmgr", "-i", "modify", "qos", "normal", "set", "MaxTRESPU=gres/gpu=2", check=True)
        self.cluster.run("sacctmgr", "-i", "modify", "account", "poor", "set", "GrpTRES=gres/gpu=4", check=True)
        found, code = self.findings()
        names = ("MaxTRESPU of QOS normal", "GrpTRES of account poor", "billing of partition gpu", "TRES")
        self.assertEqual([found[name]["state"] for name in names], ["wrong", "wrong", "wrong", "missing"])
        self.assertEqual(code, 1)
        script = self.cluster.run(PROGRAM, "slurm", "install", "--print", "--partition", "gpu", check=True).stdout
        self.cluster.run("bash", "-c", script, check=True)
        self.cluster.restart()
        for name in names[:2]:
            self.cluster.run(*found[name]["mend"].replace("sacctmgr", "sacctmgr -i").split(), check=True)
        found, _ = self.findings()
        self.assertEqual([found[name]["state"] for name in names], ["good"] * 4, found)
        # Three shares of half a GPU's memory, then a whole GPU: the fourth is one too many for two GPUs.
        numbers = [self.cluster.sbatch("--hold", script="sleep 60", user="daemon") for _ in range(4)]
        for number, gres in zip(numbers, ("shard:g0:50", "shard:g0:50", "shard:g1:50", "shard:g1:100")):
            self.cluster.scontrol("update", f"JobId={number}", f"Gres={gres}")
            self.cluster.scontrol("release", number)
        for number in numbers[:3]:
            self.cluster.wait_job(number, "RUNNING")
        self.cluster.wait_until(lambda: "PerUser" in self.cluster.job(numbers[3])["Reason"], "the limit does not hold")
        job = self.cluster.job(numbers[0])
        given = job.get("AllocTRES") or job["TRES"]  # 24.11, 22.05
        self.assertIn("gres/shard=50", given)
        self.assertIn("billing=6", given)


if __name__ == "__main__":
    unittest.main()
