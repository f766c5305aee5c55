"""One hostile user does the worst of all at once, while another one's submissions and lists are timed. Needs root: both are real accounts.

  python3 tests/acceptance/hostile.py [--seconds 120] [--gate 0.2] [--loop-gate 0.1] [--only half,rounds]

The hostile user comes by the socket and by TCP: half-sent requests, streams, pipelines, connections that come and go, one job named a
thousand times in `after`, dry runs, large commands, jobs submitted and cancelled by the hundred, what-ifs, long lists, simulations that take
minutes, models that unfold. What is refused to that user is expected; what is refused to the other one is a failure.
"""
import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import pwd
import socket
import subprocess
import sys
import tempfile
import threading
import time

from local_http import Local

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trust"))
import unfolding  # noqa: E402

PROGRAM = os.environ.get("SHAREWELL", "build/release/sharewell")
HOSTILE, OTHER = "daemon", "games"
LEAST = 20  # of each request, or there is no figure
HELD = {"command": ["true"], "gpus": 0, "folder": "/", "environment": {"PATH": "/bin:/usr/bin"}, "held": True}


def become(name):
    account = pwd.getpwnam(name)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)


def ask(connection, method, path, body=None):
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


class Attacks:
    """Each is called again and again until time is up. What goes wrong for the attacker is no concern of the test."""

    def __init__(self, path, port):
        self.path, self.port, self.held = path, port, {}

    def door(self, i):
        if i % 2 == 0:
            door = socket.socket(socket.AF_UNIX)
            door.settimeout(2)
            door.connect(self.path)
        else:
            door = socket.socket()
            door.settimeout(2)
            door.bind((f"127.0.0.{2 + i // 2 % 4}", 0))
            door.connect(("127.0.0.1", self.port))
        return door

    def hold(self, name, request, count):
        kept = self.held.setdefault(name, [])
        for i in range(count):
            door = self.door(i)
            kept.append(door)
            with contextlib.suppress(OSError):
                door.sendall(request)
        for door in kept[:-400]:
            door.close()
        del kept[:-400]
        time.sleep(0.1)

    def half(self):
        self.hold("half", b"GET /api/v1 HTTP/1.1\r\nX: ", 200)

    def streams(self):
        self.hold("streams", b"GET /api/v1/events?after=0 HTTP/1.1\r\n\r\n", 50)

    def churn(self):
        for i in range(200):
            self.door(i).close()

    def pipeline(self):
        door = self.door(0)
        with contextlib.suppress(OSError):
            door.sendall(b"GET /api/v1/jobs?limit=100 HTTP/1.1\r\n\r\n" * 2000)
            for _ in range(200):
                if not door.recv(65536):
                    break
        door.close()

    def after(self):
        for dry in ("", "?dry_run=1"):
            ask(Local(self.path), "POST", "/api/v1/jobs" + dry, {**HELD, "after": [1] * 1000})

    def dry_runs(self):
        ask(Local(self.path), "POST", "/api/v1/jobs?dry_run=1", {"jobs": [HELD] * 500})

    def large(self):
        status, text = ask(Local(self.path), "POST", "/api/v1/jobs", {**HELD, "command": ["true", "x" * (4 << 20)]})
        if status == 201:
            ask(Local(self.path), "POST", f"/api/v1/jobs/{json.loads(text)['jobs'][0]['number']}/cancel")

    def rounds(self):
        connection = Local(self.path)
        status, text = ask(connection, "POST", "/api/v1/jobs", {"jobs": [HELD] * 200})
        if status != 201:
            time.sleep(0.05)
            return
        for job in json.loads(text)["jobs"]:
            ask(connection, "POST", f"/api/v1/jobs/{job['number']}/cancel")

    def what_ifs(self):
        ask(Local(self.path), "POST", "/api/v1/whatif", {"policies": ["slot", "sharewell"], "days": 30})

    def simulations(self):
        Local(self.path).request("POST", "/api/v1/simulate?policies=sharewell,pack", unfolding.trace())
        time.sleep(2)  # and leaves

    def models(self):
        for make in (unfolding.operands, unfolding.numbers, unfolding.calls_itself):
            connection = Local(self.path)
            connection.request("POST", "/api/v1/predictions?name=m.onnx", make())
            connection.getresponse().read()

    def lists(self):
        connection = Local(self.path)
        for _ in range(20):
            ask(connection, "GET", "/api/v1/jobs?limit=10000")


ATTACKS = [name for name in vars(Attacks) if name not in ("door", "hold") and not name.startswith("_")]


def attack(path, port, names, done):
    become(HOSTILE)
    attacks = Attacks(path, port)

    def work(name):
        while not done.is_set():
            try:
                getattr(attacks, name)()
            except (OSError, ValueError, KeyError, TypeError) as problem:
                del problem
                time.sleep(0.02)
            except Exception:  # pylint: disable=broad-except  # http.client has many
                time.sleep(0.02)

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in names]
    for thread in threads:
        thread.start()
    done.wait()
    os._exit(0)


def measure(path, seconds, results):
    become(OTHER)
    took, refused = {"submit": [], "jobs": []}, []

    def timed(what, *words):
        begin = time.perf_counter()
        status, text = ask(Local(path), *words)
        took[what].append(time.perf_counter() - begin)
        if status >= 300:
            refused.append(f"{what}: {status} {text[:300]}")
        return json.loads(text) if status < 300 else None

    begin = time.time()
    # On a slow machine it takes longer to have a figure.
    while time.time() < begin + seconds or (len(took["jobs"]) < LEAST and time.time() < begin + 4 * seconds):
        try:
            told = timed("submit", "POST", "/api/v1/jobs", HELD)
            timed("jobs", "GET", "/api/v1/jobs?live=1&limit=100")
            if told is not None:
                ask(Local(path), "POST", f"/api/v1/jobs/{told['jobs'][0]['number']}/cancel")
        except Exception as problem:  # pylint: disable=broad-except  # a connection that is cut off is a failure, whatever it is called
            refused.append(repr(problem))
        time.sleep(0.01)
    results.put((took, refused))


def p99(values):
    return sorted(values)[int(len(values) * 0.99)] if values else float("inf")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(folder, port):
    path = os.path.join(folder, "s.sock")
    log = open(os.path.join(folder, "server.log"), "ab")
    process = subprocess.Popen([PROGRAM, "serve", "--gpus", "4xH200", "--socket", path, "--store", os.path.join(folder, "store.db"),
                                "--listen", f"127.0.0.1:{port}"], stdout=log, stderr=log)
    until = time.time() + 30
    while time.time() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            ask(Local(path), "GET", "/api/v1")
            return process, path
        time.sleep(0.02)
    raise SystemExit("the server does not start: " + open(log.name).read()[-2000:])


def leave_an_old_job(path):
    """The one that others name in `after`: long, over, and of an earlier server, so that the store alone has it."""
    ask(Local(path), "POST", "/api/v1/jobs", {**HELD, "held": False, "command": ["true", "x" * 100_000]})
    until = time.time() + 30
    while json.loads(ask(Local(path), "GET", "/api/v1/jobs/1")[1])["phase"] not in ("finished", "failed"):
        if time.time() > until:
            raise SystemExit("the first job does not end")
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--gate", type=float, default=0.2, help="seconds: p99 of the other user's requests")
    parser.add_argument("--loop-gate", type=float, default=0.1, help="seconds: p99 of a turn of the loop")
    parser.add_argument("--only", default=",".join(ATTACKS), help="these attacks alone")
    parser.add_argument("--folder", help="where the server keeps its files (default: a temporary one); on /dev/shm no disk is waited for")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        print("left out: this needs root, for jobs of two users")
        return
    names = chosen.only.split(",")
    rows, missed = [], []
    with tempfile.TemporaryDirectory(prefix="sharewell-hostile-", dir=chosen.folder) as folder:
        os.chmod(folder, 0o755)
        port = free_port()
        process, path = start(folder, port)
        leave_an_old_job(path)
        process.terminate()
        process.wait(60)
        process, path = start(folder, port)
        try:
            done, results = multiprocessing.Event(), multiprocessing.Queue()
            hostile = [multiprocessing.Process(target=attack, args=(path, port, names[i::2], done)) for i in range(2)]
            other = multiprocessing.Process(target=measure, args=(path, chosen.seconds, results))
            for one in [*hostile, other]:
                one.start()
            try:
                took, refused = results.get(timeout=4 * chosen.seconds + 120)
            finally:
                done.set()
            for one in [*hostile, other]:
                one.join(30)
            page = ask(Local(path), "GET", "/metrics")[1].decode()
            loop = [float(line.split()[-1]) for line in page.splitlines() if line.startswith("sharewell_decision_p99_seconds")]
            rows = [(f"`{what}` of another user, p99 of {len(times):,}", p99(times), chosen.gate) for what, times in took.items()]
            rows.append(("a turn of the loop, p99", loop[0] if loop else float("inf"), chosen.loop_gate))
            missed = [f"{what}: only {len(times)} were answered" for what, times in took.items() if len(times) < LEAST]
            missed += [f"the other user was refused {len(refused)} times: {line}" for line in refused[:1]]
            memory = int(open(f"/proc/{process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        finally:
            process.terminate()
            process.wait(60)
    print("| with one hostile user | ms | limit |\n|---|---|---|")
    for what, value, limit in rows:
        print(f"| {what} | {value * 1e3:.1f} | under {limit * 1e3:.0f} |")
        if value >= limit:
            missed.append(f"{what}: {value * 1e3:.1f} ms")
    print(f"| the server's memory, MB | {memory:.0f} | - |")
    for line in missed:
        print("MISSED " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
