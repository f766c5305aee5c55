#!/usr/bin/env python3
"""A second `sharewell serve --engine slurm` over a real Slurm, on the same machine and on another one: it does not place what the first one places."""

import os
import signal
import socket
import subprocess
import time
import unittest

from cluster import PATIENCE
from engine_test import PROGRAM, ServeTest


class TwoServers(ServeTest):
    def test_a_second_server_of_the_same_cluster_refuses_and_says_who_serves_it(self):
        self.serve()
        done = self.second()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"process {self.server.process.pid}", done.stderr)
        if os.geteuid() == 0:  # the lock of this machine says more
            self.assertIn(str(self.cluster.folder / "store.db"), done.stderr)

    def second(self, *before, timeout=30):
        """A server with a folder and a store of its own, until it ends."""
        return self.cluster.run(*before, *self.words(), timeout=timeout)

    def words(self):
        second = self.cluster.folder / "second"
        second.mkdir(mode=0o700, exist_ok=True)
        return (PROGRAM, "serve", "--engine", "slurm", "--partition", self.cluster.partition, "--listen", "none", "--socket", str(second / "s.sock"),
                "--store", str(second / "store.db"), "--state", str(second))

    def claims(self):
        """What servers say in Slurm: [[partition, host, process, store, machine, since, beat]]."""
        return [one.split(",")[1:] for one in self.cluster.node("n1").get("Extra", "").split(";") if one.startswith("sharewell1,")]

    def say(self, *claims):
        text = ";".join(",".join(["sharewell1", *map(str, claim)]) for claim in claims)
        self.cluster.scontrol("update", "NodeName=n1", f"Extra={text}")

    @unittest.skipUnless(os.geteuid() == 0, "needs namespaces")
    def test_a_second_server_on_another_machine_with_a_store_of_its_own_refuses_until_the_first_is_gone(self):
        # Another machine has another /run and another name. In a chroot nothing can be said of /, whose mounts are nobody else's there.
        elsewhere = ("unshare", "--mount", "--propagation", "unchanged", "--uts", "bash", "-c",
                     'mount --make-rprivate / 2>/dev/null || [ "$(findmnt -no PROPAGATION -T /run)" = private ] || exit 99; '
                     'mount -t tmpfs tmpfs /run && hostname elsewhere && exec "$@"', "bash")
        self.serve()
        [first] = self.claims()
        self.assertEqual(first[:3], [self.cluster.partition, socket.gethostname(), str(self.server.process.pid)])
        done = self.second(*elsewhere)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"another server places the jobs of Slurm's partition 'gpu': process {self.server.process.pid} on {socket.gethostname()}", done.stderr)
        self.assertEqual(self.claims(), [first], "nothing of it was touched")
        # The machine is lost: for two minutes nobody knows.
        self.server.end(signal.SIGKILL)
        self.assertEqual(self.second(*elsewhere).returncode, 1)
        self.say([*first[:6], int(first[6]) - 121_000])
        log = self.cluster.folder / "log/second.said"
        with open(log, "w", encoding="utf-8") as said:
            second = subprocess.Popen([*elsewhere, *self.words()], env=self.cluster.env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            self.cluster.wait_until(lambda: "socket for users" in log.read_text(encoding="utf-8"), log.read_text(encoding="utf-8"))
            self.assertEqual([claim[1] for claim in self.claims()], ["elsewhere"])
            number = self.submit("--gres=gpu:1", seconds=1)
            self.cluster.wait_job(number, "COMPLETED")
        finally:
            second.send_signal(signal.SIGTERM)
            self.assertEqual(second.wait(timeout=PATIENCE), 0)
        self.assertEqual(self.claims(), [], "who ends makes room")

    def test_of_two_that_began_at_once_the_later_one_stops_placing_and_says_why(self):
        self.serve()
        [mine] = self.claims()
        now = int(time.time() * 1000)
        younger = [self.cluster.partition, "elsewhere", 17, "theirs", "there", now + 1000, now]
        self.say(younger)
        self.cluster.wait_until(lambda: [claim[:3] for claim in self.claims()] == [mine[:3]], f"the earlier one gives way: {self.claims()}")
        older = [self.cluster.partition, "elsewhere", 17, "theirs", "there", int(mine[5]) - 1000, now]
        self.say(older)
        self.cluster.wait_until(lambda: "nothing is placed any more: another server" in self.server.said(), self.server.said())
        number = self.submit("--gres=gpu:1", seconds=1)
        time.sleep(3)  # a job that is placed begins within one
        self.assertEqual(self.cluster.job(number)["Priority"], "0")
        self.say()
        self.cluster.wait_job(number, "COMPLETED")
        self.assertIn("the other server is gone: jobs are placed again", self.server.said())


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
