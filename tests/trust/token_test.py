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


    def test_A1_users_together_leave_tokens_for_admins(self):
        server = self.serve()
        server.run(ALICE, "token", "create")
        with open(self.folder / "tokens", "a", encoding="utf-8") as file:
            for i in range(8999):
                file.write(f"{i + 1:08x} {i:064x} {100000 + i // 100} 100000 user 1 somebody\n")
        done = server.run(BOB, "token", "create")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("as many as users may have together; ask an admin", done.stderr)
        done = server.run("root", "token", "create")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
