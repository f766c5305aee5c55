#!/usr/bin/env python3
"""A site's own history: jobs that a real Slurm with slurmdbd and MariaDB accounted for become a trace, and the trace tells what would have changed."""

import csv
import io
import os
import pwd
import shutil
import subprocess
import time
import unittest

from cluster import Cluster, SlurmTest, free_ports

PROGRAM = os.environ["SHAREWELL"]
MISSING = [c for c in ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacct", "sacctmgr")
           if not shutil.which(c, path=os.environ.get("PATH", "") + ":/usr/sbin")]


class AccountedCluster(Cluster):
    """With a database and a slurmdbd of its own, which are there before slurmctld is."""

    def __init__(self, **options):
        self.database_port = free_ports(2)
        site = (f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={self.database_port + 1}\n"
                "AccountingStorageTRES=gres/gpu,gres/gpu:V100,gres/gpu:P100\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
                "AccountingStoreFlags=job_comment")
        super().__init__(lua=None, slots=False, site=site, **options)
        if self.auth == "munge":  # where slurmdbd's munge listens
            with open(self.conf, "a", encoding="utf-8") as conf:
                conf.write(f"AccountingStoragePass={self.folder}/run/munge.sock\n")

    def start_controller(self):
        if "slurmdbd" not in self.processes:
            self._start_database()
        super().start_controller()

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
class Accounts(SlurmTest):
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
            text = self.cluster.run("sacct", "-a", "-X", "-n", "-P", "-o", "JobID,State,End").stdout
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


if __name__ == "__main__":
    unittest.main()
