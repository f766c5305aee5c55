"""What the server takes and how fast it answers, measured on the program in $SHAREWELL, against the limits it must keep.

  python3 tests/acceptance/serve.py [--jobs 10000] [--submissions 4000]

Times are of this machine and of whatever else it does; what counts is that each limit is kept with room to spare.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time

from own_server import PROGRAM, Asker, Server, job

CLIENTS, THREADS = 4, 8  # processes, and threads of each: 32 clients
rows, missed = [], []


def check(what, value, text, ok, limit):
    rows.append((what, text.format(value), limit))
    if not ok:
        missed.append(f"{what}: {text.format(value)}, the limit is {limit}")


def idle(server):
    time.sleep(2)
    before, begin = server.cpu_seconds(), time.time()
    time.sleep(10)
    share = (server.cpu_seconds() - before) / (time.time() - begin)
    check("the idle server: share of one core", share, "{:.2%}", share < 0.01, "under 1 %")
    check("  its memory, MB", server.resident_mb(), "{:.1f}", server.resident_mb() < 60, "under 60")


def latency(server):
    connection, took = Asker(server.socket), []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # jobs that outlive the server still write
        os.chmod(folder, 0o777)
        for i in range(20):
            mark = os.path.join(folder, str(i))
            begin = time.time()
            connection.ask("POST", "/api/v1/jobs", job("touch", mark, gpus=0))
            while not os.path.exists(mark):
                if time.time() - begin > 20:
                    break
                time.sleep(0.0005)
            took.append(time.time() - begin)
    took.sort()
    check("submit to the command's first act, ms: median of 20", took[10] * 1e3, "{:.0f}", took[10] < 0.1, "under 100")


def submit_many(path, count, results):
    def work():
        connection = Asker(path)
        for _ in range(count // THREADS):
            connection.ask("POST", "/api/v1/jobs", job("true", gpus=1))
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(True)


def submissions(server, count):
    results = multiprocessing.Queue()
    clients = [multiprocessing.Process(target=submit_many, args=(server.socket, count // CLIENTS, results))
               for _ in range(CLIENTS)]
    begin = time.time()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    rate = count / (time.time() - begin)
    good = sum(1 for client in clients if client.exitcode == 0)
    check("submissions a second from 32 clients, each durable", rate, "{:,.0f}", rate >= 1000 and good == CLIENTS,
          "at least 1,000")


def queue(server, count):
    have = sum(server.ask("GET", "/api/v1/jobs?live=1&limit=1")["counts"].values())
    while have < count:
        piece = min(500, count - have)
        server.ask("POST", "/api/v1/jobs", {"jobs": [job("true", gpus=1)] * piece})
        have += piece
    took = []
    for _ in range(5):
        begin = time.time()
        subprocess.run([PROGRAM, "jobs", "--server", server.socket], stdout=subprocess.DEVNULL, check=True)
        took.append(time.time() - begin)
    check(f"`jobs` with {count:,} in the queue, ms: median of 5", sorted(took)[2] * 1e3, "{:.0f}", sorted(took)[2] < 0.2,
          "under 200")
    for _ in range(200):
        server.ask("POST", "/api/v1/jobs", job("true", gpus=1))
    text = Asker(server.socket)
    text.request("GET", "/metrics")
    page = text.getresponse().read().decode()
    p99 = [float(line.split()[-1]) for line in page.splitlines() if line.startswith("sharewell_decision_p99_seconds")]
    worst = p99[0] * 1e3 if p99 else float("inf")
    check("  one turn of the loop then (decide, store, do), ms: p99", worst, "{:.1f}", worst < 50, "under 50")
    check("  memory then, MB", server.resident_mb(), "{:.0f}", True, "-")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10000)
    parser.add_argument("--submissions", type=int, default=4000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # jobs that outlive the server still write
        server = Server(folder, "--gpus", "1xH200")
        try:
            idle(server)
            latency(server)
            # One job that does not end keeps the one GPU: all others wait.
            blocker = server.ask("POST", "/api/v1/jobs", job("sleep", "600", exclusive=True))["jobs"][0]["number"]
            submissions(server, chosen.submissions)
            queue(server, chosen.jobs)
        finally:
            server.stop()
            end_jobs(folder)
    print("| what | measured | limit |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    for line in missed:
        print("MISSED " + line)
    sys.exit(1 if missed else 0)


def end_jobs(folder):
    """Jobs outlive their server; the one that is left is ended by its own process number."""
    jobs = os.path.join(folder, "jobs")
    for name in os.listdir(jobs) if os.path.isdir(jobs) else []:
        try:
            text = open(os.path.join(jobs, name, "lock")).read().split()
            os.kill(int(text[-1]), 15)
        except (OSError, ValueError, IndexError):
            pass


if __name__ == "__main__":
    main()
