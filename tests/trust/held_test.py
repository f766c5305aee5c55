#!/usr/bin/env python3
"""What held when the server was attacked, and must go on to hold: every authorisation."""

import unittest

from house import ALICE, BOB, ROOT, TrustTest


class Held(TrustTest):
    def test_only_the_owner_and_admins_touch_a_job(self):
        server = self.serve()
        number = str(server.submit(ALICE, "--", "sh", "-c", "echo secret; sleep 60"))
        server.wait_until(number, "running")
        for words in (["cancel", number], ["hold", number], ["logs", number]):
            done = server.run(BOB, *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertNotIn("secret", done.stdout + done.stderr)
        self.assertEqual(server.job(number)["phase"], "running")
        self.assertIn("secret", server.run(ALICE, "logs", number).stdout)
        self.assertEqual(server.run(ROOT, "cancel", number).returncode, 0)
        server.wait_until(number, "cancelled")

    def test_a_job_runs_as_its_user(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "id", "-un")
        server.wait_until(number, "finished")
        self.assertEqual(server.run(ALICE, "logs", str(number)).stdout.strip(), ALICE)

    def test_draining_is_for_admins(self):
        server = self.serve()
        done = server.run(BOB, "drain", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("admin", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
