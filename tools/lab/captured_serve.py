#!/usr/bin/env python3
"""`sharewell serve` that keeps what the dashboard asks of it: so many seconds after its start, and once more when it is told to end.

  CAPTURE_FILE=work/dashboard.json.gz CAPTURE_AFTER=75 tools/lab/run_mix.py data/h200/mix/mix-h200.toml --policy sharewell --warm \\
      --out work/mix --server-binary tools/lab/captured_serve.py

The file has a list of moments, each with its time and the server's answers by path. tests/web/pictures.mjs draws the dashboard from it.
"""
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

PATIENCE_SECONDS = 5
# What web/src asks, without its limits.
PAGES = ("/api/v1", "/api/v1/gpus", "/api/v1/nodes", "/api/v1/limits", "/api/v1/pairs", "/api/v1/profiles",
         "/api/v1/jobs?live=1", "/api/v1/jobs?phase=finished,failed,cancelled&limit=8", "/api/v1/jobs?limit=1000")
OF_A_JOB = ("", "/why", "/samples", "/neighbours", "/speed")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE_SECONDS)
        self.sock.connect(self.path)


def without_environment(value):
    """No job's environment: it is its user's, and no page of the pictures shows it."""
    if isinstance(value, list):
        return [without_environment(each) for each in value]
    if isinstance(value, dict):
        return {key: {} if key == "environment" else without_environment(each) for key, each in value.items()}
    return value


def answer(path, target):
    """What the server says; null where it has nothing to say."""
    connection = UnixConnection(path)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        body = response.read()
        return without_environment(json.loads(body)) if response.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def moment(path):
    answers = {page: answer(path, page) for page in PAGES}
    jobs = (answers["/api/v1/jobs?limit=1000"] or {}).get("jobs", [])
    for job in jobs:
        for part in OF_A_JOB:
            target = f"/api/v1/jobs/{job['number']}{part}"
            answers[target] = answer(path, target)
    return {"time_ms": int(time.time() * 1000), "answers": answers}


def main():
    words = sys.argv[1:]
    path, file = words[words.index("--socket") + 1], os.environ["CAPTURE_FILE"]
    moments = []
    server = subprocess.Popen([os.environ.get("SHAREWELL", "sharewell"), *words])

    def look():
        time.sleep(float(os.environ.get("CAPTURE_AFTER", "75")))
        moments.append(moment(path))

    def end(*_):
        moments.append(moment(path))
        with gzip.GzipFile(file, "wb", mtime=0) as out:
            out.write(json.dumps({"moments": moments}, separators=(",", ":"), sort_keys=True).encode())
        server.terminate()

    threading.Thread(target=look, daemon=True).start()
    signal.signal(signal.SIGTERM, end)
    sys.exit(server.wait())


if __name__ == "__main__":
    main()
