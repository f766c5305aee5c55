#!/usr/bin/env python3
"""stress: short runs of each pressure, what is refused, and that nothing is left behind.

How well levels are held is tests/acceptance/stress.py's to say: here the machine may be busy, so exit 4
(not held) is as good as 0.
"""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest

ANY_LEVEL = (0, 4)


def tmpfs_folder():
    for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind = line.split()[:3]
        if kind == "tmpfs" and os.access(folder, os.W_OK):
            return folder
    return None


class Stress(ProgramTest):
    def press(self, *args):
        """The pressures of a run's JSON."""
        done = self.run_program("stress", *args, "--json")
        self.assertIn(done.returncode, ANY_LEVEL, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], 1)
        self.assertFalse(document["interrupted"])
        for row in document["pressures"]:
            self.assertEqual(row["held"], row["why"] is None, row)
            self.assertGreater(row["mean"], 0)
            self.assertAlmostEqual(row["mean"], sum(row["per_second"]) / len(row["per_second"]))
        self.assertEqual(done.returncode == 0, all(row["held"] for row in document["pressures"]))
        self.assertEqual(list(self.folder.iterdir()), [])
        return document["pressures"], done.stderr

    def test_several_at_once(self):
        rows, said = self.press("--cpu", "0.2", "--llc", "1MiB", "--capacity", "llc=4MiB", "--for", "2s")
        self.assertEqual([row["kind"] for row in rows], ["llc", "cpu"])
        self.assertEqual([row["unit"] for row in rows], ["bytes", "cores"])
        self.assertEqual([len(row["per_second"]) for row in rows], [2, 2])
        self.assertAlmostEqual(rows[1]["target"], 0.2)
        self.assertIn("2 s  llc ", said)

    def test_memory_is_measured_first(self):
        (row,), said = self.press("--membw", "25%", "--for", "1s")
        self.assertAlmostEqual(row["target"], row["capacity"] / 4)
        self.assertIsNotNone(row["capacity_spread_ratio"])
        self.assertIn("membw: target", said)

    def test_the_table(self):
        done = self.run_program("stress", "--cpu", "10%", "--for", "1s")
        self.assertIn(done.returncode, ANY_LEVEL, done.stderr)
        self.assertIn("pressure", done.stdout)
        self.assertIn("busy loops", done.stdout)

    def test_disk(self):
        done = self.run_program("stress", "--disk", "1MB/s", "--capacity", "disk=100MB/s", "--for", "1s", "--json")
        if done.returncode not in ANY_LEVEL:  # the folder lies in memory, or its disk is full
            self.assertRegex(done.stderr, "lies in memory|are needed")
            return
        row = json.loads(done.stdout)["pressures"][0]
        self.assertGreater(row["mean"], 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_disk_in_memory_is_none(self):
        folder = tmpfs_folder()
        if folder is None:
            self.skipTest("no tmpfs here")
        self.assertIn("lies in memory", self.fail_with(2, "stress", "--disk", "1MB/s", "--disk-path", folder))

    def test_no_gpu_driver(self):
        environment = dict(os.environ, SHAREWELL_LIBCUDA="/no/such/libcuda.so.1")
        done = self.run_program("stress", "--pcie", "1GB/s", env=environment)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("NVIDIA driver", done.stderr)

    def test_what_is_refused(self):
        for args, says in (
                ((), "no pressure is given"),
                (("--cpu", "0"), "more than 0"),
                (("--cpu", "-1"), "more than 0"),
                (("--cpu", "100000"), "more than there is; this machine has"),
                (("--cpu", "0.0001"), "too little"),
                (("--cpu", "two"), "--cpu: 'two' is not allowed"),
                (("--membw", "10"), "10GB/s"),
                (("--membw", "120%"), "at most 100%"),
                (("--membw", "10parsecs/s"), "10GB/s"),
                (("--llc", "8MiB", "--capacity", "llc=4MiB"), "4.19 MB"),
                (("--cpu", "0.1", "--for", "0s"), "--for"),
                (("--cpu", "0.1", "--for", "soon"), "--for"),
                (("--cpu", "0.1", "--cpus", "99999"), "--cpus|CPU 99999"),
                (("--cpu", "0.1", "--cpus", "x"), "--cpus"),
                (("--cpu", "0.1", "--gpu", "1"), "there is no --pcie"),
                (("--cpu", "0.1", "--disk-path", "."), "there is no --disk"),
                (("--cpu", "0.1", "--capacity", "membw=1GB/s"), "there is no --membw"),
                (("--cpu", "0.1", "--capacity", "cpu=2"), "is known"),
                (("--cpu", "0.1", "--capacity", "tape=2"), "no pressure is called 'tape'"),
                (("--cpu", "0.1", "--capacity", "2"), "membw=20GB/s"),
                (("--disk", "1MB/s", "--disk-path", "no/such/folder"), "No such file"),
                (("--disk", "1MB/s", "--disk-access", "erase"), "read or write"),
                (("--pcie", "1GB/s", "--pcie-direction", "up"), "to-device"),
                (("--cpu", "0.1", "--cpu", "0.2"), "more than once"),
                (("--cpu",), "needs a value"),
                (("--menbw", "50%"), "did you mean '--membw'")):
            with self.subTest(args=args):
                self.assertRegex(self.fail_with(2, "stress", *args), says)

    def test_an_interrupt_ends_it_with_what_was_measured(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([PROGRAM, "stress", "--cpu", "0.1", "--for", "1h", "--json"], cwd=self.folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as running:
                for line in running.stderr:
                    if line.strip().startswith("1 s"):
                        break
                sent = time.monotonic()
                running.send_signal(number)
                out, _ = running.communicate(timeout=60)
                self.assertLess(time.monotonic() - sent, 10)
            self.assertEqual(running.returncode, 128 + number)
            document = json.loads(out)
            self.assertTrue(document["interrupted"])
            self.assertGreaterEqual(len(document["pressures"][0]["per_second"]), 1)

    def test_nohup_stays_nohup(self):
        with subprocess.Popen([PROGRAM, "stress", "--cpu", "0.1", "--for", "3s", "--json"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as running:
            for line in running.stderr:
                if line.strip().startswith("1 s"):
                    break
            running.send_signal(signal.SIGHUP)
            out, _ = running.communicate(timeout=60)
        self.assertIn(running.returncode, ANY_LEVEL)
        self.assertFalse(json.loads(out)["interrupted"])

    def test_killed_it_leaves_nothing(self):
        with subprocess.Popen([PROGRAM, "stress", "--disk", "1MB/s", "--capacity", "disk=100MB/s", "--for", "1h"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              encoding="utf-8") as running:
            for line in running.stderr:  # none when the folder is no disk: it has ended then
                if line.strip().startswith("1 s"):
                    break
            running.kill()
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
