"""A server of root's with three ordinary users, for the tests in this folder.

The users are accounts that every Debian has. Nothing of the machine is changed: each test has a folder of its own, and what has to run out of
space has a small tmpfs of its own.
"""

import json
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from program import PATIENCE, PROGRAM, Speaker  # noqa: E402

ALICE, BOB, CAROL = "daemon", "games", "man"
ROOT = "root"


def as_user(name):
    """Arguments for subprocess that make a command run as that user, or as a uid that may have no name."""
    if name == ROOT:
        return {}
    if isinstance(name, int):
        return {"user": name, "group": name, "extra_groups": []}
    account = pwd.getpwnam(name)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


class Server(Speaker):
    """`sharewell serve` as root in a folder, until it is stopped or killed."""

    def __init__(self, folder, *args, gpus="4xH200", store="store.db", env=None, listen="none", within=()):
        """`within`: words that start the program elsewhere, such as in a mount namespace of its own."""
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "s.sock"
        self.said_in = self.folder / "said"
        self.started_with = (args, gpus, store, env)
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [*within, PROGRAM, "serve", "--gpus", gpus, "--listen", listen, "--socket", str(self.socket), "--store", str(self.folder / store), *args],
                cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **(env or {})})

    def ready(self):
        self.wait_for("socket for users of this machine")
        return self

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE)

    def run(self, user, *args, **options):
        """`sharewell ARGS` as that user, answered by this server."""
        env = {"PATH": os.environ["PATH"], "HOME": "/", "NO_COLOR": "1", "SHAREWELL_SERVER": str(self.socket)}
        env.update({k: v for k, v in os.environ.items() if k.startswith("ASAN") or k.startswith("UBSAN")})
        return subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env=env,
                              timeout=120, check=False, encoding="utf-8", **as_user(user), **options)

    def submit(self, user, *args):
        """The number of the job, or of the array's first."""
        done = self.run(user, "submit", "--json", *args)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        return told["jobs"][0]["number"] if "jobs" in told else told["number"]

    def job(self, number):
        done = self.run(ROOT, "job", str(number), "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def wait_until(self, number, *phases):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = self.job(number)
            if now["phase"] in phases:
                return now
            time.sleep(0.05)
        raise AssertionError(f"job {number} never was {phases}: it is {now['phase']}, {now.get('reason')}; the server said: {self.said()}")


@unittest.skipUnless(os.geteuid() == 0, "needs root: jobs of three users are started as each of them")
class TrustTest(unittest.TestCase):
    """Each test has a folder that everybody may enter and root alone may write."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="sharewell-trust-")
        os.chmod(folder, 0o755)
        self.folder = pathlib.Path(folder)
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=False)

    def serve(self, *args, folder=None, **options):
        server = Server(folder or self.folder, *args, **options)
        self.addCleanup(self.end, server)
        return server.ready()

    @staticmethod
    def end(server):
        """Cancels what is left, so that no test leaves processes behind."""
        if server.process.poll() is None:
            listed = server.run(ROOT, "jobs", "--json")
            if listed.returncode == 0:
                numbers = [str(job["number"]) for job in json.loads(listed.stdout)["jobs"]]
                if numbers:
                    server.run(ROOT, "cancel", *numbers)
            server.stop()

    def small_disk(self, mebibytes):
        """A tmpfs of that size, with a folder in it."""
        place = self.folder / "disk"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=755", "tmpfs", place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        return place
