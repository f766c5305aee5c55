#!/usr/bin/env python3
"""The commands of docs/operations.md: back up and restore, upgrade, move to PostgreSQL."""

import os
import pathlib
import shutil
import sqlite3
import subprocess
import unittest

from house import ALICE, PATIENCE, PROGRAM, ROOT, Server, TrustTest
from postgres import POSTGRES, start_postgres

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
ADDRESS = "postgresql://sharewell@HOST/sharewell"


class OperationsTest(TrustTest):
    def sh(self, command, **places):
        """Runs a command of the page, which must have it, with its places replaced."""
        self.assertIn(command, PAGE)
        command = command.replace("/var/lib/sharewell", str(self.folder)).replace("/backup", str(self.folder / "backup"))
        for name, place in places.items():
            command = command.replace({"address": ADDRESS}[name], place)
        command = command.replace("sharewell profiles", f"{PROGRAM} profiles")
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def two_jobs(self, server):
        """One that has finished and one that is held."""
        over = server.submit(ALICE, "--", "true")
        server.wait_until(over, "finished")
        return over, server.submit(ALICE, "--hold", "--", "id", "-un")

    def runs_as_alice(self, server, number):
        done = server.run(ALICE, "release", str(number))
        self.assertEqual(done.returncode, 0, done.stderr)
        server.wait_until(number, "finished")
        self.assertEqual(server.run(ALICE, "logs", str(number)).stdout.strip(), ALICE)


@unittest.skipUnless(shutil.which("sqlite3"), "needs the program sqlite3")
class Backup(OperationsTest):
    def test_back_up_and_restore(self):
        server = self.serve()
        over, held = self.two_jobs(server)
        done = server.run(ROOT, "token", "create", "--store", str(self.folder / "store.db"))
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "backup").mkdir()
        self.sh("sqlite3 /var/lib/sharewell/store.db \"VACUUM INTO '/backup/store.db'\"")
        self.sh("tar -C /var/lib/sharewell -cf /backup/state.tar key tokens store")
        self.sh("chmod 600 /backup/store.db /backup/state.tar")
        server.submit(ALICE, "--hold", "--", "true")  # after the backup
        server.stop()
        os.unlink(self.folder / "key")
        self.sh("rm -f /var/lib/sharewell/store.db*")
        self.sh("install -m 600 /backup/store.db /var/lib/sharewell/store.db")
        self.sh("tar -C /var/lib/sharewell -xf /backup/state.tar")
        server = self.serve()
        self.assertEqual([server.job(over)["phase"], server.job(held)["phase"]], ["finished", "held"])
        self.assertNotIn("somebody else", server.said())
        self.runs_as_alice(server, held)

    def test_without_the_key_jobs_are_held_until_root_releases_them(self):
        server = self.serve()
        _, held = self.two_jobs(server)
        server.stop()
        os.unlink(self.folder / "key")
        server = self.serve()
        self.assertEqual(server.run(ALICE, "release", str(held)).returncode, 1)
        done = server.run(ROOT, "release", str(held))
        self.assertEqual(done.returncode, 0, done.stderr)
        server.wait_until(held, "finished")
        self.assertEqual(server.run(ALICE, "logs", str(held)).stdout.strip(), ALICE)


class Upgrade(OperationsTest):
    def test_a_store_of_schema_3(self):
        server = self.serve()
        over, held = self.two_jobs(server)
        server.stop()
        # As the program before wrote it: no id, no seals, no key.
        with sqlite3.connect(self.folder / "store.db") as store:
            store.execute("ALTER TABLE job DROP COLUMN seal")
            for side in "ab":
                store.execute(f"ALTER TABLE shared_run DROP COLUMN share_{side}")
                store.execute(f"ALTER TABLE shared_run DROP COLUMN owner_{side}")
            store.execute("ALTER TABLE shared_run DROP COLUMN watched")
            for learnt in ("graph", "run", "model"):
                store.execute(f"DROP TABLE learnt_{learnt}")
            store.execute("DROP TABLE job_told")
            store.execute("DROP TABLE job_speed")
            store.execute("DELETE FROM meta WHERE name = 'id'")
            store.execute("UPDATE meta SET value = '3' WHERE name = 'schema'")
        store.close()
        for name in ("key", "store"):
            os.unlink(self.folder / name)
        server = self.serve()
        self.assertIn(f"job {held} in the database", server.said())
        self.assertEqual(server.job(over)["phase"], "finished")
        self.assertIn("not written by this server", server.job(held)["reason"])
        self.assertEqual(server.run(ROOT, "release", str(held)).returncode, 0)
        server.wait_until(held, "finished")
        server.stop()
        self.assertNotIn("somebody else", self.serve().said())


@unittest.skipUnless(POSTGRES and shutil.which("psql"), "no PostgreSQL here")
class Move(OperationsTest):
    def test_move_to_postgresql(self):
        server = self.serve()
        over, held = self.two_jobs(server)
        running = server.submit(ALICE, "--", "sleep", "300")
        server.wait_until(running, "running")
        server.stop()
        address = start_postgres(self)
        make = f"sharewell profiles --store {ADDRESS}"
        copy = f"packaging/store_to_postgres.py /var/lib/sharewell/store.db | psql -q -1 -v ON_ERROR_STOP=1 {ADDRESS}"
        self.sh(make, address=address)
        self.sh(copy, address=address)
        self.sh("mv /var/lib/sharewell/store.db /var/lib/sharewell/store.db.old")
        server = DatabaseServer(self.folder, address)
        self.addCleanup(self.end, server)
        server.ready()
        self.assertEqual(server.job(over)["phase"], "finished")
        self.assertEqual(server.job(running)["phase"], "running")
        self.assertNotIn("somebody else", server.said())
        self.runs_as_alice(server, held)
        # A second copy would overwrite what happened since.
        with self.assertRaises(AssertionError):
            os.rename(self.folder / "store.db.old", self.folder / "store.db")
            self.sh(copy, address=address)


class DatabaseServer(Server):
    """A server whose store is a database."""

    def __init__(self, folder, address):  # pylint: disable=super-init-not-called
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "s.sock"
        self.said_in = self.folder / "said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--gpus", "4xH200", "--listen", "none", "--socket", str(self.socket), "--state", str(self.folder)],
                cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, "SHAREWELL_STORE": address})


if __name__ == "__main__":
    unittest.main(verbosity=2)
