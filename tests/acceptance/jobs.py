#!/usr/bin/env python3
"""Many short real jobs through a server: each exit code right, none lost or run twice, nothing left behind.

The same with the server killed (SIGKILL) again and again while they run, and every third time a job's supervisor instead: that job
is run again, and no other is. A small run is part of `make test`, the long one of `make soak`:

    SHAREWELL=build/release/sharewell python3 tests/acceptance/jobs.py --jobs 10000
    SHAREWELL=build/release/sharewell python3 tests/acceptance/jobs.py --jobs 10000 --kills 50
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from local_http import Local

# Shell words and the exit code they must end with; each job first writes its number down.
KINDS = [("true", 0), ("false", 1), ("sleep 0.05", 0), ("exit 7", 7), ("kill -9 $$", 137)]
AT_ONCE = 500  # submitted by one request
PATIENCE = 120  # seconds without any progress
SUPERVISOR_EACH = 3  # one in so many kills is of a supervisor


class Server:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.socket = f"{folder}/s"
        self.log = open(f"{folder}/log", "ab")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--gpus", "none", "--listen", "none", "--store", f"{self.folder}/store.db",
             "--socket", self.socket], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while True:
            try:
                return self.ask("GET", "/api/v1")
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    sys.exit("the server did not start: " + pathlib.Path(self.log.name).read_text("utf-8")[-2000:])
                time.sleep(0.02)

    def ask(self, method, path, body=None):
        connection = Local(self.socket)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 300:
                sys.exit(f"{method} {path}: {answer.status} {text[:500]!r}")
            return json.loads(text)
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error  # it was killed while it answered
        finally:
            connection.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def files_open(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def children(pid):
    """Processes whose parent it is, zombies too."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            fields = pathlib.Path(f"/proc/{entry}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
        except (OSError, IndexError, NotADirectoryError):
            continue
        if int(fields[1]) == pid:
            found.append(int(entry))
    return found


def supervisors(folder):
    """By process: the number of its job."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"sharewell-supervise" and words[1].startswith(folder.encode()):
            found[int(entry)] = os.path.basename(words[1].decode()).split(".")[0]
    return found


def holds_a_lock(folder, pid, number):
    for lock in pathlib.Path(folder, "jobs").glob(f"{number}.*/lock"):
        try:
            if lock.read_text(encoding="ascii").split()[:1] == [str(pid)]:
                return True
        except (OSError, ValueError):
            continue
    return False


def kill_a_supervisor(folder, chance, struck):
    """False: there is none. `struck`: how often that happened to a job, by its number."""
    # A child between fork and exec looks like its supervisor, and is none: the lock names who is.
    there = [(pid, number) for pid, number in sorted(supervisors(folder).items()) if holds_a_lock(folder, pid, number)]
    if not there:
        return False
    pid, number = chance.choice(there)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    struck[number] += 1
    return True


def groups_of(job_folder):
    """Control groups that a run's spec names."""
    try:
        records = (job_folder / "spec").read_bytes().split(b"\0")
    except OSError:
        return set()
    return {record[6:].decode() for record in records if record.startswith(b"enter=")}


def submit(server, jobs, folder):
    for first in range(0, jobs, AT_ONCE):
        body = [{"command": ["sh", "-c", f"echo $SHAREWELL_JOB >> ran; {KINDS[i % len(KINDS)][0]}"], "gpus": 0,
                 "cores": 0.05, "folder": folder, "environment": {"PATH": "/usr/bin:/bin"}, "name": f"j{i}"}
                for i in range(first, min(first + AT_ONCE, jobs))]
        server.ask("POST", "/api/v1/jobs", {"jobs": body})


def all_jobs(server):
    found, below = [], None
    while True:
        page = server.ask("GET", "/api/v1/jobs?limit=1000" + (f"&below={below}" if below else ""))
        found += page["jobs"]
        below = page["next"]
        if not below:
            return found


def live_jobs(server):
    try:
        return sum(server.ask("GET", "/api/v1/jobs?live=1&limit=1")["counts"].values())
    except OSError:
        if server.process.poll() is None:
            raise
        sys.exit("the server died: " + pathlib.Path(server.log.name).read_text("utf-8")[-2000:])


def run(server, jobs, kills, folder):
    """Until all are over; how long that took, how often the server was killed, and its groups."""
    server.start()
    files = files_open(server.process.pid)
    submit(server, jobs, folder)
    chance, killed, groups, struck = random.Random(5), 0, set(), collections.Counter()
    begin = moved = time.monotonic()
    last = left = live_jobs(server)  # some have ended while others were submitted
    # One in each of so many equal parts of those left, anywhere in it; how fast the machine is does not matter. Each server
    # gets to work before it is killed: killed at every start, none would ever end a job, whatever it does.
    kill_at = [int(left - (i + chance.random()) * left / kills) for i in range(kills)]  # when so many are live
    struck_at = left + 1  # so many were live at the last kill
    while True:
        live = live_jobs(server)
        for entry in pathlib.Path(folder, "jobs").glob("*.*"):
            groups |= groups_of(entry)
        if live < last:
            last, moved = live, time.monotonic()
        if live == 0:
            break
        if time.monotonic() - moved > PATIENCE:
            sys.exit(f"{live} of {jobs} jobs are not over, and none has ended for {PATIENCE} s")
        if killed < kills and live <= kill_at[killed] and live < struck_at:
            struck_at = live
            if killed % SUPERVISOR_EACH != 2 or not kill_a_supervisor(folder, chance, struck):
                server.kill()
                server.start()
            killed += 1
            if killed % 50 == 0:
                print(f"{killed} kills, {live} jobs left, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        time.sleep(0.02)
    return time.monotonic() - begin, killed, groups, files, struck


def check(server, jobs, groups, files, folder, killed, struck):
    wrong = []
    found = all_jobs(server)
    if len(found) != jobs:
        wrong.append(f"{len(found)} jobs are known, not {jobs}")
    for job in found:
        expected = KINDS[int(job["name"][1:]) % len(KINDS)][1]
        if job["exit_code"] != expected:
            wrong.append(f"job {job['number']}: exit code {job['exit_code']}, not {expected}: {job['note']}")
    ran = collections.Counter(pathlib.Path(folder, "ran").read_text("utf-8").split())
    for number in [str(job["number"]) for job in found]:
        if not 1 <= ran[number] <= 1 + struck[number]:
            wrong.append(f"job {number} ran {ran[number]} times, and {struck[number]} of its supervisors were killed")
    time.sleep(2.5)  # groups that were busy a moment longer
    left = [str(path) for path in pathlib.Path(folder, "jobs").glob("*.*")]
    left += [group for group in groups if os.path.exists(group)]
    left += [f"process {pid}" for pid in children(server.process.pid) + list(supervisors(folder))]
    wrong += [f"{thing} is left" for thing in left]
    if not killed and files_open(server.process.pid) > files + 4:
        wrong.append(f"{files_open(server.process.pid)} files are open, {files} at the start")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=150)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(os.environ["SHAREWELL"], folder)
        try:
            seconds, killed, groups, files, struck = run(server, options.jobs, options.kills, folder)
            wrong = check(server, options.jobs, groups, files, folder, killed, struck)
        finally:
            if server.process is not None and server.process.poll() is None:
                server.process.terminate()
                server.process.wait(60)
    print(f"{options.jobs} jobs in {seconds:.1f} s ({options.jobs / seconds:.0f} a second), {killed} kills, "
          f"{sum(struck.values())} of them of supervisors, {len(groups)} control groups seen")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} things are wrong")


if __name__ == "__main__":
    main()
