"""The server's memory does not grow with the jobs that were: measured on the program in $SHAREWELL.

  python3 tests/acceptance/memory.py [--first 10000] [--jobs 1000000] [--stubs 100000]

Jobs are submitted 500 at a time and cancelled one by one, each with a command of its own: most of them wait in the queue, some are
held. Then stubs (`true`) are run as real processes. What the server holds after the first `--first` of each kind (of few stubs: after
a tenth of them) must be within 20 % of what it holds after all. The stubs must run for more than five minutes to say much: samples are
compacted after three. The figures are of VmRSS, once none of them is left in the queue.
"""
import argparse
import concurrent.futures
import sys
import tempfile
import time

from own_server import Asker, Server, job

AT_ONCE = 500  # submitted by one request
CONNECTIONS = 4  # that cancel at once
MOST = 1.2
PATIENCE = 120  # seconds in which something must happen


def submit(server, jobs):
    """The numbers they get."""
    return [told["number"] for told in server.ask("POST", "/api/v1/jobs", {"jobs": jobs})["jobs"]]


def resident(server):
    """In MB, after what is over was written and forgotten."""
    time.sleep(1)
    return server.resident_mb()


def cancel(socket, numbers):
    connection = Asker(socket)
    for number in numbers:
        connection.ask("POST", f"/api/v1/jobs/{number}/cancel")
    connection.close()


def submit_and_cancel(server, pool, first, end):
    """Jobs `first` to `end`: each waits for the GPU, every tenth is held."""
    for begin in range(first, end, AT_ONCE):
        numbers = submit(server, [job("train", f"--seed={i}", gpus=1, held=i % 10 == 0)
                                  for i in range(begin, min(begin + AT_ONCE, end))])
        parts = [pool.submit(cancel, server.socket, numbers[i::CONNECTIONS]) for i in range(CONNECTIONS)]
        for part in parts:
            part.result()


def wait_for_all(server):
    last, moved = None, time.monotonic()
    while live := server.live():
        if live != last:
            last, moved = live, time.monotonic()
        if time.monotonic() - moved > PATIENCE:
            sys.exit(f"{live} jobs are not over, and none has ended for {PATIENCE} s: " + server.said())
        time.sleep(0.01)


def run_stubs(server, first, end):
    for begin in range(first, end, AT_ONCE):
        submit(server, [job("true", str(i), gpus=0, cores=0.02) for i in range(begin, min(begin + AT_ONCE, end))])
        wait_for_all(server)


def compare(what, count, first, before, after, rows):
    ratio = after / before
    rows.append(f"| {what} | {first:,}: {before:.1f} MB | {count:,}: {after:.1f} MB | {ratio - 1:+.1%} |")
    return [f"{what}: {after:.1f} MB after {count:,} jobs, {before:.1f} after {first:,}; the limit is +{MOST - 1:.0%}"] if ratio > MOST else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--stubs", type=int, default=100_000)
    chosen = parser.parse_args()
    rows, missed = ["| jobs that were | after | after | growth |", "|---|---|---|---|"], []
    # In memory: what is measured is not how fast the disk is.
    blocker = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, concurrent.futures.ProcessPoolExecutor(CONNECTIONS) as pool:
        server = Server(folder, "--gpus", "1xH200")
        try:
            blocker = submit(server, [job("sleep", "86400", gpus=1, exclusive=True)])
            begin = time.monotonic()
            submit_and_cancel(server, pool, 0, chosen.first)
            before = resident(server)
            submit_and_cancel(server, pool, chosen.first, chosen.jobs)
            missed += compare("submitted and cancelled", chosen.jobs, chosen.first, before, resident(server), rows)
            rate = chosen.jobs / (time.monotonic() - begin)
            cancel(server.socket, blocker)  # it has all cores of a small machine
            blocker = []
            wait_for_all(server)
            some = min(chosen.first, chosen.stubs // 10)
            run_stubs(server, 0, some)
            before = resident(server)
            run_stubs(server, some, chosen.stubs)
            missed += compare("run as stubs", chosen.stubs, some, before, resident(server), rows)
        finally:
            if server.process.poll() is None and blocker:
                cancel(server.socket, blocker)
                wait_for_all(server)
            server.stop()
    print("\n".join(rows))
    print(f"{rate:,.0f} jobs a second were submitted and cancelled")
    for line in missed:
        print("MISSED " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
