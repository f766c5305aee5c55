#!/usr/bin/env python3
"""Who may do what, from the outside: the socket, tokens, browsers, other users; and what is too much."""

import json
import os
import pwd
import socket
import stat
import subprocess
import tempfile
import unittest

from api_server import PATIENCE, Server
from program import PROGRAM, ProgramTest

NAP = {"command": ["sleep", "60"], "gpus": 0}
ECHO = {"command": ["sh", "-c", "id -u; echo $SECRET"], "gpus": 0, "environment": {"SECRET": "s3cret"}}


class ApiTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.server = Server(self.folder)
        self.addCleanup(self.server.stop)

    def token(self, *args):
        done = self.run_program("token", "create", "--store", "s.db", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {"Authorization": "Bearer " + done.stdout.strip()}

    def status(self, method, path, body=None, headers=None):
        return self.server.ask(method, path, body, headers, self.server.tcp()).status

    def raw(self, text):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE) as client:
            client.sendall(text)
            answer = b""
            while part := client.recv(65536):
                answer += part
            return answer

    def test_tokens_let_in_and_are_revoked(self):
        mine = self.token("--label", "for a test")
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / "tokens").st_mode), 0o600)
        self.assertNotIn(mine["Authorization"].split(".")[1], (self.folder / "tokens").read_text())
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP), 401)
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP, mine), 201)
        self.assertEqual(self.status("POST", "/api/v1/jobs/1/cancel", None, mine), 200)
        listed = json.loads(self.succeed("token", "list", "--store", "s.db", "--json"))["tokens"]
        self.assertEqual([(t["label"], t["admin"]) for t in listed], [("for a test", False)])
        self.assertIn("for a test", self.succeed("token", "list", "--store", "s.db"))
        self.assertIn("revoked", self.succeed("token", "revoke", listed[0]["id"], "--store", "s.db"))
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP, mine), 401)
        self.assertIn("no such token", self.fail_with(2, "token", "revoke", "x", "--store", "s.db"))
        self.assertIn("give an ID to revoke", self.fail_with(2, "token", "revoke"))
        self.assertIn("create, list or revoke", self.fail_with(2, "token", "crate"))
        self.assertIn("no user", self.fail_with(2, "token", "create", "--user", "no such user", "--store", "s.db"))

    def test_a_link_signs_in_once(self):
        made = self.server.ask("POST", "/api/v1/sign-in/link", "")
        if made.status == 501:
            self.skipTest("this program was built without its dashboard")
        self.assertEqual(self.status("POST", "/api/v1/sign-in/link", ""), 401)
        link = made.json()["link"]
        self.assertRegex(link, rf"^http://127\.0\.0\.1:{self.server.port}/#code=[0-9a-f]{{32}}$")
        code = link.split("=")[1]
        sign_in = lambda body, headers=None: self.server.ask("POST", "/api/v1/sign-in", body, headers, self.server.tcp())
        self.assertEqual(sign_in({"code": code}, {"Origin": "https://evil.example"}).status, 403)
        for wrong in ("", "{", "[]", {"code": 5}, {"kode": code}, {}):
            self.assertEqual(sign_in(wrong).status, 400, wrong)
        session = sign_in({"code": code})
        self.assertEqual((session.status, session.json()["user"]), (201, made.json()["user"]))
        mine = {"Authorization": "Bearer " + session.json()["secret"]}
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP, mine), 201)
        self.assertEqual(self.status("GET", "/api/v1/jobs/1/logs", None, mine), 200)
        self.assertEqual(self.status("POST", "/api/v1/gpus/0/drain", None, mine), 403, "it is no admin's")
        self.assertEqual(self.status("POST", "/api/v1/sign-in/link", "", mine), 403, "it makes no links")
        again = sign_in({"code": code})
        self.assertEqual(again.status, 403)
        self.assertIn("sharewell dashboard", again.json()["detail"])
        statuses = [sign_in({"code": "0" * 32}).status for _ in range(12)]
        self.assertEqual(set(statuses), {403, 429})
        self.assertNotIn(code, self.server.said())
        self.assertRegex(self.server.said(), rf"^sharewell: dashboard: http://127\.0\.0\.1:{self.server.port}/ \(`sharewell dashboard --server ")
        printed = self.run_program("dashboard", "--server", str(self.server.socket)).stdout
        self.assertRegex(printed, r"^http://127\.0\.0\.1:\d+/#code=[0-9a-f]{32}\n$")
        self.assertNotEqual(printed.strip(), link)
        self.assertEqual(json.loads(self.succeed("dashboard", "--json", "--server", str(self.server.socket)))["user"], made.json()["user"])

    def test_tokens_as_json(self):
        for place in (("--store", "s.db"), ("--server", str(self.server.socket))):
            made = json.loads(self.run_program("token", "create", "--json", *place).stdout)
            self.assertEqual(made["id"], made["secret"].split(".")[0])
            self.assertEqual(json.loads(self.succeed("token", "revoke", made["id"], "--json", *place))["id"], made["id"])

    def test_browsers_on_behalf_of_others_are_refused(self):
        mine = self.token()
        own = f"127.0.0.1:{self.server.port}"
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP, {**mine, "Origin": "https://evil.example"}), 403)
        self.assertEqual(self.status("POST", "/api/v1/jobs", NAP, {**mine, "Origin": f"http://{own}"}), 201)
        self.assertEqual(self.status("GET", "/api/v1/jobs", None, {"Host": "evil.example"}), 421)
        self.assertEqual(self.status("GET", "/api/v1/jobs"), 200)

    def test_what_is_too_much(self):
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * 20000 + b"\r\n\r\n").split(b"\r\n")[0])
        self.assertIn(b" 400 ", self.raw(b"\x16\x03\x01 is this TLS?\r\n\r\n").split(b"\r\n")[0])
        answer = self.raw(b"POST /api/v1/whatif HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        self.assertIn(b" 401 ", answer.split(b"\r\n")[0])
        self.assertIn(b"application/problem+json", answer)
        big = {"command": ["true"], "gpus": 0, "environment": {"A": "x" * (33 << 20)}}
        self.assertEqual(self.server.ask("POST", "/api/v1/predictions", b"x" * (17 << 20)).status, 413)
        self.assertEqual(self.server.ask("POST", "/api/v1/jobs", big).status, 413)
        self.assertEqual(self.server.ask("PUT", "/api/v1/jobs", b"{}").status, 405)
        self.assertEqual(self.server.ask("GET", "/api/v1/nothing").status, 404)
        self.assertEqual(self.server.ask("GET", "/healthz").bytes, b"ok\n")

    def test_the_socket_is_for_one_server(self):
        before = os.stat(self.server.socket)
        self.assertEqual(stat.S_IMODE(before.st_mode), 0o666 if os.geteuid() == 0 else 0o600)
        (self.folder / "other").mkdir()
        said = self.fail_with(1, "serve", "--gpus", "none", "--store", "other/s.db", "--socket", "s.sock",
                              "--listen", "none")
        self.assertIn("a server listens there already", said)
        self.assertEqual(os.stat(self.server.socket).st_ino, before.st_ino)
        self.server.process.kill()
        self.server.process.wait()
        self.assertTrue(self.server.socket.exists(), "kill -9 leaves it")
        self.server = Server(self.folder)
        self.addCleanup(self.server.stop)
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
        self.assertEqual(self.server.stop(), 0)
        self.assertFalse(self.server.socket.exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root runs jobs as others")
    def test_jobs_run_as_whoever_submitted_them(self):
        nobody = pwd.getpwnam("nobody")
        script = (f"import http.client, json, sys; sys.path.insert(0, {str(os.path.dirname(__file__))!r});"
                  "from api_server import SocketConnection, Answer\n"
                  "def ask(method, path, body=None):\n"
                  f"    c = SocketConnection({str(self.server.socket)!r}); c.request(method, path, body)\n"
                  "    a = Answer(c.getresponse()); return [a.status, a.bytes.decode()]\n"
                  f"made = ask('POST', '/api/v1/jobs', {json.dumps(json.dumps(ECHO))})\n"
                  "print(json.dumps([made, ask('POST', '/api/v1/jobs/1/cancel'), ask('GET', '/api/v1/jobs/1/logs'),"
                  " ask('GET', '/api/v1/jobs/1'), ask('POST', '/api/v1/gpus/0/drain')]))")
        self.server.ask("POST", "/api/v1/jobs", {**NAP, "environment": {"SECRET": "roots"}})
        with tempfile.TemporaryDirectory() as elsewhere:
            done = subprocess.run(["python3", "-B", "-c", script], user="nobody", group=nobody.pw_gid, extra_groups=[],
                                  cwd="/", stdout=subprocess.PIPE, check=False, timeout=PATIENCE,
                                  env={**os.environ, "SHAREWELL": PROGRAM, "HOME": elsewhere})
        made, cancel, logs, shown, drain = json.loads(done.stdout)
        self.assertEqual((made[0], cancel[0], logs[0], shown[0], drain[0]), (201, 403, 403, 200, 403))
        self.assertNotIn("roots", shown[1])
        job = self.server.wait_until(2, "finished", "failed")
        self.assertEqual((job["user"], job["exit_code"]), ("nobody", 0), job)
        # Admins see all of it.
        self.assertEqual(job["environment"], {"SECRET": "s3cret"})
        log = self.server.ask("GET", "/api/v1/jobs/2/logs").bytes.decode()
        self.assertEqual(log, f"{nobody.pw_uid}\ns3cret\n")
        # The same by token.
        theirs = self.token("--user", "nobody")
        answer = self.server.ask("POST", "/api/v1/jobs", ECHO, theirs, self.server.tcp())
        self.assertEqual(answer.json()["jobs"][0]["user"], "nobody")
        self.assertEqual(self.status("POST", "/api/v1/jobs/1/cancel", None, theirs), 403)
        self.assertEqual(self.status("POST", "/api/v1/jobs/1/cancel", None, self.token("--admin", "--user", "nobody")), 200)


if __name__ == "__main__":
    unittest.main()
