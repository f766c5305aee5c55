#!/usr/bin/env python3
"""`sharewell slurm install` on a configuration as sites have it, before a real Slurm: nodes behind an Include, two sections of defaults, comments,
continued lines, a line of nodes of two partitions, gres.conf with cores and AutoDetect. Installed, restarted, and taken back byte by byte."""

import json
import os
import socket
import subprocess
import unittest

from cluster import Cluster, missing

PROGRAM = os.environ["SHAREWELL"]
USER = "daemon" if os.geteuid() == 0 else None
NODES = {"n1": ("V100", 2), "n2": ("V100", 2), "n3": ("P100", 2), "n4": ("P100", 2)}


def ordinary(cluster):
    """The cluster's own settings, and its nodes as an admin would have written them over the years."""
    host = socket.gethostname().split(".")[0]
    kept = [line for line in cluster.conf.read_text(encoding="utf-8").splitlines() if not line.startswith(("NodeName", "PartitionName", "GresTypes"))]
    ports = cluster.ports
    cluster.conf.write_text("\n".join(kept) + f"""
# ---- resources
grestypes = gpu   # no MPS here
Include nodes.conf
PartitionName=DEFAULT MaxTime=INFINITE State=UP   # all of them
PartitionName=gpu Nodes=n[1-3] Default=YES
partitionname=other Nodes=n4 # the chemists' own""", encoding="utf-8")
    (cluster.folder / "etc/nodes.conf").write_text(f"""# Rack 1
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:V100:2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports + 1}
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 \\
  Port={ports + 2} Feature=nvlink   # repaired in May
# Rack 2, the old machines
NodeName=DEFAULT CoresPerSocket=4 RealMemory=32000
NodeName=n[3-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports + 3}-{ports + 4}] GRES=gpu:P100:2 # two owners
""", encoding="utf-8")
    dev = f"{cluster.folder}/dev/nvidia"
    (cluster.folder / "etc/gres.conf").write_text(f"""AutoDetect=off
NodeName=n[1-2] Name=gpu Type=V100 File={dev}0 Cores=0-7   # near socket 0
NodeName=n[1-2] Name=gpu Type=V100 File={dev}1 Cores=8-15
NodeName=n[3-4] Name=gpu Type=P100 \\
  File={dev}[0-1]
""", encoding="utf-8")


def texts(cluster):
    return {path.name: path.read_bytes() for path in (cluster.folder / "etc").iterdir() if path.suffix == ".conf"}


@unittest.skipIf(missing(), missing())
class Install(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.cluster = Cluster(lua=None, slots=False, nodes=NODES)
        self.addCleanup(self.cluster.stop)
        ordinary(self.cluster)
        self.cluster.env["SHAREWELL_CRON"] = str(self.cluster.folder / "etc/cron")
        self.before = texts(self.cluster)

    def sharewell(self, *words, code=0):
        done = self.cluster.run(PROGRAM, "slurm", *words, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def script(self, *words, code=0):
        done = self.cluster.run("bash", "install.sh", *words, cwd=self.cluster.folder, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def print_script(self):
        text = self.sharewell("install", "--print", "--partition", "gpu", "--state", str(self.cluster.folder / "state")).stdout
        (self.cluster.folder / "install.sh").write_text(text, encoding="utf-8")
        return text

    def findings(self, code):
        return {f["name"]: f for f in json.loads(self.sharewell("check", "--partition", "gpu", "--json", code=code).stdout)["findings"]}

    def restart_in_order(self):
        """As the script's last words say."""
        self.cluster._end("slurmctld")
        for name in NODES:
            self.cluster._end(name)
            self.cluster.start_node(name)
        self.cluster.start_controller()

    def test_s2_s11_an_ordinary_site_in_and_out_again(self):
        self.cluster.start()
        tried = self.sharewell("install", "--try", "--partition", "gpu").stderr
        self.assertIn("4 nodes, slots on n[1-3]", tried)
        self.assertNotIn("It said", tried)
        self.print_script()
        self.assertEqual(texts(self.cluster), self.before, "nothing is changed by trying and printing")
        # A job of the other partition, which nobody may disturb, and one that would lose its GPU.
        other = self.cluster.sbatch("-p", "other", "--gres=gpu:P100:1", script="sleep 600", user=USER)
        own = self.cluster.sbatch("--gres=gpu:V100:1", script="sleep 600", user=USER)
        started = self.cluster.wait_job(other, "RUNNING")["StartTime"]
        self.cluster.wait_job(own, "RUNNING")
        self.assertIn(f"{own} of", self.script(code=1))
        self.assertEqual(texts(self.cluster), self.before)
        self.cluster.run("scancel", own, check=True)
        self.cluster.wait_job(own, "OVER")
        self.assertIn("systemctl stop slurmctld", self.script())
        nodes = (self.cluster.folder / "etc/nodes.conf").read_text(encoding="utf-8")
        slots = "gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100"
        self.assertIn(f"Feature=nvlink,V100 Gres={slots}   # repaired in May", nodes)
        self.assertIn(f"Port={self.cluster.ports + 4} GRES=gpu:P100:2 # two owners\nNodeName=n3", nodes)
        gres = (self.cluster.folder / "etc/gres.conf").read_text(encoding="utf-8")
        self.assertIn("Name=gpu Type=g1 File=" + str(self.cluster.folder) + "/dev/nvidia1 Cores=8-15\n", gres)
        self.assertIn(f"NodeName=n4 Name=gpu Type=P100 \\\n  File={self.cluster.folder}/dev/nvidia[0-1]\n", gres)
        self.assertEqual(self.findings(1)["restart"]["state"], "wrong", "slurmctld was not restarted")
        self.restart_in_order()
        self.cluster.wait_nodes("idle", ["n1", "n2", "n3"])
        found = self.findings(0)
        self.assertEqual({f["state"] for f in found.values()} - {"good", "note"}, set(), found)
        seen = {name: self.cluster.node(name) for name in NODES}
        self.assertEqual([seen[n]["Gres"][:8] for n in NODES], ["gpu:g0:1"] * 3 + ["gpu:P100"])
        self.assertEqual([seen[n]["CPUTot"] for n in NODES], ["16", "16", "8", "8"], "each has its own section's defaults")
        # The other partition's job ran on, and its GPU is still its own.
        now = self.cluster.job(other)
        self.assertEqual((now["JobState"], now["StartTime"]), ("RUNNING", started))
        both = [self.cluster.sbatch("-p", "other", "--gres=gpu:P100:1", script="sleep 600", user=USER) for _ in range(2)]
        self.cluster.wait_job(both[0], "RUNNING")
        self.cluster.wait_until(lambda: self.cluster.job(both[1])["Reason"] == "Resources", "a GPU was given out twice")
        # S11: the way out names who is in its way.
        held = self.cluster.sbatch("--gres=gpu:1", user=USER)
        shares = self.cluster.sbatch("--gres=gpu:1", script="sleep 600", user=USER)
        self.cluster.scontrol("update", f"JobId={shares}", "ReqNodeList=n2", "Gres=shard:g1:50")
        self.cluster.scontrol("release", shares)
        self.cluster.wait_job(shares, "RUNNING")
        installed = texts(self.cluster)
        said = self.script("--undo", code=1)
        for words in (f"{shares} of", f"{held} of", "waiting to be placed", "--anyway"):
            self.assertIn(words, said)
        self.assertNotIn(f"{other} of", said)
        self.assertEqual(texts(self.cluster), installed)
        self.cluster.run("scancel", shares, check=True)
        self.cluster.wait_job(shares, "OVER")
        # Somebody changed a file since.
        conf = self.cluster.conf.read_bytes()
        self.cluster.conf.write_bytes(conf + b"\n# since\n")
        self.assertIn("was changed since", self.script("--undo", "--anyway", code=1))
        self.cluster.conf.write_bytes(conf)
        self.assertIn("systemctl stop slurmctld", self.script("--undo", "--anyway"))
        self.assertEqual(texts(self.cluster) | {"sharewell-slurm.conf": b""}, self.before | {"sharewell-slurm.conf": b""})
        self.restart_in_order()
        self.script("--clean")
        self.assertEqual(self.cluster.wait_job(held, "RUNNING", patience=30)["NodeList"][0], "n")
        self.assertEqual(self.cluster.job(other)["JobState"], "RUNNING")
        self.assertEqual(texts(self.cluster), self.before)
        self.assertEqual([p.name for p in (self.cluster.folder / "etc").glob("*sharewell*")], [])
        self.cluster.run("scancel", "-p", "other", check=True)
        self.cluster.wait_until(lambda: not self.cluster.squeue("-p", "other"), "jobs do not end")

    def test_s10_a_restart_in_the_wrong_order_is_seen(self):
        self.cluster.start()
        self.print_script()
        self.script()
        self.cluster._end("slurmctld")
        self.cluster.start_controller()
        self.cluster.wait_until(lambda: "gres/" in self.cluster.node("n1").get("Reason", ""), "n1 is not drained")
        found = self.findings(1)
        self.assertEqual(found["node n1"]["state"], "wrong")
        self.assertIn("stop slurmctld", found["node n1"]["mend"])

    def test_what_it_cannot_read_is_refused_with_file_and_line(self):
        self.cluster.start()
        nodes, gres = self.cluster.folder / "etc/nodes.conf", self.cluster.folder / "etc/gres.conf"
        text = nodes.read_text(encoding="utf-8")
        for place, broken, words in (
                (nodes, text.replace("GRES=gpu:P100:2", "GRES=gpu:P100:1,gpu:V100:1"), "nodes.conf:8"),
                (nodes, text + "nonsense\n", "nodes.conf:9"),
                (nodes, text.replace("NodeName=n1 ", "NodeName=n[1 "), "nodes.conf:3"),
                (gres, self.before["gres.conf"].decode() + "NodeName=n1 Name=shard Count=8\n", "gres.conf:6"),
                (self.cluster.conf, self.before["slurm.conf"].decode() + "\nInclude gone.conf\n", "gone.conf")):
            kept = place.read_bytes()
            place.write_text(broken, encoding="utf-8")
            done = self.cluster.run(PROGRAM, "slurm", "install", "--print", "--partition", "gpu")
            self.assertIn(words, done.stderr)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            place.write_bytes(kept)

    def test_a_trial_says_what_slurmctld_says(self):
        nodes = self.cluster.folder / "etc/nodes.conf"
        nodes.write_text(nodes.read_text(encoding="utf-8").replace("RealMemory=32000", "RealMemory=much"), encoding="utf-8")
        done = self.sharewell("install", "--try", "--partition", "gpu", code=1)
        self.assertIn("did not start", done.stderr)
        self.assertIn("much", done.stderr)
        done = subprocess.run(["pgrep", "-f", "sharewell-try-"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "", "nothing is left running")


if __name__ == "__main__":
    unittest.main()
