#!/usr/bin/env python3
"""Tokens of one's own: every user makes them, for nobody else."""

import unittest

from house import ALICE, BOB, TrustTest


class Tokens(TrustTest):
    def test_N4_every_user_makes_tokens_of_their_own(self):
        server = self.serve()
        made = server.run(ALICE, "token", "create", "--label", "dashboard")
        self.assertEqual(made.returncode, 0, made.stderr)
        token = made.stdout.split(".")[0]
        self.assertIn(token, server.run(ALICE, "token", "list").stdout)
        self.assertNotIn(made.stdout.strip(), server.run(ALICE, "token", "list").stdout)
        self.assertIn(ALICE, (self.folder / "tokens").read_text(encoding="utf-8"))

    def test_N4_nobody_sees_or_revokes_the_tokens_of_others(self):
        server = self.serve()
        token = server.run(ALICE, "token", "create").stdout.split(".")[0]
        self.assertNotIn(token, server.run(BOB, "token", "list").stdout)
        done = server.run(BOB, "token", "revoke", token)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("you have no token", done.stderr)
        self.assertIn(token, server.run("root", "token", "list").stdout)
        self.assertEqual(server.run(ALICE, "token", "revoke", token).returncode, 0)
        self.assertNotIn(token, server.run(ALICE, "token", "list").stdout)

    def test_N4_a_token_of_ones_own_is_no_admins(self):
        server = self.serve()
        server.run(ALICE, "token", "create")
        self.assertIn(" user ", (self.folder / "tokens").read_text(encoding="utf-8"))
        done = server.run(ALICE, "token", "create", "--admin")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
