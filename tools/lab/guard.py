#!/usr/bin/env python3
"""A pair that the server was misled about, on a real GPU: how soon does the guard part it?

  tools/lab/guard.py OUT.json [--times 2]

An LSTM runs alone, so that the server sees its speed. Then a hog comes (VGG16 in fp32), of which the server is told that it hardly uses the GPU,
and the two are put together. Times are from when both had made their first steps beside each other (settled) to the event `job.evicted`; the
LSTM's rate alone, beside the hog and after it stand beside them. Nothing is installed: Python 3 and torch.
"""
import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python"), str(ROOT / "zoo")]

import hand_over  # noqa: E402
import mix_needs  # noqa: E402
import run_mix  # noqa: E402
import warm  # noqa: E402

VICTIM = {"workload": "lstm:512x2", "batch": 32, "precision": "fp32", "workers": 1, "steps": 10 ** 7}
HOG = {"workload": "tv:vgg16@224", "batch": 32, "precision": "fp32", "workers": 4, "steps": 10 ** 7}
MISLEADING = {"busy": 0.1, "sm": 0.05, "dram": 0.02, "kernel_seconds": 1e-5}
PATIENCE = 60.0


def needs_of(job, changed):
    needs = mix_needs.needs_of(job, mix_needs.profiles())
    needs.update(changed)
    needs.pop("steps_per_second", None)            # nobody is judged by another machine's rate
    needs["duration_seconds"] = 3600.0
    return needs


def rate(job, seconds):
    before, at = job.refresh().record.get("steps") or 0, time.monotonic()
    time.sleep(seconds)
    after = job.refresh().record.get("steps") or 0
    return round((after - before) / (time.monotonic() - at), 2)


def until(what, is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"guard: {what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.05)


def once(socket):
    with tempfile.TemporaryDirectory(prefix="guard-", ignore_cleanup_errors=True) as folder:
        args = types.SimpleNamespace(server_binary=str(ROOT / "build/release/sharewell"), gpus=None, stub=False)
        server = run_mix.Server(args, "sharewell", folder)
        client, events = server.client, []
        threading.Thread(target=run_mix.collect_events, args=(client, events), daemon=True).start()

        def submit(job, changed):
            words = [sys.executable, str(HERE / "mix_job.py"), job["workload"], str(job["batch"]), job["precision"], str(job["workers"]),
                     str(job["steps"]), "--keep", os.path.join(folder, job["workload"].replace(":", "_"))]
            return client.submit(words, name=job["workload"], folder=str(ROOT), gpus=1, cores=job["workers"] + 2, needs=needs_of(job, changed),
                                 environment={**os.environ, hand_over.VARIABLE: socket})

        def parted():
            return next((event for event in events if event.kind == "job.evicted"), None)
        try:
            victim = submit(VICTIM, {})
            until("the LSTM's first steps", lambda: (victim.refresh().record.get("steps") or 0) > 20)
            time.sleep(12)                             # the guard learns what it does alone
            alone = rate(victim, 5)
            hog = submit(HOG, MISLEADING)
            until("the hog's first steps", lambda: (hog.refresh().record.get("steps") or 0) > 0)
            settled, at = time.time(), victim.refresh().record.get("steps")
            until("the parting", parted)
            took = parted().time_ms / 1000 - settled
            beside = round((victim.refresh().record.get("steps") - at) / (time.time() - settled), 2)
            time.sleep(3)
            after = rate(victim, 4)
            told = {"seconds_to_part": round(took, 2), "parted": parted().text, "steps_per_second_alone": alone,
                    "steps_per_second_beside": beside, "steps_per_second_after": after, "started_together": hog.record.get("reason"),
                    "victim_phase": victim.refresh().phase, "hog_phase": hog.refresh().phase}
            print(json.dumps(told), flush=True)
            return told
        finally:
            for job in client.jobs(live=True):
                job.cancel()
            for job in client.jobs(live=True):
                job.wait(60)
            server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("--times", type=int, default=2)
    args = parser.parse_args()
    found = []
    with contextlib.ExitStack() as stack:
        socket = os.environ.pop(hand_over.VARIABLE, None) or stack.enter_context(warm.Warm({VICTIM["workload"], HOG["workload"]})).path
        for _ in range(args.times):
            found.append(once(socket))
            pathlib.Path(args.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
