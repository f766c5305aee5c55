#!/usr/bin/env python3
"""The Python client against a server made of the standard library on a Unix socket, and what a training loop tells."""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE))

import sharewell  # noqa: E402


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that went away


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the fixture's script; keeps what was asked."""

    def log_message(self, *_):
        pass

    def address_string(self):
        return "unix"

    def do_GET(self):
        self.answer(b"")

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def answer(self, body):
        fixture = self.server.fixture
        fixture.asked.append((self.command, self.path, body, dict(self.headers)))
        path = self.path.split("?")[0]
        if path.endswith("/events"):
            return self.stream(fixture)
        status, kind, text, headers = fixture.reply(self.command, self.path, body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(text)

    def stream(self, fixture):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for piece in fixture.streams.pop(0) if fixture.streams else []:
            time.sleep(0.02)
            if callable(piece):
                piece()
            else:
                self.wfile.write(piece)
                self.wfile.flush()


def event(number, kind="job.started", job=17):
    data = json.dumps({"id": number, "time_ms": 5, "kind": kind, "job": job, "text": "it runs"})
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n".encode()


class Served(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "s")
        self.asked, self.streams, self.phase, self.script = [], [], "running", {}
        server = UnixServer(self.path, Handler)
        server.fixture = self
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.client = sharewell.Client(self.path)

    def reply(self, method, path, body):
        if path in self.script:
            return self.script[path](body)
        if path.startswith("/api/v1/jobs/17"):
            return 200, "application/json", json.dumps({"schema": 1, "number": 17, "phase": self.phase}).encode(), {}
        problem = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is no job 99; `sharewell jobs` lists them"}
        return 404, "application/problem+json", json.dumps(problem).encode(), {}


class Requests(Served):
    def test_a_submission_says_all_that_the_server_needs(self):
        self.script["/api/v1/jobs"] = lambda body: (201, "application/json", json.dumps(
            {"jobs": [dict(json.loads(body)["jobs"][0], number=17, phase="waiting")]}).encode(), {})
        job = self.client.submit(["python3", pathlib.Path("train.py")], name="x", gpus=2, environment={"A": "1"}, max_slowdown=1.2)
        self.assertEqual((job.number, job.phase, job.command, job.over), (17, "waiting", ["python3", "train.py"], False))
        sent = json.loads(self.asked[0][2])["jobs"][0]
        self.assertEqual(sent, {"command": ["python3", "train.py"], "name": "x", "gpus": 2, "environment": {"A": "1"},
                                "max_slowdown": 1.2, "folder": os.getcwd()})
        with self.assertRaisesRegex(TypeError, "list of words"):
            self.client.submit("python3 train.py")
        with self.assertRaisesRegex(AttributeError, "phse"):
            job.phse

    def test_what_the_server_refuses_is_raised_in_its_words(self):
        with self.assertRaises(sharewell.ServerError) as raised:
            self.client.job(99)
        self.assertEqual((raised.exception.status, str(raised.exception)), (404, "there is no job 99; `sharewell jobs` lists them"))
        self.script["/api/v1"] = lambda _: (500, "text/html", b"<oops>", {})
        with self.assertRaises(sharewell.ServerError) as raised:
            self.client.info()
        self.assertIn("500", str(raised.exception) + str(raised.exception.status))
        self.script["/api/v1"] = lambda _: (200, "application/json", b"[1,", {})
        with self.assertRaisesRegex(sharewell.Error, "cannot be read"):
            self.client.info()
        with self.assertRaisesRegex(sharewell.Unreachable, "sharewell serve"):
            sharewell.Client(self.path + "x").info()
        for wrong in ("ftp://host", "http://"):
            with self.assertRaisesRegex(sharewell.Error, "no server"):
                sharewell.Client(wrong)

    def test_pages_are_followed(self):
        pages = {None: ([5, 4], 4), "4": ([2], None)}

        def page(below):
            return lambda _: (200, "application/json", json.dumps(
                {"jobs": [{"number": n} for n in pages[below][0]], "next": pages[below][1]}).encode(), {})
        self.script["/api/v1/jobs?phase=waiting%2Crunning&limit=1000"] = page(None)
        self.script["/api/v1/jobs?phase=waiting%2Crunning&below=4&limit=1000"] = page("4")
        self.assertEqual([job.number for job in self.client.jobs(phase=["waiting", "running"])], [5, 4, 2])

    def test_logs_keep_characters_whole(self):
        text = "größer\n".encode()

        def part(offset, end, ended):
            return lambda _: (200, "text/plain", text[offset:end], {"X-Next-Offset": str(end), "X-Ended": ended})
        for offset, end in ((0, 3), (3, 6), (6, len(text))):
            self.script[f"/api/v1/jobs/17/logs?stream=out&offset={offset}&most=262144"] = part(offset, end, "0")
        self.script[f"/api/v1/jobs/17/logs?stream=out&offset={len(text)}&most=262144"] = part(len(text), len(text), "1")
        self.assertEqual("".join(self.client.logs(17)), "größer\n")
        self.assertEqual("".join(self.client.logs(17, follow=True)), "größer\n")

    def test_events_go_on_where_they_broke_off(self):
        self.streams = [[event(7), b": still here\n\n", event(8)[:20]], [event(8), event(9)]]
        told = self.client.events(after=6)
        self.assertEqual([next(told).id for _ in range(3)], [7, 8, 9])
        self.assertEqual([headers.get("Last-Event-ID") for _, _, _, headers in self.asked], ["6", "7"])

    def test_waiting_ends_with_the_job(self):
        def end():
            self.phase = "finished"
        self.streams = [[event(1)], [b": alive\n\n", end, event(2, "job.ended")]]
        self.assertEqual(self.client.wait(17, timeout=20).phase, "finished")
        self.phase = "running"
        with self.assertRaises(TimeoutError):
            self.client.wait(17, timeout=0.3)

    def test_the_server_is_found(self):
        keep = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(keep)))
        folder = os.path.dirname(self.path)
        for name in ("SHAREWELL_SERVER", "SHAREWELL_STORE", "XDG_STATE_HOME"):
            os.environ.pop(name, None)
        os.environ["XDG_RUNTIME_DIR"] = folder
        self.assertEqual(sharewell.Client().server, "/run/sharewell/sharewell.sock")
        pathlib.Path(folder, "sharewell.sock").touch()
        self.assertEqual(sharewell.Client().server, os.path.join(folder, "sharewell.sock"))
        os.environ["SHAREWELL_SERVER"] = "http://localhost:10401"
        self.assertEqual(sharewell.Client().server, "http://localhost:10401")


class Training(unittest.TestCase):
    """Loops of their own, as a job's are."""

    def loop(self, text, **environment):
        text = "import os, signal, sys, time, sharewell\n" + textwrap.dedent(text)
        loop = subprocess.Popen([sys.executable, "-B", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment})

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(loop.pid, signal.SIGKILL)
        overdue = threading.Timer(60, end)
        overdue.start()
        for cleanup in (loop.stdin.close, loop.stdout.close, end, overdue.cancel):
            self.addCleanup(cleanup)
        return loop

    def test_steps_are_told_and_nothing_stops_a_training(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p")
            loop = self.loop("sharewell.report_step(); sharewell.report_step(41); sharewell.report_step(step=42)", SHAREWELL_PROGRESS=path)
            self.assertEqual((loop.communicate(timeout=60)[0], loop.returncode), ("", 0))
            self.assertEqual(pathlib.Path(path).read_text(encoding="ascii"), "\n41\n42\n")
        for path in ("", "/nowhere/p", "/dev/full"):
            loop = self.loop("sharewell.report_step(1); sharewell.report_step('x'); print('trained')", SHAREWELL_PROGRESS=path)
            self.assertEqual((loop.communicate(timeout=60)[0], loop.returncode), ("trained\n", 0), path)

    def test_metrics_are_told_about_once_a_second_and_the_last_one_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m")
            pathlib.Path(path).touch()
            text = '''
                class Tensor:
                    def detach(self): return 0.25
                for step in range(1000): sharewell.report_metric("loss", 2.5 / (step + 1), step)
                sharewell.report_metric("eval/acc", Tensor()); sharewell.report_metric("eval/acc", Tensor())
                if os.fork() == 0: sys.exit(0)
                os.wait()
                '''
            loop = self.loop(text, SHAREWELL_METRICS=path)
            self.assertEqual((loop.communicate(timeout=60)[0], loop.returncode), ("", 0))
            self.assertEqual(pathlib.Path(path).read_text(encoding="ascii"), "loss 2.5 0\neval/acc 0.25\nloss 0.0025 999\n")
            loop = self.loop(text, SHAREWELL_METRICS=path + "2", RANK="1")
            self.assertEqual((loop.communicate(timeout=60)[0], loop.returncode), ("", 0))
            self.assertFalse(os.path.exists(path + "2"))

    def test_a_wrong_metric_is_said_once_and_stops_no_training(self):
        wrong = '''
            sys.stderr = sys.stdout
            for _ in range(3):
                for name, value in (("", 1), ("a b", 1), ("ö", 1), ("x" * 33, 1), (7, 1), ([], 1), ("a\\n", 1), ("nan", float("nan")), ("inf", float("inf")),
                                    ("large", 1e31), ("text", "1"), ("none", None), ("list", [1])):
                    sharewell.report_metric(name, value)
                sharewell.report_metric("step", 1, -1)
                for name in ("a", "b", "c", "d", "one-more"): sharewell.report_metric(name, 1)
                sharewell.report_metric("a", 1, "no step")
            print("trained")
            '''
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m")
            pathlib.Path(path).touch()
            loop = self.loop(wrong, SHAREWELL_METRICS=path)
            *said, last = loop.communicate(timeout=60)[0].splitlines()
            self.assertEqual((last, loop.returncode), ("trained", 0))
            self.assertEqual(len(said), 15, said)
            self.assertEqual(len(set(said)), 15)
            self.assertIn("sharewell: report_metric('nan'): nan is not allowed; give a finite number, at most 1e30. It is left out, and this is said once", said)
            self.assertEqual(pathlib.Path(path).read_text(encoding="ascii"), "a 1.0\nb 1.0\nc 1.0\nd 1.0\na 1.0\nb 1.0\nc 1.0\nd 1.0\n")
        for path in ("", "/nowhere/m", "/dev/full"):
            loop = self.loop("sys.stderr = sys.stdout; sharewell.report_metric('loss', 1); sharewell.report_metric('b b', 1, {}); print('trained')", SHAREWELL_METRICS=path)
            said = loop.communicate(timeout=60)[0].splitlines()
            self.assertEqual((said[-1], loop.returncode), ("trained", 0), path)
            self.assertEqual(len(said), 2 if path == "/dev/full" else 1)

    def test_a_stop_is_saved_between_two_steps_and_workers_wait_for_it(self):
        loop = self.loop("""
            whole = [0, 0]
            sharewell.on_stop(lambda: print('saved', whole[0] == whole[1], flush=True))
            worker = os.fork()
            if worker == 0:
                while True: time.sleep(0.1)
            print(worker, flush=True)
            while True:
                assert os.waitpid(worker, os.WNOHANG)[0] == 0, 'the worker went first'
                whole[0] += 1; time.sleep(0.05); whole[1] += 1
                sharewell.report_step()
            """)
        worker = int(loop.stdout.readline())
        time.sleep(0.2)
        for pid in (worker, loop.pid):
            os.kill(pid, signal.SIGTERM)
        self.assertEqual((loop.stdout.readline(), loop.wait(timeout=60)), ("saved True\n", 143))
        os.kill(worker, signal.SIGTERM)  # its loop is gone: it goes
        self.assertEqual(loop.stdout.read(), "")

    def test_a_loop_without_steps_saves_at_once_and_its_own_signal_ends_a_worker(self):
        loop = self.loop("""
            sharewell.on_stop(lambda: print('saved', sharewell.stopping(), flush=True))
            worker = os.fork()
            if worker == 0:
                os.write(1, b'up\\n')
                while True: time.sleep(0.1)
            sys.stdin.readline()
            os.kill(worker, signal.SIGTERM)
            print(os.waitpid(worker, 0)[1], flush=True)
            while True: time.sleep(0.1)
            """)
        self.assertEqual(loop.stdout.readline(), "up\n")
        loop.stdin.write("\n")
        loop.stdin.close()
        self.assertEqual(loop.stdout.readline(), f"{int(signal.SIGTERM)}\n")
        loop.terminate()
        self.assertEqual((loop.stdout.read(), loop.wait(timeout=60)), ("saved True\n", 143))


if __name__ == "__main__":
    unittest.main()
