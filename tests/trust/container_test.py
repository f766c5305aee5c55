#!/usr/bin/env python3
"""Jobs in containers: an ordinary user's, through her own podman, with a small image that is made here."""

import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time
import unittest

from house import ALICE, BOB, PATIENCE, TrustTest, as_user

IMAGE = "localhost/sharewell-trust:1"


@unittest.skipUnless(shutil.which("podman") and shutil.which("busybox"), "needs podman and busybox-static")
class Containers(TrustTest):
    @classmethod
    def setUpClass(cls):
        """A home of Alice's with the image in it, for all tests: to make an image takes seconds."""
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="sharewell-trust-home-"))
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", cls.place], check=False)
        os.chmod(cls.place, 0o755)
        account = pwd.getpwnam(ALICE)
        cls.home, cls.work = cls.place / "home", cls.place / "home" / "work"
        for path in (cls.home, cls.home / "run", cls.work):
            path.mkdir(mode=0o700)
            os.chown(path, account.pw_uid, account.pw_gid)
        image = cls.place / "image"
        (image / "bin").mkdir(parents=True)
        for part in ("dev", "etc", "proc", "sys", "tmp"):
            (image / part).mkdir()
        shutil.copy(shutil.which("busybox"), image / "bin" / "busybox")
        for name in ("cat", "echo", "grep", "id", "sh", "sleep", "stty", "tail", "true", "tty"):
            (image / "bin" / name).symlink_to("busybox")
        subprocess.run(["tar", "-C", image, "-cf", cls.place / "image.tar", "."], check=True)
        cls.addClassCleanup(cls.podman, "system", "reset", "--force")
        made = cls.podman("import", str(cls.place / "image.tar"), IMAGE)
        ran = cls.podman("run", "--rm", "--network", "host", IMAGE, "true")
        if made.returncode != 0 or ran.returncode != 0:
            raise unittest.SkipTest(f"podman cannot run a container of {ALICE}'s here: {made.stderr} {ran.stderr}")

    @classmethod
    def podman(cls, *args):
        env = {"PATH": os.environ["PATH"], "HOME": str(cls.home), "XDG_RUNTIME_DIR": str(cls.home / "run")}
        return subprocess.run(["podman", *args], stdin=subprocess.DEVNULL, capture_output=True, cwd=cls.home, env=env, timeout=120, check=False,
                              encoding="utf-8", **as_user(ALICE))

    def submit(self, server, *args):
        done = subprocess.run(
            [os.environ["SHAREWELL"], "submit", "--json", "--image", IMAGE, "--gpus", "0", "--env", f"XDG_RUNTIME_DIR={self.home / 'run'}", *args],
            cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, encoding="utf-8",
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "SHAREWELL_SERVER": str(server.socket)}, **as_user(ALICE))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["jobs"][0]["number"]

    def wait_for(self, server, number, name):
        """That file, which the job makes and the next one must not find."""
        end = time.monotonic() + PATIENCE
        while not (self.work / name).exists():
            job = server.job(number)
            self.assertIn(job["phase"], ("starting", "running"), job["note"])
            self.assertLess(time.monotonic(), end, f"{name} was never made")
            time.sleep(0.05)
        (self.work / name).unlink()

    def left(self):
        return self.podman("ps", "--all", "--quiet").stdout.split()

    def test_a_users_container_is_the_users_own(self):
        server = self.serve()
        # Nothing of it is root's: not the files that it makes, not a process, not the store of images.
        number = self.submit(server, "--cpus", "1", "--env", "GREETING=good day", "--", "sh", "-c",
                             "echo $GREETING > told; echo 3 >> $SHAREWELL_PROGRESS; echo loss 0.5 3 >> $SHAREWELL_METRICS; grep Uid /proc/self/status; "
                             "grep Cpus_allowed_list /proc/self/status; echo oops >&2; exit 7")
        job = server.wait_until(number, "failed")
        self.assertEqual(job["exit_code"], 7, (server.run(ALICE, "logs", str(number)), job["note"]))
        self.assertEqual((self.work / "told").read_text(), "good day\n")
        self.assertEqual((self.work / "told").owner(), ALICE)
        log = server.run(ALICE, "logs", str(number))
        self.assertIn("Uid:", log.stdout)
        self.assertIn("oops", log.stderr)
        self.assertEqual(job["steps"], 3)
        self.assertIn("loss 0.5, told by the job at step 3", server.run(ALICE, "job", str(number)).stdout)
        self.assertEqual(self.left(), [])

    def test_a_container_runs_as_its_user_and_is_cancelled(self):
        server = self.serve("--grace", "20s")
        number = self.submit(server, "--", "sh", "-c", "trap 'echo saved > told; exit 3' TERM; echo > ready; while :; do sleep 0.05; done")
        self.wait_for(server, number, "ready")
        owners = subprocess.run(["ps", "-eo", "user,args"], capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
        ours = [line for line in owners if "echo saved > told" in line and "ps -eo" not in line]
        self.assertTrue(ours)
        self.assertEqual({line.split()[0] for line in ours}, {ALICE})
        # In its first moments podman itself takes the signal.
        time.sleep(1)
        self.assertEqual(server.run(BOB, "cancel", str(number)).returncode, 1)
        self.assertEqual(server.run(ALICE, "cancel", str(number)).returncode, 0)
        server.wait_until(number, "cancelled")
        self.assertEqual((self.work / "told").read_text(), "saved\n")
        self.assertEqual(self.left(), [])

    def test_one_that_does_not_listen_is_killed_and_removed(self):
        server = self.serve("--grace", "2s")
        number = self.submit(server, "--", "sh", "-c", "trap '' TERM; echo > ready; while :; do sleep 0.05; done")
        self.wait_for(server, number, "ready")
        server.run(ALICE, "cancel", str(number))
        server.wait_until(number, "cancelled")
        self.assertEqual(self.left(), [])

    def test_F12_two_servers_have_containers_of_their_own(self):
        places = [self.folder / name for name in ("one", "two")]
        for place in places:
            place.mkdir()
        servers = [self.serve(folder=place) for place in places]
        # Both are job 1: with one name for both the second could not begin.
        for name, server in zip(("a", "b"), servers):
            self.assertEqual(self.submit(server, "--", "sh", "-c", f"echo > ready-{name}; while :; do sleep 0.05; done"), 1)
            self.wait_for(server, 1, f"ready-{name}")
        names = self.podman("ps", "--format", "{{.Names}}").stdout.split()
        self.assertEqual(len(names), 2)
        servers[0].run(ALICE, "cancel", "1")
        servers[0].wait_until(1, "cancelled")
        self.assertEqual(servers[1].job(1)["phase"], "running")
        self.assertEqual(len(self.left()), 1)

    def test_the_host_memory_limit_holds(self):
        server = self.serve()
        number = self.submit(server, "--memory", "200MB", "--", "sh", "-c", "tail /dev/zero")
        job = server.wait_until(number, "failed")
        if "memory" in job["note"] and "cannot" in job["note"]:
            self.skipTest(job["note"])
        self.assertIn("more host memory than its limit", job["note"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
