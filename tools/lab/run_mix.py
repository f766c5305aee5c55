#!/usr/bin/env python3
"""Runs a mix of training loops through the real server under several policies, and writes a record of each run.

  tools/lab/run_mix.py MIX.toml --policy slot,pack,sharewell --out DIR --warm
  tools/lab/run_mix.py MIX.toml --policy slot,sharewell --out DIR --stub --gpus 1xH200 --faster 20     # anywhere; proves the plumbing alone

For each policy: a fresh server with its own store, every job submitted at its arrival time, waited for, and DIR/POLICY.json (docs/formats/run.md)
and DIR/mix.svg written. `sharewell-lab reproduce yeung --real DIR/slot.json,DIR/sharewell.json` sets it beside the paper and the simulator.
See docs/mix.md.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python"), str(ROOT / "zoo")]

import hand_over  # noqa: E402
import mix_needs  # noqa: E402
import mix_plot  # noqa: E402
import nvml  # noqa: E402
import sharewell  # noqa: E402
import warm  # noqa: E402

KEYS = {"arrival_seconds": (int, float), "workload": str, "batch": int, "precision": str, "workers": int, "steps": int}
PRECISIONS = ("fp32", "tf32", "bf16")
MOST = 1e9                                     # of anything; also tells what is no number
CORES_MEASURED_ON = 16


def good(key, kind, value):
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    if kind is str:
        return bool(value) and (key != "precision" or value in PRECISIONS)
    return (1 if key in ("batch", "steps") else 0) <= value <= MOST


def read_mix(path):
    try:
        with open(path, "rb") as file:
            jobs = tomllib.load(file).get("jobs", [])
    except (OSError, tomllib.TOMLDecodeError) as e:
        sys.exit(f"run_mix: {path}: {e}")
    if not jobs:
        sys.exit(f"run_mix: {path}: it has no [[jobs]]")
    for number, job in enumerate(jobs):
        for key, kind in KEYS.items():
            if not good(key, kind, job.get(key)):
                sys.exit(f"run_mix: {path}: job {number + 1}: {key} is missing or wrong; see docs/mix.md")
    return sorted(jobs, key=lambda job: job["arrival_seconds"])


class Sampler(threading.Thread):
    """GPU 0 once a second: means of five looks. Nothing where there is no GPU."""

    def __init__(self, began):
        super().__init__(daemon=True)
        self.began, self.samples, self.over = began, [], threading.Event()
        try:
            self.gpu = nvml.Gpu()
        except OSError:
            self.gpu = None

    def run(self):
        while self.gpu and not self.over.is_set():
            looks = []
            for _ in range(5):
                looks.append(self.gpu.sample())
                self.over.wait(0.2)
            means = {}
            for key in looks[0]:
                known = [look[key] for look in looks if look[key] is not None]
                means[key] = round(statistics.fmean(known), 4) if known else None
            self.samples.append({"time_seconds": round(time.time() - self.began, 3), **means})

    def end(self):
        self.over.set()
        self.join(5)
        return self.samples


class Progress(threading.Thread):
    """What steps every running job has told, once a second: who was slowed, and beside whom."""

    def __init__(self, client, began):
        super().__init__(daemon=True)
        self.client, self.began, self.looks, self.over = client, began, [], threading.Event()

    def run(self):
        while not self.over.wait(1.0):
            with contextlib.suppress(sharewell.Error):
                steps = {str(job.number): job.record.get("steps") for job in self.client.jobs(live=True) if job.phase == "running"}
                self.looks.append({"time_seconds": round(time.time() - self.began, 2), "steps": steps})

    def end(self):
        self.over.set()
        self.join(5)
        return self.looks


class Server:
    """`sharewell serve`, on its own store and socket in `folder`."""

    def __init__(self, args, policy, folder):
        self.socket = os.path.join(folder, "s")
        self.log = open(os.path.join(folder, "server.log"), "w+b")
        command = [args.server_binary, "serve", "--policy", policy, "--store", os.path.join(folder, "store.db"), "--socket", self.socket,
                   "--listen", "none"]
        if args.gpus:
            command += ["--gpus", args.gpus]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        self.client = sharewell.Client(self.socket)
        until = time.monotonic() + 60
        while True:
            try:
                self.info = self.client.info()
                return
            except sharewell.Unreachable:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.end()
                    sys.exit(f"run_mix: the server does not come up:\n{self.words()}")
                time.sleep(0.05)

    def words(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")[-4000:]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def collect_events(client, into):
    try:
        for event in client.events(after=0, patience=5):
            into.append(event)
    except sharewell.Error:
        pass


def told_needs(args, jobs, client):
    """One entry a job: what the server is told. A stub's rates are as much faster as time is, and it takes no core."""
    rows = mix_needs.profiles()

    def predict(file, batch, precision):
        try:
            return client.predict(file, batch=batch, precision=precision, gpu="H200")
        except sharewell.Error:
            return None
    all_needs = [mix_needs.needs_of(job, rows, predict) for job in jobs]
    if args.stub:
        for needs in filter(None, all_needs):
            needs["cpu_cores"] = needs.get("cpu_cores", 1) * (os.cpu_count() or 1) / CORES_MEASURED_ON
            needs.pop("host_memory_bytes", None)
            needs["duration_seconds"] /= args.faster
            if "steps_per_second" in needs:
                needs["steps_per_second"] *= args.faster
    if args.rates:
        rates = rates_alone(args.rates)
        for needs, job in zip(all_needs, jobs):
            mix_needs.rate_here(needs, job, mean(rates.get(loop_of(job), [])))
    return all_needs


def cores_asked(args, job):
    """As users ask: the loader's processes, the loop, and one more. Without it slot and pack would give each job all of the machine's."""
    here = len(os.sched_getaffinity(0))
    return (job["workers"] + 2) * here / CORES_MEASURED_ON if args.stub else min(here, job["workers"] + 2)


def command_of(args, job, needs, keep):
    words = [sys.executable, str(HERE / "mix_job.py"), job["workload"], str(job["batch"]), job["precision"], str(job["workers"]),
             str(job["steps"])]
    if args.stub:
        return words + ["--stub", repr(job["steps"] / needs["duration_seconds"] if needs else job["steps"] / (15 / args.faster))]
    return words + ["--keep", keep]


def summary_of(client, number):
    for line in reversed("".join(client.logs(number)).splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                break
    return {}


def seconds(later_ms, began_ms):
    return None if later_ms is None else round((later_ms - began_ms) / 1000, 3)


def mean(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def job_entry(job, needs, told, summary, began_ms):
    """One job of the record: what was asked, what became of it, in seconds from the first submission."""
    keys = ("number", "phase", "attempt", "ooms", "evicted", "exit_code", "gpus", "cores_asked", "cores", "sm_share", "beside", "reason", "note", "slowdown")
    entry = {**{key: job[key] for key in KEYS}, **{key: told.record.get(key) for key in keys},
             "submit_seconds": seconds(told.submitted_ms, began_ms), "start_seconds": seconds(told.started_ms, began_ms),
             "resume_seconds": seconds(told.record.get("resumed_ms"), began_ms),
             "steady_seconds": seconds(summary.get("steady_ms"), began_ms), "end_seconds": seconds(told.record.get("ended_ms"), began_ms),
             "steps_per_second": summary.get("steps_per_second"), "steps_done": summary.get("steps"), "needs": needs}
    entry["server_slowdown"] = entry.pop("slowdown")
    return entry


def run_policy(args, policy, jobs):
    with tempfile.TemporaryDirectory(prefix="mix-", ignore_cleanup_errors=True) as folder:
        server = Server(args, policy, folder)
        client = server.client
        try:
            return watch(args, policy, jobs, server, client, folder)
        finally:
            try:
                for job in client.jobs(live=True):
                    job.cancel()
                for job in client.jobs(live=True):
                    job.wait(60)
            except (sharewell.Error, TimeoutError) as e:
                print(f"run_mix: jobs may be left: {e}", file=sys.stderr)
            server.end()


def watch(args, policy, jobs, server, client, folder):
    all_needs = told_needs(args, jobs, client)
    gpus = client.gpus()
    events = []
    threading.Thread(target=collect_events, args=(client, events), daemon=True).start()
    began = time.time()
    sampler, progress = Sampler(began), Progress(client, began)
    sampler.start()
    progress.start()
    submitted = []
    for number, (job, needs) in enumerate(zip(jobs, all_needs)):
        time.sleep(max(0.0, began + job["arrival_seconds"] / args.faster - time.time()))
        keep = os.path.join(folder, f"kept-{number}")
        asked = {"gpus": 1, "cores": cores_asked(args, job), **({"needs": needs} if needs else {}),
                 **({"environment": {**os.environ, hand_over.VARIABLE: args.warm_socket}} if args.warm else {})}
        submitted.append(client.submit(command_of(args, job, needs, keep), name=f"{number + 1}:{job['workload']}", folder=str(ROOT), **asked))
        print(f"  {time.time() - began:6.1f} s  {submitted[-1].name} is job {submitted[-1].number}: {submitted[-1].phase}", flush=True)
    until = began + args.limit
    complete = True
    for job in submitted:
        try:
            job.wait(max(1.0, until - time.time()))
        except TimeoutError:
            complete = False
            break
        print(f"  {time.time() - began:6.1f} s  {job.name}: {job.phase}", flush=True)
    samples, looks = sampler.end(), progress.end()
    began_ms = min(job.submitted_ms for job in submitted)
    entries = [job_entry(job, needs, told.refresh(), summary_of(client, told.number), began_ms)
               for job, needs, told in zip(jobs, all_needs, submitted)]
    ends = [entry["end_seconds"] for entry in entries]
    makespan = max(ends) if complete and all(end is not None for end in ends) else None
    inside = [sample for sample in samples if makespan is None or sample["time_seconds"] <= makespan]
    return {
        "schema": 1, "kind": "mix-run", "policy": policy, "version": server.info.get("version"), "began_ms": began_ms,
        "stub": bool(args.stub), "warm": bool(args.warm), "faster": args.faster, "complete": complete,
        "mix": {"file": os.path.basename(args.mix), "sha256": hashlib.sha256(pathlib.Path(args.mix).read_bytes()).hexdigest()},
        "machine": {"gpus": [{key: gpu.get(key) for key in ("model", "memory_bytes", "simulated")} for gpu in gpus],
                    "cores": os.cpu_count(), "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                    "gpu_name": sampler.gpu and sampler.gpu.name(), "driver": sampler.gpu and sampler.gpu.driver(),
                    "python": platform.python_version()},
        "makespan_seconds": makespan,
        "jct_mean_seconds": mean(e["end_seconds"] and e["end_seconds"] - e["submit_seconds"] for e in entries),
        "busy_mean": None if args.stub else mean(sample["busy"] for sample in inside),
        "power_mean_watts": None if args.stub else mean(sample["power_watts"] for sample in inside),
        "jobs": entries,
        "events": [{"time_seconds": seconds(e.time_ms, began_ms), "kind": e.kind, "job": e.job, "text": e.text} for e in events],
        "samples": [] if args.stub else samples, "progress": looks,
        "rates_told": os.path.basename(args.rates) if args.rates else None}


def loop_of(job):
    return job["workload"], job["batch"], job["precision"], job["workers"]


def rates_alone(files):
    """Of records under slot, "FILE,FILE": loop -> every rate alone."""
    rates = {}
    for file in files.split(","):
        for job in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["jobs"]:
            if job.get("steps_per_second"):
                rates.setdefault(loop_of(job), []).append(job["steps_per_second"])
    return rates


def compare_alone(record, rates):
    """Adds each job's slowdown against its rates alone on this machine, else against its profile."""
    for job in record["jobs"]:
        own = job.get("steps_per_second")
        measured = [own] if record["policy"] == "slot" else rates.get(loop_of(job))
        rate, source = None, None
        if measured and all(measured):
            rate, source = round(mean(measured), 4), "slot"
            job["alone_spread"] = round(max(measured) / min(measured) - 1, 4) if len(measured) > 1 else None
        elif job["needs"]:
            rate, source = job["needs"].get("steps_per_second"), "data/h200"
        job["alone_steps_per_second"], job["alone_from"] = rate, source if rate else None
        job["slowdown"] = round(rate / own, 4) if rate and own else None
    record["slowdown_mean"] = mean(job["slowdown"] for job in record["jobs"])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mix", metavar="MIX.toml")
    parser.add_argument("--policy", default="slot,pack,sharewell", help="one run each, in this order (default %(default)s)")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--gpus", metavar="1xH200", help="simulated GPUs, for --stub")
    parser.add_argument("--server-binary", default=str(ROOT / "build/release/sharewell"), metavar="FILE")
    parser.add_argument("--warm", action="store_true", help="jobs are forked from a process that has PyTorch imported, under every policy alike")
    parser.add_argument("--stub", action="store_true", help="jobs that sleep instead of training")
    parser.add_argument("--faster", type=float, default=1.0, metavar="N", help="with --stub: so many times")
    parser.add_argument("--limit", type=float, default=590.0, metavar="S", help="a run is given up after so long (default %(default)s)")
    parser.add_argument("--alone", metavar="FILE,FILE", help="what to compare with: records of the same loops under slot on this machine, before and "
                        "after (default: DIR/slot.json)")
    parser.add_argument("--rates", metavar="FILE,FILE", help="records as for --alone: their rates are told to the server, as its own history would, "
                        "instead of those of data/h200, measured on another machine")
    parser.add_argument("--again", action="store_true", help="run nothing: compare the records in DIR with --alone anew")
    args = parser.parse_args()
    if not args.stub and (args.faster != 1 or args.gpus):
        parser.error("--faster and --gpus are for --stub: real training takes its time, on real GPUs")
    if args.faster <= 0:
        parser.error("--faster is above 0")
    if args.stub and args.warm:
        parser.error("--warm is for training, not for --stub")
    return args


def one_run(args, policy, jobs, out):
    """Runs, compares and writes one policy's record. How many jobs did not finish."""
    print(f"{policy}: {len(jobs)} jobs", flush=True)
    record = json.loads((out / f"{policy}.json").read_text(encoding="utf-8")) if args.again else run_policy(args, policy, jobs)
    alone = args.alone or (str(out / "slot.json") if (out / "slot.json").exists() else "")
    compare_alone(record, rates_alone(alone) if alone else {})
    (out / f"{policy}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    bad = [job for job in record["jobs"] if job["phase"] != "finished"]
    shown = {key: None if record[key] is None else round(record[key], 3)
             for key in ("makespan_seconds", "jct_mean_seconds", "slowdown_mean", "busy_mean")}
    print(f"{policy}: {shown}, {len(bad)} not finished", flush=True)
    return len(bad)


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server and the warm process are ended
    jobs = read_mix(args.mix)
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    lost = 0
    with contextlib.ExitStack() as stack:
        args.warm_socket = os.environ.pop(hand_over.VARIABLE, None)
        if not args.stub and not args.again and not args.warm_socket:  # without --warm: for the page cache alone
            began = time.time()
            args.warm_socket = stack.enter_context(warm.Warm({job["workload"] for job in jobs})).path
            print(f"PyTorch is imported and every model was made once, in {time.time() - began:.1f} s: this is no part of any run", flush=True)
        for policy in args.policy.split(","):
            lost += one_run(args, policy, jobs, out)
    records = [json.loads(path.read_text(encoding="utf-8")) for name in ("slot", "pack", "sharewell")
               if (path := out / f"{name}.json").exists()]
    if records:
        (out / "mix.svg").write_text(mix_plot.chart(records), encoding="utf-8")
    return 1 if lost else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except sharewell.Error as e:
        sys.exit(f"run_mix: {e}")
