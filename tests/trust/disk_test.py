#!/usr/bin/env python3
"""What one user's job can take of the disk that the server keeps its state on, and what happens where that is full."""

import os
import pathlib
import subprocess
import time
import unittest

from house import ALICE, BOB, TrustTest

MIB = 1 << 20


def free(place):
    about = os.statvfs(place)
    return about.f_bavail * about.f_frsize


class Disk(TrustTest):
    def test_F7_steps_take_no_disk(self):
        disk = self.small_disk(64)
        server = self.serve(folder=disk)
        before = free(disk)
        # As many bytes as fill the disk several times over, and room that is taken without a byte.
        flood = server.submit(ALICE, "--", "sh", "-c", "dd if=/dev/zero of=$SHAREWELL_PROGRESS bs=1M count=300 2>/dev/null")
        taken = server.submit(ALICE, "--", "sh", "-c", "fallocate -n -l 3G $SHAREWELL_PROGRESS; truncate -s 50M $SHAREWELL_PROGRESS;"
                                                       "setfattr -n user.x -v y $SHAREWELL_PROGRESS; cp /bin/sh ${SHAREWELL_PROGRESS%/*}/more; true")
        told = server.submit(BOB, "--", "sh", "-c", "echo 7 >> $SHAREWELL_PROGRESS; echo step >> $SHAREWELL_PROGRESS")
        server.wait_until(taken, "finished")
        server.wait_until(told, "finished")
        self.assertEqual(server.job(told)["steps"], 8)
        self.assertLess(before - free(disk), 8 * MIB)
        self.assertEqual(server.run(BOB, "submit", "--", "true").returncode, 0)
        self.assertEqual(server.run(ALICE, "cancel", str(flood)).returncode, 0)
        server.wait_until(flood, "cancelled")

    def test_F7_a_flood_of_steps_costs_its_supervisor_little(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "sh", "-c", "yes 1 > $SHAREWELL_PROGRESS & while :; do echo; done > $SHAREWELL_PROGRESS")
        server.wait_until(number, "running")
        supervisor = int((self.folder / f"jobs/{number}.1/lock").read_text())

        def cpu():
            fields = pathlib.Path(f"/proc/{supervisor}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        time.sleep(0.2)
        begin, used = time.monotonic(), cpu()
        time.sleep(1)
        self.assertLess((cpu() - used) / (time.monotonic() - begin), 0.2)
        server.run(ALICE, "cancel", str(number))
        server.wait_until(number, "cancelled")

    def test_F7_an_end_is_told_on_a_full_disk(self):
        disk = self.small_disk(32)
        server = self.serve(folder=disk)
        go = self.folder / "go"
        number = server.submit(ALICE, "--", "sh", "-c", f"while ! [ -e {go} ]; do sleep 0.05; done; echo 12 > $SHAREWELL_PROGRESS; exit 3")
        server.wait_until(number, "running")
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        self.assertLess(free(disk), 8192)
        go.touch()
        # The supervisor writes it down; the server takes it from there, and removes the folder when it has stored it.
        end = time.monotonic() + 30
        run = disk / f"jobs/{number}.1"
        while run.exists() and not (run / "exit").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        (disk / "filler").unlink()
        job = server.wait_until(number, "failed")
        self.assertEqual((job["exit_code"], job["steps"]), (3, 12))

    def test_N1_a_log_that_begins_in_the_middle_says_so(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "sh", "-c", "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo last")
        server.wait_until(number, "finished")
        said = server.run(ALICE, "logs", str(number))
        self.assertRegex(said.stderr, r"^\[sharewell: the first [0-9]+ bytes of stdout are not kept\]\n$")
        missing = int(said.stderr.split()[3])
        self.assertEqual(missing + len(said.stdout), 70000000 + 6)
        self.assertTrue(said.stdout.endswith("\nlast\n"))

    def test_F3_another_store_never_shows_the_logs_of_this_one(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "echo", "a secret of Alice's")
        server.wait_until(number, "finished")
        self.assertIn("secret", server.run(ALICE, "logs", str(number)).stdout)
        server.stop()
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            (self.folder / name).unlink(missing_ok=True)
        # Where the state folder refuses another store, its jobs' logs alone are what was left.
        for path in self.folder.iterdir():
            if path.name != "logs" and path.name != "said":
                subprocess.run(["rm", "-rf", path], check=True)
        server = self.serve()
        for user in (BOB, ALICE):
            other = server.submit(user, "--", "echo", "new")
            server.wait_until(other, "finished")
            self.assertEqual(server.run(user, "logs", str(other)).stdout, "new\n", user)
        self.assertEqual(other, number + 1)

    def test_F8_logs_leave_the_last_of_the_disk_to_the_store(self):
        disk = self.small_disk(96)
        server = self.serve(folder=disk)
        numbers = [server.submit(ALICE, "--gpus", "0", "--cpus", "0.01", "--", "sh", "-c", "head -c 30000000 /dev/zero") for _ in range(8)]
        for number in numbers:
            server.wait_until(number, "finished")
        # All logs together have a tenth of a disk, and an eighth of it stays free.
        logs = sum(path.stat().st_size for path in (disk / "logs").rglob("out.*"))
        self.assertLessEqual(logs, 96 * MIB // 10)
        self.assertGreater(logs, MIB)
        self.assertGreater(free(disk), 96 * MIB // 8)
        last = server.submit(BOB, "--gpus", "0", "--", "echo", "words")
        server.wait_until(last, "finished")
        self.assertEqual(server.run(BOB, "logs", str(last)).stdout, "words\n")

    def test_F9_jobs_have_their_groups_within_the_unit(self):
        unit = (pathlib.Path(__file__).resolve().parents[2] / "packaging/systemd/sharewell.service").read_text(encoding="utf-8").splitlines()
        # A group with processes in it gives no controllers to groups below it: the server has to be in a leaf.
        self.assertIn("DelegateSubgroup=server", unit)
        self.assertIn("Slice=sharewell.slice", unit)
        delegated = next(line for line in unit if line.startswith("Delegate="))
        self.assertEqual(set(delegated.split("=")[1].split()), {"cpu", "cpuset", "memory", "pids"})

    def test_F14_a_job_is_not_kept_from_the_oom_killer_as_its_server_is(self):
        server = self.serve()
        try:
            pathlib.Path(f"/proc/{server.process.pid}/oom_score_adj").write_text("-500", encoding="ascii")
        except PermissionError:
            self.skipTest("needs CAP_SYS_RESOURCE, which root has not in every container")
        number = server.submit(ALICE, "--", "cat", "/proc/self/oom_score_adj")
        server.wait_until(number, "finished")
        self.assertEqual(server.run(ALICE, "logs", str(number)).stdout, "0\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
