#!/usr/bin/env python3
"""A study cannot hurt anybody but the one who asked for it: A2 and B1."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import unfolding
from house import ALICE, BOB, CAROL, PATIENCE, TrustTest, as_user

# `make soak` takes longer, on a machine that does nothing else, and is stricter.
SECONDS = float(os.environ.get("SHAREWELL_STUDY_SECONDS", "5"))
SLOWEST = float(os.environ.get("SHAREWELL_STUDY_SLOWEST", "1"))

# Sends a file to a path of the socket so often, and prints each answer's status and words. 0: for ever.
POST = """
import http.client, socket, sys
where, path, file, count = sys.argv[1:5]
body = open(file, "rb").read()
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(where)
done = 0
while done != int(count) or done == 0:
    try:
        local = Local("localhost")
        local.request("POST", path, body)
        answer = local.getresponse()
        print(answer.status, answer.read().decode(errors="replace"), flush=True)
    except OSError as error:
        if int(count):
            raise
    done += 1
"""


def studies_of(server):
    """The processes that do studies for it."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "stat").read_text(encoding="utf-8").rpartition(")")
        except OSError:
            continue
        if words[0].endswith("(sharewell-study") and int(words[2].split()[1]) == server.process.pid and words[2].split()[0] != "Z":
            found.append(int(process.name))
    return found


def peak(server):
    """The most memory that the server itself ever had, in MB."""
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1e3
    raise AssertionError("the server is gone")


class Studies(TrustTest):
    SIMULATE = "/api/v1/simulate?policies=sharewell,pack,slot&name=t.csv"
    PREDICT = "/api/v1/predictions?name=m.onnx"

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def post(self, server, user, path, file, count=1):
        process = subprocess.Popen(["/usr/bin/python3", "-c", POST, str(server.socket), path, str(file), str(count)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", encoding="utf-8", **as_user(user))
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def answer(self, server, user, path, file):
        status, _, words = self.post(server, user, path, file).stdout.readline().partition(" ")
        return int(status), json.loads(words)

    def wait_for_studies(self, server, count):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = studies_of(server)
            if len(found) == count:
                return found
            time.sleep(0.02)
        raise AssertionError(f"there never were {count} studies, but {len(found)}: {server.said()}")

    def test_A2_a_file_that_unfolds_is_refused_and_the_server_stays(self):
        server = self.serve()
        before = peak(server)
        for name in ("operands", "numbers", "calls_itself"):
            status, told = self.answer(server, ALICE, self.PREDICT, self.file(name, getattr(unfolding, name)()))
            self.assertEqual(status, 400, told)
            self.assertIn("no model needs that many", told["detail"])
        self.assertEqual(self.answer(server, BOB, self.PREDICT, self.file("plain", unfolding.plain()))[0], 200)
        self.assertLess(peak(server) - before, 150)

    def test_A2_the_kernel_takes_studies_first(self):
        server = self.serve()
        self.post(server, ALICE, self.SIMULATE, self.file("trace", unfolding.trace()))
        study = self.wait_for_studies(server, 1)[0]
        process = pathlib.Path(f"/proc/{study}")
        self.assertEqual((process / "oom_score_adj").read_text(encoding="utf-8").strip(), "1000")
        limits = (process / "limits").read_text(encoding="utf-8")
        for bound in ("Max data size", "Max cpu time", "Max address space"):
            line = next(one for one in limits.splitlines() if one.startswith(bound))
            self.assertNotIn("unlimited", line)
        # Of what the server has open it has nothing: the client would never see the server's end.
        self.assertLessEqual(len(list((process / "fd").iterdir())), 4)
        # Whatever ends it, its client is told, and the server stays.
        os.kill(study, 9)
        self.assertEqual(self.answer(server, ALICE, self.PREDICT, self.file("plain", unfolding.plain()))[0], 200)

    def test_A2_who_asks_for_too_much_is_told_kindly(self):
        server = self.serve()
        waiting = self.post(server, ALICE, self.SIMULATE, self.file("trace", unfolding.trace()))
        os.kill(self.wait_for_studies(server, 1)[0], 24)  # SIGXCPU, as the kernel sends it when the CPU time is used up
        status, _, words = waiting.stdout.readline().partition(" ")
        self.assertEqual(status, "400", words)
        told = json.loads(words)["detail"]
        self.assertIn("the simulation needs more than 300 seconds of CPU time", told)
        self.assertIn("run it yourself with `sharewell simulate`", told)

    def test_B1_a_study_ends_with_its_client(self):
        server = self.serve()
        client = self.post(server, ALICE, self.SIMULATE, self.file("trace", unfolding.trace()))
        self.wait_for_studies(server, 1)
        client.kill()
        begin = time.monotonic()
        self.wait_for_studies(server, 0)
        self.assertLess(time.monotonic() - begin, 5)

    def test_B1_the_server_stops_though_studies_run(self):
        server = self.serve()
        trace = self.file("trace", unfolding.trace())
        for user in (ALICE, BOB, CAROL):
            self.post(server, user, self.SIMULATE, trace)
        studies = self.wait_for_studies(server, 3)
        # Somebody else's prediction does not wait for three simulations.
        self.assertEqual(self.answer(server, "root", self.PREDICT, self.file("plain", unfolding.plain()))[0], 200)
        begin = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual([study for study in studies if os.path.exists(f"/proc/{study}/exe")], [])

    def test_B1_studies_end_with_a_server_that_was_killed(self):
        server = self.serve()
        self.post(server, ALICE, self.SIMULATE, self.file("trace", unfolding.trace()))
        study = self.wait_for_studies(server, 1)[0]
        server.process.kill()
        server.process.wait()
        end = time.monotonic() + 5
        while os.path.exists(f"/proc/{study}/exe") and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(os.path.exists(f"/proc/{study}/exe"))

    def test_B1_one_users_studies_are_bounded_and_refused_kindly(self):
        server = self.serve()
        trace = self.file("trace", unfolding.trace())
        posts = [self.post(server, ALICE, self.SIMULATE, trace) for _ in range(4)]
        end = time.monotonic() + PATIENCE
        while sum(post.poll() is not None for post in posts) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        refused = [post.stdout.readline() for post in posts if post.poll() is not None]
        self.assertEqual([line[:4] for line in refused], ["429 ", "429 "])
        status, told = self.answer(server, ALICE, self.PREDICT, self.file("plain", unfolding.plain()))
        self.assertEqual(status, 429, told)
        self.assertIn("limits.studies", told["detail"])
        self.assertEqual(len(studies_of(server)), 1)  # one at a time
        self.assertEqual(self.answer(server, BOB, self.PREDICT, self.file("plain", unfolding.plain()))[0], 200)

    def test_A2_B1_anothers_submit_and_jobs_stay_quick(self):
        server = self.serve()
        trace = self.file("trace", unfolding.trace())
        self.post(server, ALICE, self.SIMULATE, trace, 0)
        for name in ("operands", "numbers", "calls_itself"):
            self.post(server, ALICE, self.PREDICT, self.file(name, getattr(unfolding, name)()), 0)
        self.wait_for_studies(server, 2)
        times = {"submit": [], "jobs": []}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or len(times["jobs"]) < 5:
            for name, words in (("submit", ("submit", "--gpus", "0", "--", "true")), ("jobs", ("jobs",))):
                begin = time.monotonic()
                done = server.run(BOB, *words)
                times[name].append(time.monotonic() - begin)
                self.assertEqual(done.returncode, 0, done.stderr)
        for name, all_of in times.items():
            slow = sorted(all_of)[max(0, int(len(all_of) * 0.99) - 1)]
            print(f"{name}: {len(all_of)} times, p99 {slow * 1e3:.0f} ms", file=sys.stderr)
            self.assertLess(slow, SLOWEST, name)


if __name__ == "__main__":
    unittest.main()
