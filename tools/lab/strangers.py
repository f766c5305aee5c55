#!/usr/bin/env python3
"""Runs ordinary training scripts of which the server is told nothing through the real server, and writes a record of each policy's run.

  tools/lab/strangers.py tools/lab/strangers.toml --policy slot,sharewell --out DIR
  /usr/bin/python3 tools/lab/strangers.py tools/lab/strangers.toml --policy sharewell --out DIR --gpus 2xH200 --device cpu \\
      --only unet.py,dcgan.py --steps 30 --batch 2 --cores 0.5               # anywhere with PyTorch: proves the plumbing alone

No graph, no figure, no report_step(): a submission has a command, `gpus` 1 and `cores`, as users ask. Once a second every job is looked at, and
what changed is noted: when its needs stopped being assumed, when the watcher told its step, beside whom it was. DIR/POLICY.json is written
as it goes, so a run that is cut short (--limit, SIGTERM) leaves what it has. The scripts print one line of JSON at their end, with their rate.
"""
import argparse
import hashlib
import json
import os
import pathlib
import platform
import shlex
import signal
import statistics
import sys
import tempfile
import threading
import time
import tomllib

from run_mix import ROOT, Sampler, Server, collect_events, mean, seconds, summary_of

import sharewell

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
LOOK_SECONDS = 1.0
SAVE_SECONDS = 15.0
KEPT = ("phase", "attempt", "ooms", "evicted", "exit_code", "cores", "sm_share", "beside", "reason", "note", "steps_by", "seen")


class ServerWith(Server):
    """run_mix's server with more words on its command line."""

    def __init__(self, args, policy, folder):
        program = os.path.join(folder, "serve")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(args.server_binary)} "$@" {shlex.join(shlex.split(args.server_args))}\n')
        os.chmod(program, 0o700)
        super().__init__(argparse.Namespace(server_binary=program, gpus=args.gpus), policy, folder)


def read_jobs(args):
    try:
        jobs = tomllib.loads(pathlib.Path(args.jobs).read_text(encoding="utf-8")).get("jobs", [])
        jobs = [{"number": n, "arrival_seconds": float(job["arrival_seconds"]), "command": [str(word) for word in job["command"]]}
                for n, job in enumerate(jobs, 1)]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as e:
        sys.exit(f"strangers: {args.jobs}: {e!r}")
    if args.only:
        jobs = [job for job in jobs if job["command"][0] in args.only.split(",")]
    for job in jobs:
        if not (SCRIPTS / job["command"][0]).is_file():
            sys.exit(f"strangers: {args.jobs}: there is no script {job['command'][0]!r} in {SCRIPTS}")
        if args.scale != 1 and "--steps" in job["command"]:
            at = job["command"].index("--steps") + 1
            job["command"][at] = str(max(20, round(int(job["command"][at]) * args.scale)))
        for option in ("steps", "batch", "device"):  # of an option given twice, argparse takes the last
            if getattr(args, option):
                job["command"] += [f"--{option}", str(getattr(args, option))]
        job["name"] = f"{job['number']}:{label(job['command'])}"
    if not jobs:
        sys.exit(f"strangers: {args.jobs}: it has no [[jobs]] to run")
    return sorted(jobs, key=lambda job: job["arrival_seconds"])


def label(command):
    for key in ("--arch", "--model"):
        if key in command:
            return command[command.index(key) + 1]
    return pathlib.Path(command[0]).stem


def gpus_of(record):
    """Where it runs now: `gpus` and `beside` of a record stay what they were when it was placed."""
    return {gpu["index"] for gpu in record.get("gpus") or []} if record["phase"] in ("starting", "running", "stopping") else set()


def state_of(record, together):
    """What of a job is noted whenever it changes. `together`: the jobs on its GPU now."""
    needs = record.get("needs") or {}
    return {"phase": record["phase"], "attempt": record["attempt"], "source": needs.get("source"), "from": needs.get("from"),
            "told": record.get("told") is not None, "guest": record.get("guest_memory_bytes"), "gpus": sorted(gpus_of(record)),
            "beside": record.get("beside"), "together": together, "cores": record.get("cores"), "sm_share": record.get("sm_share"),
            "steps_by": record.get("steps_by")}


class Run:
    """One policy's run: jobs are submitted as they arrive, looked at once a second, and what is known is written now and then."""

    def __init__(self, args, policy, jobs, out, server):
        self.args, self.policy, self.jobs, self.path = args, policy, jobs, out / f"{policy}.json"
        self.server, self.client = server, server.client
        self.gpus, self.events, self.looks, self.stopped_by = self.client.gpus(), [], [], None
        self.told, self.states, self.summaries, self.needs_seen = {}, {}, {}, {}  # each by the job's number in the file
        self.began = time.time()
        self.sampler = Sampler(self.began)

    def now(self):
        return round(time.time() - self.began, 2)

    def submit(self, job):
        asked = {"gpus": 1, "cores": min(self.args.cores, len(os.sched_getaffinity(0)))}
        self.told[job["number"]] = self.client.submit([sys.executable, *job["command"]], name=job["name"], folder=str(SCRIPTS), **asked)
        self.note(job["number"])

    def note(self, number):
        """What the server says of a job now, if that is new."""
        record = self.told[number].record
        together = sorted(job.number for job in self.told.values()
                          if job.number != record["number"] and gpus_of(job.record) & gpus_of(record))
        state, states = state_of(record, together), self.states.setdefault(number, [])
        if not states or any(states[-1][key] != value for key, value in state.items()):
            if not states or any(states[-1][key] != state[key] for key in ("phase", "source", "attempt")):
                print(f"  {self.now():6.1f} s  {record['name']}: {state['phase']}, needs {state['source']}"
                      f"{', together with ' + str(together) if together else ''}", flush=True)
            states.append({"time_seconds": self.now(), **state})
        if state["source"] != "assumed":
            self.needs_seen.setdefault(number, record.get("needs"))  # the first that are more than assumed

    def look(self):
        records = {job.number: job.record for job in self.client.jobs()}
        steps = {}
        live = {number: job for number, job in self.told.items() if not job.over}
        for job in live.values():
            job.record = records.get(job.number, job.record)
        for number, job in live.items():
            self.note(number)
            if job.phase == "running":
                steps[str(number)] = job.record.get("steps")
        self.looks.append({"time_seconds": self.now(), "steps": steps})

    def run(self):
        threading.Thread(target=collect_events, args=(self.client, self.events), daemon=True).start()
        self.sampler.start()
        waiting, saved = list(self.jobs), time.time()
        try:
            while waiting or not all(job.over for job in self.told.values()):
                if self.now() > self.args.limit:
                    self.stopped_by = f"the limit of {self.args.limit:g} s"
                    break
                while waiting and self.now() >= waiting[0]["arrival_seconds"] / self.args.faster:
                    self.submit(waiting.pop(0))
                self.look()
                if time.time() - saved > SAVE_SECONDS:
                    saved = time.time()
                    self.save()
                arrives = waiting[0]["arrival_seconds"] / self.args.faster - self.now() if waiting else LOOK_SECONDS
                time.sleep(min(LOOK_SECONDS, max(0.01, arrives)))
        except (SystemExit, KeyboardInterrupt):
            self.stopped_by = "a signal"
        except sharewell.Error as e:
            self.stopped_by = f"the server: {e}"
        self.sampler.end()
        time.sleep(0.3)  # the last events
        return self.save()

    def entry(self, job, began_ms, rates):
        told, states = self.told.get(job["number"]), self.states.get(job["number"])
        if told is None:
            return {**job, "phase": "not submitted"}
        if told.over and job["number"] not in self.summaries:
            self.summaries[job["number"]] = summary_of(self.client, told.number)
        if told.over and told.phase != "finished":
            job = {**job, "errors": "".join(self.client.logs(told.number, stream="err"))[-2000:]}
        summary, record = self.summaries.get(job["number"], {}), told.record
        start = seconds(record.get("started_ms"), began_ms)

        def after_start(found):
            moment = next((state["time_seconds"] for state in states if found(state)), None)
            return None if moment is None or start is None else round(max(0.0, moment + self.began - began_ms / 1000 - start), 2)
        rate, alone = summary.get("steps_per_second"), rates.get(job["name"])
        if self.policy == "slot":
            alone = rate
        return {**job, **{key: record.get(key) for key in KEPT}, "job": told.number, "server_slowdown": record.get("slowdown"),
                "submit_seconds": seconds(told.submitted_ms, began_ms), "start_seconds": start,
                "steady_seconds": seconds(summary.get("steady_ms"), began_ms), "trained_seconds": seconds(summary.get("ended_ms"), began_ms),
                "end_seconds": seconds(record.get("ended_ms"), began_ms),
                "first_wait_seconds": seconds(record.get("started_ms"), told.submitted_ms),
                "steps_done": summary.get("steps"), "steps_counted": record.get("steps"), "steps_per_second": rate,
                "alone_steps_per_second": alone, "slowdown": round(alone / rate, 4) if alone and rate else None,
                "known_at_submission": states[0]["source"] != "assumed", "source_at_submission": states[0]["source"],
                "from_at_submission": states[0]["from"], "known_seconds": after_start(lambda state: state["source"] != "assumed"),
                "told_seconds": after_start(lambda state: state["told"]), "shared_seconds_after_start": after_start(lambda state: state["together"]),
                "shared": any(state["together"] for state in states), "guest": any(state["guest"] for state in states),
                "told": record.get("told"), "needs_first_known": self.needs_seen.get(job["number"]), "needs_last": record.get("needs"),
                "states": states}

    def save(self):
        if not self.told:
            return None
        began_ms = min(job.submitted_ms for job in self.told.values())
        rates = rates_of(self.args.rates or self.path.parent / "slot.json")
        entries = [self.entry(job, began_ms, rates) for job in self.jobs]
        complete = all(entry["phase"] in ("finished", "failed", "cancelled") for entry in entries)
        ends = [entry.get("end_seconds") for entry in entries]
        path = pathlib.Path(self.args.jobs)
        record = {
            "schema": 1, "kind": "strangers-run", "policy": self.policy, "version": self.server.info.get("version"), "began_ms": began_ms,
            "complete": complete, "stopped_by": self.stopped_by, "server_args": self.args.server_args, "faster": self.args.faster,
            "file": {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
            "machine": {"gpus": [{key: gpu.get(key) for key in ("model", "memory_bytes", "simulated")} for gpu in self.gpus],
                        "cores": os.cpu_count(), "gpu_name": self.sampler.gpu and self.sampler.gpu.name(), "python": platform.python_version()},
            "makespan_seconds": max(ends) if complete and None not in ends else None,
            "seconds_watched": self.now(),
            "jct_mean_seconds": mean(entry["end_seconds"] - entry["submit_seconds"] for entry in entries if entry.get("end_seconds") is not None),
            "busy_mean": mean(sample["busy"] for sample in self.sampler.samples),
            "jobs": entries,
            "events": [{"time_seconds": seconds(e.time_ms, began_ms), "kind": e.kind, "job": e.job, "text": e.text} for e in list(self.events)],
            "samples": list(self.sampler.samples), "progress": self.looks}
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        part.replace(self.path)
        return record


def rates_of(path):
    try:
        return {job["name"]: job.get("steps_per_second") for job in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["jobs"]}
    except (OSError, ValueError, KeyError):
        return {}


def run_policy(args, policy, jobs, out):
    with tempfile.TemporaryDirectory(prefix="strangers-", ignore_cleanup_errors=True) as folder:
        server = ServerWith(args, policy, folder)
        run = Run(args, policy, jobs, out, server)
        try:
            record = run.run()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is left is ended in any case
            try:
                for job in server.client.jobs(live=True):
                    job.cancel()
                for job in server.client.jobs(live=True):
                    job.wait(30)
            except (sharewell.Error, TimeoutError) as e:
                print(f"strangers: jobs may be left: {e}", file=sys.stderr)
            server.end()
            (out / f"{policy}.log").write_text(server.words(), encoding="utf-8")
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return record


def median(values):
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 2) if known else None


def over_lives(jobs, slot):
    """How many times as long each took as under slot, with its name; the largest first."""
    def took(job):
        return None if None in (job.get("start_seconds"), job.get("end_seconds")) else job["end_seconds"] - job["start_seconds"]
    alone = {job["name"]: took(job) for job in slot["jobs"]} if slot else {}
    return sorted(((took(job) / alone[job["name"]], job["name"]) for job in jobs if took(job) and alone.get(job["name"])), reverse=True)


def say(record, slot):
    """A run in a few lines."""
    jobs = [job for job in record["jobs"] if "submit_seconds" in job]
    print(f"\n{record['policy']}:" + (f" STOPPED by {record['stopped_by']}" if record["stopped_by"] else ""))
    print(f"  {'job':34s} {'start':>6s} {'end':>6s} {'took':>6s} {'rate':>8s} {'slower':>6s} {'known':>6s} {'told':>6s}  shared  attempts")
    for job in jobs:
        took = job["end_seconds"] - job["start_seconds"] if job["end_seconds"] is not None and job["start_seconds"] is not None else None
        cells = [job["start_seconds"], job["end_seconds"], took]
        known = "before" if job["known_at_submission"] else job["known_seconds"]
        print(f"  {job['name']:34.34s} " + " ".join(f"{'-' if c is None else f'{c:.1f}':>6s}" for c in cells)
              + f" {job['steps_per_second'] or '-':>8} {job['slowdown'] or '-':>6} {'-' if known is None else known:>6}"
              f" {'-' if job['told_seconds'] is None else job['told_seconds']:>6}  {'yes' if job['shared'] else 'no':6s}  {job['attempt']}"
              + ("" if job["phase"] == "finished" else f"  {job['phase']}") + ("  guest" if job["guest"] else ""))
    makespan, before = record["makespan_seconds"], slot and slot["makespan_seconds"]
    ratio = f", {before / makespan:.2f} times as fast as slot" if makespan and before and record["policy"] != "slot" else ""
    print(f"  makespan {makespan} s{ratio}; mean completion {record['jct_mean_seconds'] and round(record['jct_mean_seconds'], 1)} s"
          f"{slot and slot['jct_mean_seconds'] and ' (slot: %.1f s)' % slot['jct_mean_seconds'] or ''}; GPU busy {record['busy_mean']}")
    slowed = sorted((job for job in jobs if job["slowdown"]), key=lambda job: -job["slowdown"])
    print(f"  slowdown: mean {slowed and round(mean(job['slowdown'] for job in slowed), 3) or '-'}; worst "
          + ", ".join(f"{job['name']} {job['slowdown']}" for job in slowed[:4]))
    lives = over_lives(jobs, slot) if record["policy"] != "slot" else []
    if lives:
        print(f"  time from start to end over slot's, start-up included: mean {mean(ratio for ratio, _ in lives):.2f}; most "
              + ", ".join(f"{name} {ratio:.2f}" for ratio, name in lives[:4]))
    unknown = [job for job in jobs if not job["known_at_submission"]]
    print(f"  known at submission: {len(jobs) - len(unknown)} of {len(jobs)}; of the others known after start:"
          f" median {median(job['known_seconds'] for job in unknown)} s, never {sum(job['known_seconds'] is None for job in unknown)};"
          f" told after start: median {median(job['told_seconds'] for job in jobs)} s")
    waits = [job["first_wait_seconds"] for job in jobs if job["first_wait_seconds"] is not None]
    print(f"  first waits: median {median(waits)} s, mean {mean(waits) and round(mean(waits), 1)} s, most {max(waits, default=None)} s;"
          f" shared {sum(job['shared'] for job in jobs)}, guests {sum(job['guest'] for job in jobs)},"
          f" started more than once {sum(job['attempt'] > 1 for job in jobs)},"
          f" not finished {sum(job['phase'] != 'finished' for job in record['jobs'])}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", metavar="JOBS.toml")
    parser.add_argument("--policy", default="slot,sharewell", help="one run each, in this order (default %(default)s)")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--cores", type=float, default=3.0, help="asked for each job, as users do (default %(default)s)")
    parser.add_argument("--limit", type=float, default=590.0, metavar="S", help="a run is given up after so long (default %(default)s)")
    parser.add_argument("--rates", metavar="FILE", help="record of these jobs under slot, to compare rates with (default: DIR/slot.json)")
    parser.add_argument("--server-binary", default=str(ROOT / "build/release/sharewell"), metavar="FILE")
    parser.add_argument("--server-args", default="", metavar="WORDS", help='more words for `sharewell serve`, such as "--config FILE"')
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="so many times the steps of each job")
    parser.add_argument("--only", metavar="SCRIPT,SCRIPT", help="jobs of these scripts alone")
    parser.add_argument("--gpus", metavar="2xH200", help="simulated GPUs")
    parser.add_argument("--device", help="to every script; also --steps and --batch")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--faster", type=float, default=1.0, metavar="N", help="jobs arrive so many times as fast")
    parser.add_argument("--again", action="store_true", help="run nothing: say what the records in DIR say")
    args = parser.parse_args()
    if args.faster <= 0 or args.scale <= 0:
        parser.error("--faster and --scale are above 0")
    if args.rates and not rates_of(args.rates):
        parser.error(f"--rates {args.rates}: it is no record of a run")
    return args


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    jobs, out = read_jobs(args), pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    lost = 0
    for policy in args.policy.split(","):
        print(f"{policy}: {len(jobs)} jobs", flush=True)
        path = out / f"{policy}.json"
        record = json.loads(path.read_text(encoding="utf-8")) if args.again else run_policy(args, policy, jobs, out)
        if record is None:
            return 1
        slot = out / "slot.json"
        say(record, json.loads(slot.read_text(encoding="utf-8")) if slot.exists() else None)
        lost += sum(job["phase"] != "finished" for job in record["jobs"])
        if record["stopped_by"] == "a signal":
            return 143
    return 1 if lost else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except sharewell.Error as e:
        sys.exit(f"strangers: {e}")
