"""`sharewell serve` on simulated GPUs, and a client that speaks HTTP to it; shared by tests."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time

from program import PATIENCE, PROGRAM, Speaker



class SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.type = (response.headers.get("Content-Type") or "").split(";")[0]
        self.bytes = response.read()

    def json(self):
        return json.loads(self.bytes)


class Server(Speaker):
    """Until it is stopped. `folder` holds its store, its socket and what it says."""

    def __init__(self, folder, *args, listen="127.0.0.1:0"):
        self.folder = folder
        self.socket = folder / "s.sock"
        self.said_in = folder / "said"
        with open(self.said_in, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--gpus", "2xH200", "--store", str(folder / "s.db"), "--socket",
                 str(self.socket), "--listen", listen, *args],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=os.environ)
        found = self.wait_for(r"https?://[^ ]*:(\d+)/api/v1")
        self.port = int(found[1])

    def ask(self, method, path, body=None, headers=None, door=None):
        """`door`: another connection than the socket's; it is closed afterwards."""
        connection = door or SocketConnection(self.socket)
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            connection.request(method, path, body=body, headers=headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def tcp(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def job(self, number):
        return self.ask("GET", f"/api/v1/jobs/{number}").json()

    def wait_until(self, number, *phases):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            job = self.job(number)
            if job["phase"] in phases:
                return job
            time.sleep(0.02)
        raise AssertionError(f"job {number} is {job['phase']}: {job['reason']} {job['note']}; {self.said()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)
