#!/usr/bin/env python3
"""A user can take only a user's part: sharewell.toml, what it bounds, and how refusals read."""

import contextlib
import http.client
import json
import re
import socket
import sqlite3
import time
import unittest

from house import ALICE, BOB, CAROL, ROOT, TrustTest

SETTINGS = f"""
[limits]
running_jobs = 2
studies = 1

[limits.user.{BOB}]
queued_jobs = 3

[limits.group.{CAROL}]
queued_jobs = 5
most_priority = 7
"""


class ByUser(http.client.HTTPConnection):
    """HTTP over the server's Unix socket, as whoever runs this."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)

    def ask(self, method, target, body=None):
        self.request(method, target, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())


class LimitsTest(TrustTest):
    def refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in (*words, "an admin can raise limits."):
            self.assertIn(word, done.stderr)

    def ask(self, server):
        connection = ByUser(server.socket)
        self.addCleanup(connection.close)
        return connection

    def configured(self):
        config = self.folder / "sharewell.toml"
        config.write_text(SETTINGS, encoding="utf-8")
        return self.serve("--config", str(config), gpus="none")

    def test_F18_positive_priorities_are_for_admins(self):
        server = self.serve(gpus="none")
        done = server.run(ALICE, "submit", "--gpus", "0", "--hold", "--priority", "1000000", "--", "true")
        self.refused(done, "priority 1000000", "is 0 (limits.most_priority)")
        self.assertEqual(server.run(ALICE, "submit", "--gpus", "0", "--hold", "--priority=-3", "--", "true").returncode, 0)
        self.assertEqual(server.run(ROOT, "submit", "--gpus", "0", "--hold", "--priority", "5", "--", "true").returncode, 0)

    def test_F17_long_commands_are_refused_and_lists_are_short(self):
        server = self.serve(gpus="none")
        ask = self.ask(server)
        status, told = ask.ask("POST", "/api/v1/jobs", {"command": ["true", "x" * (4_000_000)], "gpus": 0, "held": True})
        self.assertEqual(status, 409, told)
        self.assertIn("limits.job_bytes", told["detail"])
        # What an admin may have still lists in pages, with the beginnings of commands.
        for _ in range(20):
            status, told = ask.ask("POST", "/api/v1/jobs", {"command": ["true", "x" * 900_000], "gpus": 0, "held": True})
            self.assertEqual(status, 201)
        number = told["jobs"][0]["number"]
        status, page = ask.ask("GET", "/api/v1/jobs?limit=1000")
        self.assertEqual((status, len(page["jobs"])), (200, 20))
        self.assertEqual(page["jobs"][0]["command"][-1], "...")
        self.assertLess(len(json.dumps(page)), 100_000)
        status, whole = ask.ask("GET", f"/api/v1/jobs/{number}")
        self.assertEqual(len(whole["command"][1]), 900_000)
        self.assertEqual(server.run(BOB, "jobs").returncode, 0)

    def test_F17_what_a_user_keeps_of_ended_jobs_is_bounded(self):
        config = self.folder / "sharewell.toml"
        config.write_text('[limits]\nkept_bytes = "300KiB"\n', encoding="utf-8")
        server = self.serve("--config", str(config), gpus="none")
        for _ in range(6):
            number = server.submit(ALICE, "--gpus", "0", "--hold", "--", "true", "x" * 100_000)
            self.assertEqual(server.run(ALICE, "cancel", str(number)).returncode, 0)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.closing(sqlite3.connect(self.folder / "store.db")) as store:
                kept = store.execute("SELECT COUNT(*) FROM job").fetchone()[0]
            if kept <= 3:
                break
            time.sleep(0.1)
        self.assertIn(kept, (2, 3))

    def test_F16_a_manyfold_after_is_one_question(self):
        server = self.serve(gpus="none")
        number = server.submit(ALICE, "--gpus", "0", "--", "true")
        server.wait_until(number, "finished")
        ask = self.ask(server)
        body = {"command": ["true"], "gpus": 0, "after": [number] * 1000}
        began = time.monotonic()
        status, told = ask.ask("POST", "/api/v1/jobs?dry_run=1", body)
        self.assertEqual(status, 200, told)
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(told["jobs"][0]["after"], [number])
        status, told = ask.ask("POST", "/api/v1/jobs?dry_run=1", {**body, "after": list(range(1, 102))})
        self.assertEqual(status, 400)
        self.assertIn("100 are the most", told["detail"])

    def test_limits_by_user_and_group(self):
        server = self.configured()
        hold = ("submit", "--gpus", "0", "--hold", "--array")
        self.assertEqual(server.run(BOB, *hold, "1-3", "--", "true").returncode, 0)
        self.refused(server.run(BOB, *hold, "1-1", "--", "true"), f"{BOB} has 3 jobs", "is 3 (limits.queued_jobs)")
        self.refused(server.run(CAROL, *hold, "1-6", "--", "true"), "is 5 (limits.queued_jobs)")
        self.assertEqual(server.run(CAROL, *hold, "1-5", "--priority", "7", "--", "true").returncode, 0)
        told = {row["name"]: row for row in json.loads(server.run(BOB, "limits", "--json").stdout)["limits"]}
        self.assertEqual((told["queued_jobs"]["limit"], told["queued_jobs"]["used"], told["queued_jobs"]["left"]), (3, 3, 0))
        self.assertEqual(told["queued_jobs"]["from"], f"[limits.user.{BOB}]")
        self.assertEqual((told["running_jobs"]["limit"], told["running_jobs"]["from"]), (2, "[limits]"))
        self.assertEqual(told["job_bytes"]["from"], "default")
        self.assertIn("queued_jobs", server.run(ROOT, "limits", "--user", CAROL).stdout)
        self.assertEqual(server.run(BOB, "limits", "--user", CAROL).returncode, 1)

    def test_F8_so_many_of_one_user_run_at_once(self):
        server = self.configured()
        first = server.submit(ALICE, "--gpus", "0", "--cpus", "0.01", "--array", "1-4", "--", "sleep", "60")
        server.wait_until(first + 1, "running")
        third = server.job(first + 2)
        self.assertEqual(third["phase"], "waiting")
        self.assertIn("may run 2 jobs at once (limits.running_jobs)", third["reason"])
        other = server.submit(BOB, "--gpus", "0", "--cpus", "0.01", "--", "sleep", "60")
        server.wait_until(other, "running")
        server.run(ALICE, "cancel", str(first))
        server.wait_until(first + 2, "running")
        self.assertEqual(server.job(first + 3)["phase"], "waiting")

    def test_N15_so_many_of_one_array_run_at_once(self):
        server = self.serve(gpus="none")
        first = server.submit(ALICE, "--gpus", "0", "--cpus", "0.01", "--array", "1-4%2", "--", "sleep", "60")
        server.wait_until(first + 1, "running")
        self.assertIn("at most 2 jobs of its array", server.job(first + 2)["reason"])
        server.run(ALICE, "cancel", str(first + 1))
        server.wait_until(first + 2, "running")
        self.assertEqual(server.job(first + 3)["phase"], "waiting")

    def test_B6_a_job_has_the_resource_limits_of_its_user(self):
        security = self.folder / "security"
        security.mkdir()
        (security / "limits.conf").write_text(f"* - nofile 600\n{ALICE} soft nofile 500\n{ALICE} hard nproc 900\n* - core 0\n", encoding="utf-8")
        server = self.serve(within=("unshare", "--mount", "sh", "-c", f'mount --bind {security} /etc/security && exec "$@"', "sh"))
        ask = ("python3", "-c", "import resource as r; print(*(r.getrlimit(x) for x in (r.RLIMIT_NOFILE, r.RLIMIT_NPROC, r.RLIMIT_CORE)))")
        alice, bob = server.submit(ALICE, "--", *ask), server.submit(BOB, "--", *ask)
        for number in (alice, bob):
            self.assertEqual(server.wait_until(number, "finished", "failed")["phase"], "finished")
        self.assertEqual(server.run(ALICE, "logs", str(alice)).stdout, "(500, 600) (900, 900) (0, 0)\n")
        nofile, nproc, core = re.findall(r"\(([^)]*)\)", server.run(BOB, "logs", str(bob)).stdout)
        self.assertEqual((nofile, core), ("600, 600", "0, 0"))
        self.assertLessEqual(int(nproc.split(", ")[1]), 16384, "what is left of all runs of a user together")

    def test_settings_that_others_may_write_are_refused(self):
        config = self.folder / "sharewell.toml"
        config.write_text(SETTINGS, encoding="utf-8")
        config.chmod(0o666)
        with self.assertRaises(AssertionError):
            self.serve("--config", str(config), gpus="none")
        self.assertIn("sharewell.toml", (self.folder / "said").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
