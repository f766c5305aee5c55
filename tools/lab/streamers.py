#!/usr/bin/env python3
"""What CPU-only streamers do to a training job that waits for its loader, with and without throttling.

  tools/lab/streamers.py OUT.json --workload deepfm:4e6 --batch 2048 --precision fp32 --workers 4
  tools/lab/streamers.py OUT.json --stub 20 --gpus 1xH200          without a GPU: proves the plumbing alone

Under `sharewell serve`, once with a policy that slows nobody (pack) and once with one that does (sharewell): the job's steps a second alone,
beside streamers once these have settled, and alone again. Streamers are CPU-only jobs that copy memory as fast as they can (`sharewell stress`).
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("SHAREWELL", "sharewell")


class Server:
    def __init__(self, folder, policy, gpus):
        self.env = {**os.environ, "SHAREWELL_SERVER": str(folder / "s")}
        command = [PROGRAM, "serve", "--store", str(folder / "store.db"), "--state", str(folder / "state"), "--socket", str(folder / "s"),
                   "--listen", "127.0.0.1:0", "--policy", policy, "--grace", "2s", *(["--gpus", gpus] if gpus else [])]
        self.log = folder / "server.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, env=self.env, cwd=folder, stdout=log, stderr=log)
        while subprocess.run([PROGRAM, "jobs"], env=self.env, capture_output=True, check=False).returncode != 0:
            if self.process.poll() is not None:
                sys.exit(self.log.read_text(encoding="utf-8"))
            time.sleep(0.1)

    def ask(self, *words):
        done = subprocess.run([PROGRAM, *words], env=self.env, capture_output=True, check=False, encoding="utf-8")
        if done.returncode != 0:
            sys.exit(f"{words}: {done.stderr}")
        return done.stdout

    def submit(self, flags, command):
        return str(json.loads(self.ask("submit", "--json", *flags, "--", *command))["jobs"][0]["number"])

    def job(self, number):
        return json.loads(self.ask("job", number, "--json"))

    def rate(self, number, seconds):
        """Steps a second over so long."""
        before, began = self.job(number)["steps"], time.monotonic()
        time.sleep(seconds)
        after, took = self.job(number)["steps"], time.monotonic() - began
        return (after - before) / took

    def end(self, numbers):
        self.ask("cancel", *numbers)
        while any(job["number"] in map(int, numbers) for job in json.loads(self.ask("jobs", "--json"))["jobs"]):
            time.sleep(0.2)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


def measure(policy, args):
    with tempfile.TemporaryDirectory(prefix="streamers-") as place:
        server = Server(pathlib.Path(place), policy, args.gpus)
        loop = [sys.executable, str(HERE / "mix_job.py"), args.workload, str(args.batch), args.precision, str(args.workers), "100000000"]
        if args.stub:
            loop += ["--stub", str(args.stub)]
        training = server.submit(["--cpus", str(args.workers + 1)], loop)
        while not server.job(training)["steps"]:
            time.sleep(0.5)
        time.sleep(args.settle / 2)
        alone = server.rate(training, args.seconds)
        streamers = [server.submit(["--gpus", "0", "--cpus", str(args.streamer_cores)], [PROGRAM, "stress", "--membw", "100%", "--for", "1h"])
                     for _ in range(args.streamers)]
        time.sleep(args.settle)
        beside = server.rate(training, args.seconds)
        told = [server.job(number)["reason"] for number in streamers]
        server.end(streamers)
        time.sleep(args.settle / 2)
        again = server.rate(training, args.seconds)
        server.end([training])
        server.stop()
        said = [line for line in server.log.read_text(encoding="utf-8").splitlines() if "host:" in line]
        return {"policy": policy, "steps_per_s_alone": alone, "steps_per_s_beside": beside, "steps_per_s_alone_again": again,
                "kept": beside / ((alone + again) / 2) if alone + again > 0 else None, "streamers": told, "host": said}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--workload", default="deepfm:4e6")
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--stub", type=float, metavar="STEPS_PER_SECOND")
    parser.add_argument("--gpus", default="", help="simulated ones, for --stub")
    parser.add_argument("--streamers", type=int, default=2)
    parser.add_argument("--streamer-cores", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--settle", type=float, default=50, help="before the one beside streamers; half of it before the others")
    args = parser.parse_args()
    found = [measure(policy, args) for policy in ("pack", "sharewell")]
    pathlib.Path(args.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for one in found:
        print(f"{one['policy']}: {one['steps_per_s_alone']:.1f} steps/s alone, {one['steps_per_s_beside']:.1f} beside, "
              f"{one['steps_per_s_alone_again']:.1f} alone again: keeps {one['kept']:.0%}")


if __name__ == "__main__":
    main()
