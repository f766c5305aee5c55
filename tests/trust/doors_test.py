#!/usr/bin/env python3
"""The server's socket and ports under users who want them for themselves."""

import contextlib
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "acceptance"))

from house import ALICE, BOB, ROOT, TrustTest, as_user  # noqa: E402
from local_http import Local  # noqa: E402

# Run by a hostile user: opens connections, says how many stayed open, and holds them until its input ends.
HOLD = """
import socket, sys, threading, time
where, request, count, dribble = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode(), int(sys.argv[3]), sys.argv[4] == "dribble"
held = []
for i in range(count):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
    else:
        s = socket.socket()
        s.bind(("127.0.0.%d" % (2 + i % 4), 0))
        s.connect(("127.0.0.1", int(where)))
    s.settimeout(0.5)
    try:
        s.sendall(request)
    except OSError:
        pass
    held.append(s)
streams = 0
if "events" in sys.argv[2]:
    for s in held:
        try:
            streams += b"200 OK" in s.recv(4096)
        except OSError:
            pass
print(streams, flush=True)
def slowly():
    while True:
        for s in held:
            try:
                s.send(b"x")
            except OSError:
                pass
        time.sleep(0.2)
if dribble:
    threading.Thread(target=slowly, daemon=True).start()
sys.stdin.read()
"""
HALF = r"GET /api/v1 HTTP/1.1\r\nX: "


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Doors(TrustTest):
    def hold(self, user, where, request, count, how="still"):
        """What that user's process says once it holds all it could get."""
        process = subprocess.Popen(["/usr/bin/python3", "-c", HOLD, str(where), request, str(count), how], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd="/", encoding="utf-8", **as_user(user))
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        return int(process.stdout.readline())

    def answers(self, server, user):
        begin = time.monotonic()
        done = server.run(user, "jobs")
        self.assertEqual((done.returncode, done.stderr), (0, ""), user)
        self.assertLess(time.monotonic() - begin, 5)

    def test_F15_half_sent_requests_from_all_of_loopback_keep_nobody_out(self):
        port = free_port()
        server = self.serve(listen=f"127.0.0.1:{port}")
        self.hold(ALICE, port, HALF, 300)
        for user in (ROOT, BOB, ALICE):
            self.answers(server, user)
        time.sleep(0.6)  # what is half sent so long gives way
        door = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.addCleanup(door.close)
        door.request("GET", "/healthz")
        self.assertEqual(door.getresponse().status, 200)

    def test_F15_one_user_cannot_take_the_whole_socket(self):
        server = self.serve()
        self.hold(ALICE, server.socket, HALF, 300)
        for user in (ROOT, BOB):
            self.answers(server, user)

    def test_F15_streams_are_counted_by_user(self):
        port = free_port()
        server = self.serve(listen=f"127.0.0.1:{port}")
        request = r"GET /api/v1/events HTTP/1.1\r\n\r\n"
        self.assertLessEqual(self.hold(ALICE, port, request, 150), 64)
        self.assertLessEqual(self.hold(ALICE, server.socket, request, 150), 64)
        self.assertEqual(self.hold(BOB, server.socket, request, 1), 1)

    def test_F19_a_port_that_another_holds_does_not_keep_the_server_from_starting(self):
        port = free_port()
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        with contextlib.closing(holder):
            server = self.serve(listen=f"127.0.0.1:{port}")
            server.wait_for("another program holds that port")
            self.answers(server, BOB)
            self.assertIn(f"cannot listen on 127.0.0.1:{port}", self.ask(server, "GET", "/healthz").decode())
        server.wait_for(f"listening on 127.0.0.1:{port} now")
        self.assertEqual(self.ask(server, "GET", "/healthz"), b"ok\n")

    def test_F19_a_socket_of_a_live_server_is_an_error(self):
        server = self.serve()
        (self.folder / "other").mkdir()
        done = server.run(ROOT, "serve", "--gpus", "none", "--listen", "none", "--socket", str(server.socket), "--store",
                          str(self.folder / "other" / "store.db"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a server listens there already", done.stderr)

    def test_A1_a_uid_without_an_account_is_nobody(self):
        """One person can have thousands of these, by /etc/subuid."""
        server = self.serve()
        for command in (["jobs"], ["submit", "--", "true"]):
            done = server.run(4_000_000_000, *command)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("has no account on this machine", done.stderr)
        self.assertEqual(server.run(ALICE, "jobs").returncode, 0)

    def test_F27_a_full_server_says_so_in_words(self):
        server = self.serve()
        self.hold(ALICE, server.socket, HALF, 80, "dribble")
        done = server.run(ALICE, "jobs")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("waiting 1 s", done.stderr)
        self.assertIn("limits.connections in sharewell.toml", done.stderr)
        self.assertNotIn("not as a sharewell server does", done.stderr)
        self.answers(server, BOB)

    @staticmethod
    def ask(server, method, path, body=None):
        door = Local(str(server.socket))
        with contextlib.closing(door):
            door.request(method, path, None if body is None else json.dumps(body))
            return door.getresponse().read()

    def test_N5_the_server_serves_its_openapi(self):
        told = json.loads(self.ask(self.serve(), "GET", "/api/v1/openapi.json"))
        self.assertIn("/api/v1/openapi.json", told["paths"])

    def test_N6_a_job_without_folder_and_path_runs_at_home_with_one(self):
        server = self.serve()
        body = {"command": ["sh", "-c", "pwd; env"], "gpus": 0}
        number = json.loads(self.ask(server, "POST", "/api/v1/jobs", body))["jobs"][0]["number"]
        server.wait_until(number, "finished")
        said = server.run(ROOT, "logs", str(number)).stdout
        self.assertEqual(said.splitlines()[0], str(pathlib.Path.home()))
        self.assertIn("\nPATH=/usr/local/bin:/usr/bin:/bin\n", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
