#!/usr/bin/env python3
"""Whose jobs they are: records that somebody else changed, another store in the same folder, a store that is gone, a full disk, passwords."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from house import ALICE, PATIENCE, PROGRAM, ROOT, Server, TrustTest, as_user


class StoreTest(TrustTest):
    def refused(self, *args, code=1, **options):
        """What a server said that did not start."""
        server = Server(self.folder, *args, **options)
        self.assertEqual(server.process.wait(timeout=PATIENCE), code, server.said())
        return server.said()

    def sql(self, statement, *values, name="store.db"):
        with sqlite3.connect(self.folder / name) as database:
            changed = database.execute(statement, values).rowcount
        database.close()
        return changed

    @staticmethod
    def health(server):
        """What /healthz answers, head and all."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(server.socket))
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: line.recv(65536), b"")).decode()

    def becomes(self, server, status):
        """The answer of /healthz once it has that status, though nobody asks for anything else."""
        end = time.monotonic() + PATIENCE
        while not self.health(server).startswith(f"HTTP/1.1 {status} "):
            self.assertLess(time.monotonic(), end, self.health(server))
            time.sleep(0.1)
        return self.health(server)

    @staticmethod
    def alive(server, number):
        return server.job(number)["phase"] == "running"


class Private(StoreTest):
    """B2: what holds others' data is private before anything is in it."""

    def modes(self, folder):
        return {place.name: oct(place.stat().st_mode & 0o777) for place in folder.iterdir() if place.is_file() and place.name.startswith("store.db")}

    def makes(self, *args, seconds=None):
        """Modes of the files of the store that a command made with an open umask, and the widest that the store ever had."""
        folder = self.folder / args[0]
        folder.mkdir()
        store, seen = folder / "store.db", set()
        with subprocess.Popen([PROGRAM, args[0], "--store", str(store), *args[1:]], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, umask=0o000) as process:
            began = time.monotonic()
            while process.poll() is None:
                try:
                    seen.add(oct(os.stat(store).st_mode & 0o777))
                except FileNotFoundError:
                    pass
                self.assertLess(time.monotonic() - began, PATIENCE)
                if seconds and seen and time.monotonic() - began > seconds:
                    process.terminate()
                    seconds = None
            said = process.stderr.read().decode()
        self.assertTrue(store.exists(), said)
        self.assertEqual(seen | {"0o600"}, {"0o600"}, args)
        return self.modes(folder)

    def test_B2_a_store_is_private_from_the_first_moment(self):
        """Whoever makes it: all commands open a store in one place."""
        sock = str(self.folder / "b2.sock")
        for args, seconds in ((("monitor", "--for", "1s", "--listen", "none"), None),
                              (("serve", "--gpus", "1xH200", "--listen", "none", "--socket", sock), 2)):
            with self.subTest(args[0]):
                self.assertEqual(set(self.makes(*args, seconds=seconds).values()), {"0o600"})

    def test_B2_a_store_that_others_could_read_is_closed_and_root_is_told(self):
        with sqlite3.connect(self.folder / "store.db") as database:
            database.execute("PRAGMA journal_mode = WAL")
        (self.folder / "store.db").chmod(0o644)
        server = self.serve()
        self.assertIn("others could read", server.said())
        self.assertEqual(set(self.modes(self.folder).values()), {"0o600"})
        server.stop()
        self.assertNotIn("others could read", self.serve().said())

    def test_B2_nobody_can_lock_the_servers_lock_file(self):
        server = self.serve()
        server.stop()
        lock = self.folder / "store.db-server"
        done = subprocess.run(["flock", "-s", "-n", str(lock), "true"], check=False, capture_output=True, **as_user(ALICE))
        self.assertNotEqual(done.returncode, 0)
        lock.chmod(0o644)  # as an older version made it
        self.serve()
        self.assertEqual(lock.stat().st_mode & 0o777, 0o600)


class Forged(StoreTest):
    def test_F1_a_record_that_somebody_else_changed_is_not_run(self):
        server = self.serve()
        mark = self.folder / "mark"
        number = server.submit(ALICE, "--hold", "--", "touch", str(mark))
        plain = server.submit(ALICE, "--hold", "--", "id", "-un")
        server.stop()
        record = json.loads(sqlite3.connect(self.folder / "store.db").execute("SELECT record FROM job WHERE number = ?", [number]).fetchone()[0])
        record.update(uid=0, gid=0, user="root", phase="waiting", held=False)
        self.assertEqual(self.sql("UPDATE job SET phase = 'waiting', record = ? WHERE number = ?", json.dumps(record), number), 1)
        server = self.serve()
        self.assertIn(f"somebody else may have changed job {number} in the database", server.said())
        job = server.job(number)
        self.assertEqual(job["phase"], "held")
        self.assertIn("somebody changed its record in the database: not as it was written are its user;", job["reason"])
        done = server.run(ALICE, "release", str(number))
        self.assertEqual(done.returncode, 1, done.stderr)
        # What nobody touched goes on.
        self.assertEqual(server.run(ALICE, "release", str(plain)).returncode, 0)
        server.wait_until(plain, "finished")
        self.assertFalse(mark.exists())
        # It stays so over a restart, and root may end it.
        server.stop()
        server = self.serve()
        self.assertEqual(server.job(number)["phase"], "held")
        self.assertEqual(server.run(ROOT, "cancel", str(number)).returncode, 0)
        self.assertFalse(mark.exists())

    def test_A5_a_record_of_one_name_that_runs_as_another_is_never_released(self):
        server = self.serve()
        mark = self.folder / "mark"
        number = server.submit(ALICE, "--hold", "--", "touch", str(mark))
        server.stop()
        record = json.loads(sqlite3.connect(self.folder / "store.db").execute("SELECT record FROM job WHERE number = ?", [number]).fetchone()[0])
        record.update(uid=0, gid=0)
        self.assertEqual(self.sql("UPDATE job SET record = ? WHERE number = ?", json.dumps(record), number), 1)
        server = self.serve()
        page = server.run(ROOT, "job", str(number)).stdout
        self.assertRegex(page, rf"user +{ALICE}, uid 0\n")
        self.assertRegex(" ".join(page.split()), "not as it was written are its user; it would not run as the user whom it names, but as root")
        self.assertEqual(server.job(number)["hold"]["runs_as"], "root")
        done = server.run(ROOT, "release", str(number))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("would run as uid 0, which is 'root'", done.stderr)
        self.assertEqual(server.run(ROOT, "cancel", str(number)).returncode, 0)
        self.assertFalse(mark.exists())

    def test_A5_what_was_changed_is_named(self):
        server = self.serve()
        number = server.submit(ALICE, "--hold", "--env", "COLOUR=red", "--", "true")
        server.stop()
        record = json.loads(sqlite3.connect(self.folder / "store.db").execute("SELECT record FROM job WHERE number = ?", [number]).fetchone()[0])
        record["environment"]["LD_PRELOAD"] = "/tmp/mine.so"
        self.sql("UPDATE job SET record = ? WHERE number = ?", json.dumps(record), number)
        server = self.serve()
        page = " ".join(server.run(ROOT, "job", str(number)).stdout.split())
        self.assertIn("not as it was written are its environment; root can look at it", page)
        self.assertRegex(page, r"environment [^:]*COLOUR, [^:]*LD_PRELOAD")
        self.assertNotIn("mine.so", page)
        hold = server.job(number)["hold"]
        self.assertEqual([hold[key] for key in ("user_changed", "command_changed", "environment_changed")], [False, False, True])

    def test_F1_a_finished_job_is_not_found_among_those_that_wait(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "true")
        server.wait_until(number, "finished")
        server.stop()
        self.sql("UPDATE job SET phase = 'waiting', ended = 0 WHERE number = ?", number)
        self.assertEqual(self.serve().job(number)["phase"], "held")

    def test_F1_the_key_is_roots_alone(self):
        self.serve().stop()
        key = self.folder / "key"
        self.assertEqual(key.stat().st_mode & 0o7777, 0o600)
        os.chmod(key, 0o644)
        self.assertIn("others may read or write it", self.refused())

    def test_F2_nobody_else_may_plant_the_key_or_the_owner(self):
        for name in ("key", "store"):
            (self.folder / name).touch()
            os.chown(self.folder / name, 1, 1)
            self.assertIn("belongs to", self.refused())
            os.unlink(self.folder / name)


class AnotherStore(StoreTest):
    def running(self, server):
        number = server.submit(ALICE, "--", "sh", "-c", "echo begun; exec sleep 300")
        server.wait_until(number, "running")
        return number

    def test_F6_a_mistyped_store_ends_no_job(self):
        server = self.serve()
        number = self.running(server)
        server.stop()
        said = self.refused(store="b.db")
        for words in ("1 run of the store", "store.db", "--state DIR", "--runs adopt", "--runs end", "nothing was changed"):
            self.assertIn(words, said)
        server = self.serve()
        self.assertTrue(self.alive(server, number))

    def test_F6_a_store_that_was_removed_is_noticed_at_the_next_start(self):
        server = self.serve()
        number = self.running(server)
        server.stop(signal.SIGKILL)
        for path in self.folder.glob("store.db*"):
            path.unlink()
        self.assertIn("--runs adopt", self.refused())
        server = self.serve("--runs", "adopt")
        job = server.job(number)
        self.assertEqual((job["phase"], job["user"]), ("running", ALICE))
        self.assertEqual(server.run(ALICE, "logs", str(number)).stdout, "begun\n")
        server.stop()
        server = self.serve()  # it is this store's from now on
        self.assertTrue(self.alive(server, number))
        self.assertEqual(server.run(ALICE, "cancel", str(number)).returncode, 0)
        server.wait_until(number, "cancelled")
        self.assertGreater(server.submit(ALICE, "--", "true"), number)

    def test_F6_runs_are_ended_on_purpose(self):
        server = self.serve()
        number = self.running(server)
        server.stop()
        server = self.serve("--runs", "end", store="b.db")
        self.assertIn(f"job {number} of another store was ended", server.said())
        server.stop()
        self.assertNotIn("of another store", self.serve(store="b.db").said())

    def test_F6_a_folder_without_runs_is_taken_over(self):
        self.serve().stop()
        server = self.serve(store="b.db")
        self.assertIn("was used with another store before", server.said())

    def test_F6_a_store_that_is_gone_is_noticed(self):
        server = self.serve()
        number = self.running(server)
        away = self.folder / "away"
        os.rename(self.folder / "store.db", away)
        self.assertIn("was deleted or replaced while it was in use", self.becomes(server, 503))
        done = server.run(ALICE, "submit", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("was deleted or replaced while it was in use", done.stderr)
        self.assertTrue(self.alive(server, number))
        os.rename(away, self.folder / "store.db")
        self.becomes(server, 200)
        server.wait_until(server.submit(ALICE, "--", "true"), "finished")
        self.assertTrue(self.alive(server, number))


class FullDisk(StoreTest):
    def test_F7_an_end_is_stored_and_a_server_starts_on_a_full_disk(self):
        disk = self.small_disk(48)
        server = self.serve(folder=disk)
        number = server.submit(ALICE, "--", "sleep", "300")
        server.wait_until(number, "running")
        with open(disk / "filler", "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        filler.write(b"x" * size)
                except OSError:
                    pass
        done = server.run(ALICE, "submit", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nearly full", done.stderr)
        done = server.run(ALICE, "cancel", str(number))
        self.assertEqual(done.returncode, 0, done.stderr)
        server.wait_until(number, "cancelled")
        server.stop(signal.SIGKILL)
        server = self.serve(folder=disk)
        self.assertEqual(server.job(number)["phase"], "cancelled")
        os.unlink(disk / "filler")
        server.wait_until(server.submit(ALICE, "--", "true"), "finished")


class Secrets(StoreTest):
    def test_F1_no_password_on_a_command_line(self):
        for command in (["serve", "--listen", "none", "--for", "1s"], ["token", "list"], ["samples"]):
            done = subprocess.run([PROGRAM, *command, "--store", "postgresql://me:hunter2@127.0.0.1:1/db"], cwd=self.folder, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn("hunter2", done.stdout + done.stderr)
            self.assertIn("PGPASSFILE", done.stderr)

    def test_N13_a_mistyped_folder_is_not_made(self):
        said = self.refused(store="nope/store.db", code=2)
        self.assertIn("mkdir -p", said)
        self.assertFalse((self.folder / "nope").exists())

    def test_N12_a_token_goes_to_no_other_servers_store(self):
        done = subprocess.run([PROGRAM, "token", "create"], cwd=self.folder, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=PATIENCE,
                              env={"PATH": os.environ["PATH"], "HOME": "/", "SHAREWELL_SERVER": str(self.folder / "s.sock")})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("SHAREWELL_SERVER names the server", done.stderr)
        self.assertIn("--store", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
