#!/usr/bin/env python3
"""What the node agent costs: all collectors at 1 Hz, samples into a store, a scrape every 15 s.

Measured twice, by the agent's own metrics and by /proc; the start is left out. Fails above its limits:
1 % of one core and 30 MB resident. Part of `make soak` and not of `make test`, since a busy machine makes it fail:

    SHAREWELL=build/release/sharewell python3 tests/acceptance/monitor.py [--seconds 60]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import exposition  # noqa: E402

MOST_SHARE = 0.01
MOST_RESIDENT = 30e6
WARM_UP = 5
SCRAPE = 15


def value(families, name):
    return families[name]["samples"][0][1]


def from_proc(pid):
    """CPU seconds and resident bytes."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGESIZE")


def measure(program, seconds, folder):
    log = pathlib.Path(folder) / "stderr"
    with open(log, "w", encoding="utf-8") as errors:
        agent = subprocess.Popen([program, "monitor", "--listen", "127.0.0.1:0", "--store", f"{folder}/s.db"],
                                 stderr=errors, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not (found := re.search(r"http://[^ ]*/metrics", log.read_text(encoding="utf-8"))):
            if agent.poll() is not None or time.monotonic() > end:
                sys.exit(f"the agent did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.05)

        def scrape():
            with urllib.request.urlopen(found[0], timeout=30) as answer:
                text = answer.read().decode("utf-8")
            return exposition.parse(text), len(text)
        time.sleep(WARM_UP)
        families, _ = scrape()
        own, proc, start = value(families, "sharewell_agent_cpu_seconds_total"), from_proc(agent.pid), time.monotonic()
        resident = 0
        while time.monotonic() - start < seconds:
            time.sleep(min(SCRAPE, seconds))
            families, size = scrape()
            resident = max(resident, value(families, "sharewell_agent_resident_bytes"), from_proc(agent.pid)[1])
        elapsed = time.monotonic() - start
        own = value(families, "sharewell_agent_cpu_seconds_total") - own
        proc = from_proc(agent.pid)[0] - proc[0]
        up = {labels["collector"]: number for labels, number in families["sharewell_collector_up"]["samples"]}
        slow = sorted(((number, labels["collector"]) for labels, number in
                       families["sharewell_collector_duration_seconds"]["samples"]), reverse=True)
        return {"seconds": round(elapsed, 1), "cpu_share_own": own / elapsed, "cpu_share_proc": proc / elapsed,
                "resident_bytes": resident, "collectors_up": sorted(name for name in up if up[name]),
                "collectors_down": sorted(name for name in up if not up[name]),
                "slowest": [[name, round(number * 1e3, 3)] for number, name in slow[:4]],
                "series": sum(len(family["samples"]) for family in families.values()), "page_bytes": size}
    finally:
        agent.terminate()
        agent.wait(60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="sharewell-") as folder:
        figures = measure(os.environ["SHAREWELL"], seconds, folder)
    print(json.dumps(figures, indent=2))
    failed = []
    if max(figures["cpu_share_own"], figures["cpu_share_proc"]) > MOST_SHARE:
        failed.append(f"more than {MOST_SHARE:.0%} of a core")
    if figures["resident_bytes"] > MOST_RESIDENT:
        failed.append(f"more than {MOST_RESIDENT / 1e6:.0f} MB")
    print("above the limit: " + ", ".join(failed) if failed else "within the limits: 1 % of a core, 30 MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
