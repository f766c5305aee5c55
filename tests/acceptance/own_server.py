"""A server of one's own for an acceptance test: $SHAREWELL in a folder of the test, and how it is asked."""
import json
import os
import subprocess
import time

from local_http import Local

PROGRAM = os.environ.get("SHAREWELL", "build/release/sharewell")


class Asker(Local):
    """One connection, kept. An answer of 300 or above is an error."""

    def ask(self, method, path, body=None):
        self.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)


class Server:
    """Is there once it answers."""

    def __init__(self, folder, *flags):
        self.socket = os.path.join(folder, "s.sock")
        with open(os.path.join(folder, "server.log"), "ab") as log:
            self.log = log.name
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--socket", self.socket, "--store", os.path.join(folder, "store.db"), "--listen", "none",
                 *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + 30
        while True:
            try:
                self.ask("GET", "/api/v1")
                return
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise SystemExit("the server does not start: " + self.said()) from None
                time.sleep(0.02)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]

    def ask(self, *words):
        """Over a connection of its own."""
        connection = Asker(self.socket)
        try:
            return connection.ask(*words)
        finally:
            connection.close()

    def live(self):
        """How many jobs are not over."""
        return sum(self.ask("GET", "/api/v1/jobs?live=1&limit=1")["counts"].values())

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def job(*command, **more):
    return {"command": list(command), "folder": "/", "environment": {"PATH": "/usr/bin:/bin"}, **more}
