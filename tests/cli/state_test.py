#!/usr/bin/env python3
"""Where a server keeps its state: never in a folder named by a database's address, and as root only where root alone may write."""

import glob
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess
import tempfile
import time
import unittest

from program import PATIENCE, PROGRAM, ProgramTest, Speaker

ROOT = os.geteuid() == 0
NOBODY = 65534
ADDRESS = "postgresql://me:secret@127.0.0.1:1/none?connect_timeout=2"


class Served(Speaker):
    """A server with flags of the test's own, until it is stopped."""

    def __init__(self, folder, *args, env=None):
        self.socket = folder / "s.sock"
        self.said_in = folder / "said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--gpus", "none", "--listen", "none", "--socket", str(self.socket), *args], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **(env or {})})

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)


class StateTest(ProgramTest):
    def serve(self, *args, env=None):
        server = Served(self.folder, *args, env=env)
        self.addCleanup(server.stop)
        server.wait_for("socket for users of this machine")
        return server

    def refuse(self, place, why, *args):
        """The message names the place, why, and what to do."""
        said = self.fail_with(1, "serve", "--gpus", "none", "--listen", "none", "--socket", "s.sock", "--for", "1s", *args)
        self.assertIn(f"{place}' {why}", said)
        self.assertIn("--state DIR", said)
        self.assertIn("chmod go-w", said)


class State(StateTest):
    def test_an_address_names_no_folder(self):
        done = self.run_program("token", "list", "--store", ADDRESS, env={**os.environ, "HOME": str(self.folder / "home")})
        self.assertNotIn("secret", done.stdout + done.stderr)
        done = self.run_program("token", "create", "--state", "here", env={**os.environ, "SHAREWELL_STORE": ADDRESS})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["here"])
        self.assertIn("tokens", os.listdir(self.folder / "here"))

    def test_state_is_where_it_is_told(self):
        os.mkdir(self.folder / "one")
        server = self.serve("--store", "one/store.db", "--state", "two")
        server.stop()
        self.assertNotIn("jobs", os.listdir(self.folder / "one"))
        self.assertLessEqual({"jobs", "logs"}, set(os.listdir(self.folder / "two")))

    @unittest.skipIf(ROOT, "an ordinary user's server runs nothing as root")
    def test_an_ordinary_user_shares_folders_as_they_like(self):
        os.mkdir(self.folder / "shared")
        os.chmod(self.folder / "shared", 0o775)
        self.serve("--store", "shared/store.db")


@unittest.skipUnless(ROOT, "needs root")
class StateAsRoot(StateTest):
    def folder_of(self, name, uid=0, mode=0o755):
        folder = self.folder / name
        folder.mkdir()
        os.chown(folder, uid, uid)
        os.chmod(folder, mode)
        return folder

    def test_a_folder_of_its_own_will_do(self):
        self.folder_of("mine")
        self.serve("--store", "mine/store.db")

    def test_another_users_folder(self):
        self.folder_of("theirs", NOBODY)
        self.refuse("theirs", f"belongs to the user with uid {NOBODY}", "--store", "theirs/store.db")
        self.refuse("theirs", "belongs to", "--store", "theirs/below/store.db")
        self.refuse("theirs", "belongs to", "--store", "store.db", "--state", "theirs")
        self.assertEqual(os.listdir(self.folder / "theirs"), [])

    def test_a_folder_that_others_may_write(self):
        self.folder_of("group", mode=0o775)
        self.refuse("group", "may be written by its group", "--store", "group/store.db")
        self.folder_of("all", mode=0o1777)
        self.refuse("all", "may be written by every user", "--store", "all/store.db")
        self.assertEqual(os.listdir(self.folder / "all"), [])

    def test_what_another_user_has_prepared(self):
        for name in ("jobs", "logs", "store.db", "store.db-wal", "jobs/1.1"):
            with self.subTest(name):
                place = self.folder_of("for-" + name.replace("/", "-"))
                planted = place / name
                planted.parent.mkdir(exist_ok=True)
                planted.touch() if "store" in name else planted.mkdir()
                os.chown(planted, NOBODY, NOBODY)
                self.refuse(name, "belongs to", "--store", str(place / "store.db"))

    def test_a_link_into_another_users_folder(self):
        self.folder_of("theirs", NOBODY)
        (self.folder / "link").symlink_to("theirs")
        self.refuse("theirs", "belongs to", "--store", "link/store.db")


def postgres():
    """The folder of PostgreSQL's programs, or none."""
    return next((os.path.dirname(path) for path in sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)), None)


@unittest.skipUnless(postgres(), "no PostgreSQL here")
class StateBesideADatabase(ProgramTest):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory(prefix="sharewell-pg-")
        self.addCleanup(place.cleanup)
        user = {}
        if ROOT:  # it refuses to run as root
            entry = pwd.getpwnam("postgres")
            os.chown(place.name, entry.pw_uid, entry.pw_gid)
            user = {"user": entry.pw_uid, "group": entry.pw_gid}
        quiet = {"cwd": place.name, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user}
        data = place.name + "/data"
        self.start_database = lambda: subprocess.Popen([postgres() + "/postgres", "-D", data, "-k", place.name, "-c", "listen_addresses=", "-c",
                                                        "fsync=off"], **quiet)
        subprocess.run([postgres() + "/initdb", "-D", data, "-A", "trust", "-U", "me", "-E", "UTF8", "--no-locale", "--no-sync"], check=True,
                       timeout=PATIENCE, **quiet)
        self.database = self.start_database()
        self.addCleanup(self.stop_database)
        self.address = f"postgresql://me:secret@/postgres?host={place.name}"

    def stop_database(self):
        self.database.send_signal(signal.SIGINT)
        self.database.wait(timeout=PATIENCE)

    def serve(self, *args, env=None):
        for _ in range(100):  # until the database answers
            server = Served(self.folder, "--state", "state", *args, env={"SHAREWELL_STORE": self.address, "HOME": str(self.folder / "home"), **(env or {})})
            try:
                server.wait_for("socket for users of this machine")
                self.addCleanup(server.stop)
                return server
            except AssertionError as failed:
                if "starting up" not in str(failed) and "No such file" not in str(failed):
                    raise
        raise AssertionError("no database")

    def test_jobs_are_told_from_memory_while_the_database_is_away(self):
        server = self.serve()
        asked = ("--server", str(server.socket))
        for command in ("true", "sleep 600"):
            self.assertEqual(self.run_program("submit", *asked, "--gpus", "0", "--name", command.replace(" ", "-"), "--", *command.split()).returncode, 0)
        self.wait_until(lambda: "finished" in self.succeed("jobs", "--all", *asked))
        self.assertIsNone(json.loads(self.succeed("jobs", "--all", "--json", *asked))["store_problem"])
        self.stop_database()
        for more in ((), ("--all",)):
            text = self.succeed("jobs", *more, *asked)
            self.assertIn("The server's store cannot be read, so that older jobs are missing: ", text)
            self.assertIn("sleep-600", text)
            self.assertRegex(text, r"(?m)^ *1 .*true.*finished")
        told = json.loads(self.succeed("jobs", "--all", "--json", *asked))
        self.assertEqual([job["number"] for job in told["jobs"]], [2, 1])
        self.assertTrue(told["store_problem"])
        self.assertNotIn("secret", json.dumps(told))
        self.assertIn("sleep-600", self.succeed("job", "2", *asked))
        self.assertIn("finished", self.succeed("job", "1", *asked))
        self.succeed("why", "2", *asked)
        self.succeed("top", *asked)
        self.assertEqual(self.run_program("usage", *asked).returncode, 1)
        self.database = self.start_database()
        self.wait_until(lambda: "cannot be read" not in self.run_program("jobs", "--all", *asked).stdout)
        self.assertIn("finished", self.succeed("jobs", "--all", *asked))

    def wait_until(self, true):
        end = time.monotonic() + PATIENCE
        while not true():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def assert_hidden(self, pid):
        """Neither the process nor one that it started shows the password."""
        for process in [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())]:
            for name in ("cmdline", "environ"):
                self.assertNotIn(b"secret", pathlib.Path(f"/proc/{process}/{name}").read_bytes(), (process, name))

    def test_no_job_reads_the_password(self):
        state = self.folder / "state"
        server = self.serve()
        self.assert_hidden(server.process.pid)
        done = self.run_program("submit", "--server", str(server.socket), "--gpus", "0", "--wait", "--", "env")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = self.succeed("logs", "--server", str(server.socket), "1")
        self.assertEqual(re.findall(r"SHAREWELL_PROGRESS=(\S+)", seen), [f"{state}/jobs/1.1/progress"])
        self.assertNotIn("secret", seen)
        everything = list(self.folder.rglob("*"))
        self.assertEqual([str(path) for path in everything if "secret" in str(path) or "postgresql" in str(path)], [])
        self.assertEqual([str(path) for path in everything if path.is_file() and b"secret" in path.read_bytes()], [])
        self.assertNotIn("secret", server.said())


if __name__ == "__main__":
    unittest.main()
