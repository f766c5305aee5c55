#!/usr/bin/env python3
"""Nobody is kept waiting by who submitted first, and whoever waits is told what for: F18, F23, N2 and N3."""

import json
import unittest

from house import ALICE, BOB, ROOT, TrustTest

SLEEP = ("--exclusive", "--", "sleep", "60")
ARRAY = ("--exclusive", "--", "sleep", "6{n}")


class Fair(TrustTest):
    def why(self, server, number, user=BOB):
        done = server.run(user, "why", str(number))
        self.assertEqual(done.returncode, 0, done.stderr)
        return " ".join(done.stdout.split())

    def ahead(self, server, number):
        return json.loads(server.run(BOB, "why", str(number), "--json").stdout)["ahead"]

    def test_F18_who_used_less_goes_first_and_why_says_who_is_ahead(self):
        server = self.serve(gpus="1xH200")
        first = server.submit(ALICE, *SLEEP)
        server.wait_until(first, "running")
        hers = server.submit(ALICE, "--array", "n=1,2,3,4,5", *ARRAY)
        his = server.submit(BOB, *SLEEP)
        self.assertEqual(self.ahead(server, his), {"jobs": 0, "of": []})
        self.assertIn("no job goes before it", self.why(server, his))
        told = self.why(server, hers)
        self.assertIn(f"1 job goes before it: 1 of {BOB} (used less so far)", told)
        self.assertIn("5 jobs go before it", self.why(server, hers + 4))
        server.run(ROOT, "cancel", str(first))
        server.wait_until(his, "running")
        self.assertEqual(server.job(hers)["phase"], "waiting")

    def test_F18_a_higher_priority_is_named(self):
        server = self.serve(gpus="1xH200")
        server.wait_until(server.submit(ALICE, *SLEEP), "running")
        his = server.submit(BOB, *SLEEP)
        server.submit(ROOT, "--priority", "5", *SLEEP)
        self.assertEqual(self.ahead(server, his), {"jobs": 1, "of": [{"user": "root", "jobs": 1, "because": "higher priority"}]})
        self.assertIn("1 job goes before it: 1 of root (higher priority)", self.why(server, his))

    def test_F18_what_was_used_is_known_after_a_restart(self):
        server = self.serve(gpus="1xH200")
        server.wait_until(server.submit(ALICE, "--exclusive", "--", "sleep", "0.5"), "finished")
        server.stop()
        server = self.serve(gpus="1xH200")
        server.wait_until(server.submit(ROOT, *SLEEP), "running")
        hers = server.submit(ALICE, *SLEEP)
        server.submit(BOB, *SLEEP)
        self.assertEqual(self.ahead(server, hers), {"jobs": 1, "of": [{"user": BOB, "jobs": 1, "because": "used less so far"}]})

    def test_F23_the_first_array_goes_by_number(self):
        server = self.serve(gpus="4xH200")
        first = server.submit(ALICE, "--array", "n=1,2,3,4,5,6,7,8", *ARRAY)
        running = [n for n in range(first, first + 8) if server.job(n)["phase"] in ("starting", "running")]
        self.assertEqual(running, [first, first + 1, first + 2, first + 3])

    def test_N2_a_job_behind_another_reads_the_same_everywhere(self):
        server = self.serve()
        first = server.submit(ALICE, *SLEEP)
        done = server.run(ALICE, "submit", "--after", str(first), *SLEEP)
        words = f"held: waits for job {first}"
        self.assertIn(words, " ".join(done.stdout.split()))
        second = first + 1
        self.assertIn(words, self.why(server, second))
        listed = server.run(ALICE, "jobs").stdout
        line = next(line for line in listed.splitlines() if line.split()[:1] == [str(second)])
        self.assertIn("held", line)
        self.assertIn(f"{second}: waits for job {first}", listed)

    def test_N3_a_wait_names_what_is_short_and_who_has_it(self):
        server = self.serve(gpus="1xH200")
        first = server.submit(ALICE, "--cpus", "12", "--gpus", "0", "--", "sleep", "60")
        server.wait_until(first, "running")
        second = server.submit(BOB, "--cpus", "6", "--gpus", "0", "--", "sleep", "60")
        self.assertIn(f"needs 6 CPU cores; 4 are free: job {first} of {ALICE} has 12", self.why(server, second))
        self.assertIn("simulated CPU cores", server.said())
        self.assertIn("simulated cores given", server.run(BOB, "top").stdout)
        third = server.submit(ALICE, *SLEEP)
        server.wait_until(third, "running")
        fourth = server.submit(BOB, *SLEEP)
        self.assertIn(f"needs an idle GPU, and none is idle where it may run: GPU 0 has job {third} of {ALICE}", self.why(server, fourth))
        # Who has it is told anew when another one has it.
        fifth = server.submit(ALICE, *SLEEP)
        server.run(ROOT, "cancel", str(third))
        server.wait_until(fourth, "running")
        self.assertIn(f"GPU 0 has job {fourth} of {BOB}", self.why(server, fifth))

    def test_N3_a_drained_gpu_is_named_and_is_nobodys_neighbour(self):
        server = self.serve(gpus="1xH200")
        self.assertEqual(server.run(ROOT, "drain", "0").returncode, 0)
        number = server.submit(BOB, *SLEEP)
        told = self.why(server, number)
        self.assertIn("GPU 0 is drained", told)
        self.assertNotIn("unusable", told)
        self.assertIn("GPU 0 is drained", server.run(BOB, "submit", "--dry-run", *SLEEP).stdout)

    def test_why_of_what_is_over_tells_its_end(self):
        server = self.serve(gpus="1xH200")
        number = server.submit(BOB, "--", "sh", "-c", "exit 3")
        server.wait_until(number, "failed")
        told = self.why(server, number)
        self.assertTrue(told.startswith("it failed with exit code 3"), told)
        self.assertNotIn("idle GPU", told)
        self.assertIn(f"job {number} is over: it failed", server.run(BOB, "cancel", str(number)).stderr)

    def test_F25_an_unknown_model_is_told_what_there_is(self):
        done = self.serve().run(ROOT, "serve", "--gpus", "1xH20", "--store", str(self.folder / "other.db"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("the models are H", done.stderr)
        self.assertNotIn("--gpu-catalogue", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
