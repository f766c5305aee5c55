#!/usr/bin/env python3
"""How fast each job of a mix ran beside whom: mix_speeds.py RECORD.json [--alone SLOT.json]

Of a record with `progress` (docs/formats/run.md), one line for each stretch of time in which the same jobs trained and none was starting up: every
job's steps a second over its rate alone, in the run under slot (default: slot.json beside the record). Stretches below five seconds are left out.
"""
import argparse
import json
import pathlib

SHORTEST = 5.0
EDGE = 1.2                                     # steps are looked at once a second


def steps_at(progress, number, time):
    """Told by then, between two looks; None: not known."""
    before = None
    for look in progress:
        told = look["steps"].get(str(number))
        if told is None:
            continue
        if look["time_seconds"] >= time:
            if before is None:
                return told
            part = (time - before[0]) / (look["time_seconds"] - before[0])
            return before[1] + part * (told - before[1])
        before = look["time_seconds"], told
    return before[1] if before else None


def stretches(jobs):
    """(begin, end, jobs that train): nobody comes, warms up or goes meanwhile."""
    times = sorted({job[key] for job in jobs for key in ("start_seconds", "steady_seconds", "end_seconds")})
    for begin, end in zip(times, times[1:]):
        on = [job for job in jobs if job["start_seconds"] <= begin and job["end_seconds"] >= end]
        if end - begin >= SHORTEST and on and all(job["steady_seconds"] <= begin for job in on):
            yield begin, end, on


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", metavar="RECORD.json")
    parser.add_argument("--alone", metavar="SLOT.json")
    args = parser.parse_args()
    path = pathlib.Path(args.record)
    record = json.loads(path.read_text(encoding="utf-8"))
    alone = json.loads((pathlib.Path(args.alone) if args.alone else path.parent / "slot.json").read_text(encoding="utf-8"))
    rates = {job["number"]: job["steps_per_second"] for job in alone["jobs"]}
    for begin, end, on in stretches(record["jobs"]):
        words = []
        for job in on:
            first, last = (steps_at(record["progress"], job["number"], time) for time in (begin + EDGE, end - EDGE))
            if first is not None and last is not None and rates.get(job["number"]):
                speed = (last - first) / (end - begin - 2 * EDGE) / rates[job["number"]]
                words.append(f"{job['number']}:{job['workload']} {speed:.2f}")
        print(f"{begin:6.1f} to {end:6.1f} s  {', '.join(words)}")


if __name__ == "__main__":
    main()
