#!/usr/bin/env python3
"""Many short jobs on a real Slurm of four nodes while our server is killed (SIGKILL) again and again: none lost, none started twice, none left held,
and no GPU given to more than fits on it.

Jobs tell by themselves when they began and ended, where, and with how many shards: what is checked is what happened on the nodes. A tenth
come as arrays, half share their GPU, some fail. Part of `make soak`:

    SHAREWELL=build/release/sharewell python3 tests/acceptance/slurm_kills.py --jobs 2000 --kills 50
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "slurm"))

from cluster import Cluster, missing  # noqa: E402
from engine_test import Server, USER  # noqa: E402

PATIENCE = 180  # seconds without any progress; one that Slurm does not start is tried elsewhere after 30 s
OF_ARRAY = 10  # tasks
# A small model: what it needs is predicted from its graph, so that it may share.
SMALL = f"--comment=sharewell model={TESTS.parent}/fuzz/corpus/onnx/enc_256x2.onnx batch=8 max_slowdown=4"
# (flags of sbatch, seconds that it runs, exit code, whether it has its GPU for itself)
KINDS = [([SMALL], 1.5, 0, False), (["--comment=sharewell exclusive"], 0.1, 0, True), ([SMALL, "-c2"], 3.0, 0, False), ([], 0.2, 0, True),
         ([SMALL], 0.5, 3, False)]
# Each line is one write to a file that was opened to append: lines of many jobs do not mix.
SCRIPT = """me=${{SLURM_ARRAY_JOB_ID:+${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID}}; me=${{me:-$SLURM_JOB_ID}}
echo "begin $me $(date +%s.%N) $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_SHARDS_ON_NODE $GPU_DEVICE_ORDINAL" >> {ran}
sleep {seconds}
echo "end $me $(date +%s.%N)" >> {ran}
exit {code}"""


class Submitter(threading.Thread):
    """Submits while the server works, and is killed; `expected`: the names of what was submitted and their kinds."""

    def __init__(self, cluster, jobs, ran):
        super().__init__(daemon=True)
        self.cluster, self.jobs, self.ran = cluster, jobs, ran
        self.expected, self.problem = {}, None

    def run(self):
        try:
            turn = 0
            while len(self.expected) < self.jobs:
                self._submit(turn, min(OF_ARRAY if turn % 91 == 90 else 1, self.jobs - len(self.expected)))
                turn += 1
        except BaseException as error:  # told where it is joined
            self.problem = error

    def _submit(self, turn, count):
        kind = turn % len(KINDS)
        flags, seconds, code, _ = KINDS[kind]
        script = SCRIPT.format(ran=self.ran, seconds=seconds, code=code)
        array = [f"--array=0-{count - 1}"] if count > 1 else []
        number = self.cluster.sbatch("--gres=gpu:1", *flags, *array, "-o", "/dev/null", script=script, user=USER)
        for name in [f"{number}_{task}" for task in range(count)] if array else [str(number)]:
            self.expected[name] = kind


def live_jobs(cluster):
    """Waiting and running ones, tasks of arrays each; None: Slurm did not answer this time."""
    done = cluster.run("squeue", "-h", "-r", "-o", "%i", timeout=30)
    return len(done.stdout.split()) if done.returncode == 0 else None


def run(cluster, jobs, kills, ran, servers):
    """Until all are over: what was submitted, seconds, kills. `servers`: all that there were, in their order."""
    chance, killed = random.Random(14), 0
    submitter = Submitter(cluster, jobs, ran)
    begin = moved = time.monotonic()
    servers.append(Server(cluster))
    submitter.start()
    # One in each of so many equal parts, anywhere in it, by how many have ended: how fast the machine is does not matter.
    kill_at = [int((i + chance.random()) * jobs / (kills + 1)) for i in range(kills)]
    last = -1
    while True:
        over = sum(1 for line in ran.read_text(encoding="utf-8").splitlines() if line.startswith("end"))
        live = live_jobs(cluster)
        if over > last:
            last, moved = over, time.monotonic()
        if not submitter.is_alive():
            if submitter.problem:
                raise submitter.problem
            if live == 0:
                break
        if servers[-1].process.poll() is not None:
            sys.exit(f"the server died by itself: {servers[-1].said()[-2000:]}")
        if time.monotonic() - moved > PATIENCE:
            left = cluster.squeue("-r", form="%i %T %p %r %N")[:10]
            sys.exit(f"{live} jobs are left and none has ended for {PATIENCE} s, such as {left}\n{servers[-1].said()[-2000:]}\n{cluster.said()}")
        if killed < kills and over >= kill_at[killed]:
            time.sleep(chance.random())  # anywhere in what it does
            servers[-1].end(signal.SIGKILL)
            killed += 1
            time.sleep(chance.random() * 0.3)
            servers.append(Server(cluster))
            if killed % 10 == 0:
                print(f"{killed} kills, {over} jobs over, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        time.sleep(0.1)
    return submitter.expected, time.monotonic() - begin, killed


def told(ran):
    """Of each job: its beginnings and its ends, [(time, node, gpu, shards)] and [time]."""
    begins, ends = collections.defaultdict(list), collections.defaultdict(list)
    for line in ran.read_text(encoding="utf-8").splitlines():
        words = line.split(" ")
        if words[0] == "begin":
            # One that has changed its slot keeps a shard of the old one, which its task does not see.
            kept = words[6].count(",")
            begins[words[1]].append((float(words[2]), words[3], words[4], int(words[5] or 0) - kept))
        else:
            ends[words[1]].append(float(words[2]))
    return begins, ends


def over_committed(begins, ends, expected):
    """Where at some time more than 100 shards of a GPU were used, or one that is to be alone was not."""
    steps, wrong = collections.defaultdict(list), []
    for name, starts in begins.items():
        for (start, node, gpu, shards), end in zip(starts, ends[name]):
            steps[node, gpu] += [(end, 0, name, -shards), (start, 1, name, shards)]
    most = 0
    for place, changes in steps.items():
        used, there = 0, set()
        for _, begun, name, shards in sorted(changes):
            used += shards
            (there.add if begun else there.discard)(name)
            most = max(most, len(there))
            alone = [one for one in there if KINDS[expected[one]][3]]
            if used > 100 or (alone and len(there) > 1):
                wrong.append(f"{place[0]} GPU {place[1]}: {used} shards of jobs {sorted(there)}")
    return wrong, most


def check(server, expected, ran):
    begins, ends = told(ran)
    wrong = [f"job {name} of kind {expected[name]} began {len(begins.get(name, []))} times and ended {len(ends.get(name, []))} times"
             for name in expected if (len(begins.get(name, [])), len(ends.get(name, []))) != (1, 1)]
    wrong += [f"job {name} ran and was not submitted" for name in begins if name not in expected]
    wrong += [f"job {name} ran with {starts[0][3]} shards of GPU {starts[0][2]!r}" for name, starts in begins.items()
              if not 0 < starts[0][3] <= 100 or not starts[0][2].isdigit()]
    if not wrong:
        crowded, most = over_committed(begins, ends, expected)
        wrong += crowded
        print(f"at most {most} jobs on a GPU at the same time")
    # What the last server says of them, once it has seen the last of them end.
    end, counts = time.monotonic() + 60, {}
    failures = sum(1 for kind in expected.values() if KINDS[kind][2])
    while time.monotonic() < end:
        told_by_server = json.loads(server.run("jobs", "--all", "--limit", "100000", "--json").stdout)["jobs"]
        counts = collections.Counter(job["phase"] for job in told_by_server)
        if counts == {"finished": len(expected) - failures, "failed": failures}:
            break
        time.sleep(0.5)
    else:
        wrong.append(f"the server knows of {dict(counts)}, not of {len(expected) - failures} finished and {failures} failed")
    return wrong


def nodes_of(gpus):
    """Four nodes with so many GPUs each; None: as cluster.py has them, of two models and not all of one size."""
    return {f"n{i}": ("V100", gpus) for i in range(1, 5)} if gpus else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--gpus", type=int, help="of each node (default: 2, 2, 2 and 4, of two models)")
    parser.add_argument("--keep", metavar="FOLDER", help="where the logs go when something is wrong")
    options = parser.parse_args()
    if missing():
        sys.exit(missing())
    wrong = ["it did not come to its end"]
    with Cluster(scripts=True, nodes=nodes_of(options.gpus)) as cluster:
        ran = cluster.folder / "out/ran"
        ran.touch()
        ran.chmod(0o666)
        servers = []
        try:
            expected, seconds, killed = run(cluster, options.jobs, options.kills, ran, servers)
            wrong = check(servers[-1], expected, ran)
        finally:
            if servers:
                servers[-1].end()
            if wrong and options.keep:
                shutil.copytree(cluster.folder, options.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("dev", "run", "munge", "*.sock"))
    print(f"{options.jobs} jobs in {seconds:.1f} s ({options.jobs / seconds:.1f} a second), {killed} kills, {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    if wrong or killed < options.kills:
        sys.exit(f"{len(wrong)} things are wrong, {killed} of {options.kills} kills were made")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
