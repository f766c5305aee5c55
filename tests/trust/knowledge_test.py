#!/usr/bin/env python3
"""What one user's jobs taught the server says nothing of another's: A3, B3."""

import json
import unittest

from house import ALICE, BOB, CAROL, ROOT, TrustTest

PYTHON = "/usr/bin/python3"  # every user may run it
# Long enough for the monitor to see what it uses.
WORK = "import time\nend = time.time() + 2.5\nwhile time.time() < end: pass\n"


class Knowledge(TrustTest):
    def needs_of(self, server, user, *args):
        number = server.submit(user, "--hold", *args)
        return server.job(number)["needs"]

    def test_A3_a_run_in_anothers_folder_says_nothing_of_that_ones_job(self):
        (self.folder / "train.py").write_text(WORK, encoding="utf-8")
        server = self.serve()
        command = ("--gpus", "0", "--", PYTHON, str(self.folder / "train.py"))
        for _ in range(2):
            server.wait_until(server.submit(ALICE, *command), "finished")
        hers = self.needs_of(server, ALICE, *command)
        self.assertIn("2 runs of the same", hers["from"])
        self.assertEqual(self.needs_of(server, BOB, *command)["from"], "nothing is known about it")
        # A second user who ran it makes it count for a third.
        server.wait_until(server.submit(CAROL, *command), "finished")
        self.assertIn("by 2 other users", self.needs_of(server, BOB, *command)["from"])
        server.stop()
        server = self.serve()
        self.assertIn("by 2 other users", self.needs_of(server, BOB, *command)["from"])
        # An admin can make the server forget one of them, and it stays forgotten.
        done = server.run(ALICE, "predictor", "--forget", CAROL)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("for admins", done.stderr)
        self.assertIn(CAROL, server.run(BOB, "predictor").stdout)
        done = server.run(ROOT, "predictor", "--forget", CAROL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.needs_of(server, BOB, *command)["from"], "nothing is known about it")
        self.assertIn("of the same", self.needs_of(server, ALICE, *command)["from"])
        server.stop()
        server = self.serve()
        self.assertEqual(self.needs_of(server, BOB, *command)["from"], "nothing is known about it")

    def test_A3_a_name_does_not_shadow_what_an_admin_measured(self):
        server = self.serve()
        store = str(self.folder / "store.db")
        done = server.run(ROOT, "profile", "--name", "bert", "--warmup", "0s", "--for", "1s", "--interval", "0.1s", "--store", store, "--", "sleep", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        work = ("--gpus", "0", "--", PYTHON, "-c", WORK)
        server.wait_until(server.submit(ALICE, "--name", "bert", *work), "finished")
        server.wait_until(server.submit(ALICE, "--name", "gpt", *work[:-1], WORK + "#"), "finished")
        listed = json.loads(server.run(ROOT, "profiles", "list", "--json", "--store", store).stdout)["profiles"]
        self.assertEqual([(one["name"], one["source"], one["user"]) for one in listed],
                         [("bert", "profile", None), ("bert", "job", ALICE), ("gpt", "job", ALICE)])
        asked = ("--gpus", "0", "--profile", "bert", "--", "true")
        for user in (BOB, ALICE):
            needs = self.needs_of(server, user, *asked)
            self.assertIsNotNone(needs["cpu_cores"], "the admin's; of a job so short they are not known")
        asked = ("--gpus", "0", "--profile", "gpt", "--", "true")
        self.assertEqual(self.needs_of(server, ALICE, *asked)["from"], "profile gpt")
        done = server.run(BOB, "submit", *asked)
        self.assertEqual(done.returncode, 2)
        self.assertIn("was left by jobs of other users", done.stderr)
        done = server.run(ROOT, "profiles", "delete", "--user", ALICE, "--yes", "--store", store)
        self.assertIn("2 profiles deleted", done.stdout, done.stderr)

    def test_B3_a_flood_of_cancelled_jobs_does_not_make_usage_forgotten(self):
        server = self.serve(gpus="1xH200")
        server.wait_until(server.submit(ALICE, "--exclusive", "--", "sleep", "0.5"), "finished")
        for _ in range(3):
            words = ",".join(str(n) for n in range(680))
            first = server.submit(ALICE, "--hold", "--array", f"n={words}", "--", "sleep", "{n}")
            done = server.run(ALICE, "cancel", *(str(first + n) for n in range(680)))
            self.assertEqual(done.returncode, 0, done.stderr)
        server.stop()
        server = self.serve(gpus="1xH200")
        server.wait_until(server.submit(ROOT, "--exclusive", "--", "sleep", "60"), "running")
        hers = server.submit(ALICE, "--exclusive", "--", "sleep", "60")
        server.submit(BOB, "--exclusive", "--", "sleep", "60")
        told = json.loads(server.run(BOB, "why", str(hers), "--json").stdout)["ahead"]
        self.assertEqual(told, {"jobs": 1, "of": [{"user": BOB, "jobs": 1, "because": "used less so far"}]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
