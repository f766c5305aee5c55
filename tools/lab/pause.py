#!/usr/bin/env python3
"""Pauses and resumes deterministic training loops on a real GPU, and holds their losses against runs that were not paused.

  tools/lab/pause.py --out DIR                         # all parts: about 10 minutes on an H200
  tools/lab/pause.py --out DIR --parts direct,sizes    # without a server: sharewell-pause alone
  tools/lab/pause.py --out DIR --stub                  # anywhere; proves the plumbing alone

Parts:
  direct  three kinds of loop at the same time, each paused --pauses times by sharewell-pause: every loss must be that of an unpaused run
  sizes   how long a pause and a resume take by GPU memory: DIR/pause-sizes.csv
  server  through the real server: a loop paused ten times by `sharewell pause` and `resume`; the server killed with -9 in the middle of a
          pause and of a resume, and started again
Writes DIR/pause.json. Exit code 0: every loss was the same and no step was lost. Nothing is installed: Python 3 and torch.
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KINDS = ("conv", "lstm", "decoder")
GIB = 1 << 30
SETTLE, STUB_SETTLE = 0.15, 2.0                # a step whose loss was read already is still written down; a stub looks between its steps alone


def lines_of(path):
    try:
        return pathlib.Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def steps_of(path):
    return sum(1 for line in lines_of(path) if not line.startswith("end"))


def wait_for(what, done, seconds=120.0, every=0.02):
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(every)


def loop_words(args, kind, steps, record, ballast=0):
    words = [sys.executable, str(HERE / "pause_loop.py"), kind, str(steps), str(record), "--ballast", str(ballast)]
    return words + (["--stub"] if args.stub else ["--delay", str(args.delay)])


def environment(args, world):
    env = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_MPS")}
    if args.stub:
        world = pathlib.Path(world, "world")
        world.mkdir(exist_ok=True)
        env["SHAREWELL_FAKE_CHECKPOINT"] = str(world)
        env["SHAREWELL_CUDA_LIBRARY"] = str(pathlib.Path(args.server_binary).parent / "libfake_checkpoint.so")
    return env


def gpu_bytes(pid):
    """Of GPU memory that nvidia-smi sees a process have; None: not known."""
    try:
        told = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"], capture_output=True,
                              text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    for line in told.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 2 and words[0] == str(pid) and words[1].isdigit():
            return int(words[1]) << 20
    return None


class DirectRun:
    """A loop below this process, with a run's folder as sharewell-pause wants it: a lock that its supervisor (we) holds."""

    def __init__(self, args, folder, kind, steps, ballast=0):
        self.args, self.folder, self.record = args, pathlib.Path(folder), pathlib.Path(folder, "record")
        self.folder.mkdir(parents=True)
        self.lock = open(self.folder / "lock", "w", encoding="ascii")
        self.lock.write(f"{os.getpid()}\n")
        self.lock.flush()
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.env = environment(args, self.folder)
        self.out = open(self.folder / "log", "w+b")
        # A tree of its own, so that other loops of this script are not paused with it: the lock names the keeper.
        code = "import os,subprocess,sys; p=subprocess.Popen(sys.argv[1:]); sys.exit(p.wait())"
        self.keeper = subprocess.Popen([sys.executable, "-c", code, *loop_words(args, kind, steps, self.record, ballast)], env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.out, start_new_session=True)
        self.lock.seek(0)
        self.lock.truncate()
        self.lock.write(f"{self.keeper.pid}\n")
        self.lock.flush()

    def ask(self, verb):
        """Seconds it took."""
        began = time.monotonic()
        done = subprocess.run([self.args.pause_binary, verb, str(self.folder)], env=self.env, capture_output=True, text=True, timeout=300,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{verb} failed: {done.stderr} {(self.folder / 'pause').read_text() if (self.folder / 'pause').exists() else ''}")
        return time.monotonic() - began

    def told(self):
        return dict(line.split(" ", 1) for line in (self.folder / "pause").read_text(encoding="utf-8").splitlines()[1:] if " " in line)

    def began(self):
        wait_for("the loop's third step", lambda: steps_of(self.record) >= 3 or self.keeper.poll() is not None, 300)
        if self.keeper.poll() is not None:
            raise RuntimeError(f"the loop ended early: {self.words()}")

    def words(self):
        self.out.seek(0)
        return self.out.read().decode("utf-8", "replace")[-2000:]

    def end(self):
        if self.keeper.poll() is None:
            os.killpg(self.keeper.pid, signal.SIGKILL)
        self.keeper.wait()


def judge(name, record, reference):
    """Every line of a paused run must be the reference's."""
    got, want = lines_of(record), lines_of(reference)
    first = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), None)
    same = bool(want) and got == want
    print(f"{name}: {len(got)} lines, {'the same as unpaused' if same else f'DIFFERENT from line {first}'}", flush=True)
    return {"steps": steps_of(record), "reference_steps": steps_of(reference), "same": same, "first_difference": first,
            "last_loss": got[-2] if len(got) > 1 else None}


def reference_of(args, folder, kind, steps, again=False):
    """An unpaused run's record, made once."""
    path = pathlib.Path(folder, f"reference-{kind}-{steps}{'-again' if again else ''}")
    if not path.exists():
        subprocess.run(loop_words(args, kind, steps, path), env=environment(args, folder), check=True, timeout=600)
    return path


def references_of(args, folder, steps):
    """Of all kinds, at the same time."""
    threads = [threading.Thread(target=reference_of, args=(args, folder, kind, steps)) for kind in KINDS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {kind: reference_of(args, folder, kind, steps) for kind in KINDS}


def summary(values):
    values = sorted(values)
    return {"count": len(values), "median": round(statistics.median(values), 3), "least": round(values[0], 3),
            "most": round(values[-1], 3)} if values else {"count": 0}


def one_direct(args, folder, kind, into):
    """Paused until --pauses is reached; the loop makes --gap steps at least between two."""
    run = DirectRun(args, folder, kind, args.steps)
    chance = random.Random(kind)
    pauses, resumes, moved = [], [], []
    try:
        run.began()
        memory = gpu_bytes_of_tree(run)
        while len(pauses) < args.pauses and run.keeper.poll() is None:
            target = steps_of(run.record) + args.gap + chance.randrange(args.gap + 1)
            wait_for("more steps", lambda t=target: steps_of(run.record) >= t or run.keeper.poll() is not None, 120)
            if run.keeper.poll() is not None:
                break
            time.sleep(chance.random() * 0.05)             # anywhere within a step
            pauses.append(run.ask("pause"))
            moved.append(int(run.told()["bytes"]))
            time.sleep(STUB_SETTLE if args.stub else SETTLE)
            at = steps_of(run.record)
            time.sleep(args.rest)
            if steps_of(run.record) != at:
                raise RuntimeError("a paused loop made a step")
            resumes.append(run.ask("resume"))
        run.keeper.wait(600)
        into[kind] = {"pauses": len(pauses), "pause_seconds": summary(pauses), "resume_seconds": summary(resumes), "gpu_bytes": memory,
                      "host_bytes": summary(moved), "exit": run.keeper.returncode, "record": str(run.record)}
    except (RuntimeError, TimeoutError, subprocess.SubprocessError) as e:
        into[kind] = {"pauses": len(pauses), "error": f"{e}: {run.words()}", "record": str(run.record)}
    finally:
        run.end()


def children_of(pid):
    found, todo = [], [pid]
    while todo:
        at = todo.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{at}/task"):
                for child in pathlib.Path(f"/proc/{at}/task/{task}/children").read_text().split():
                    found.append(int(child))
                    todo.append(int(child))
    return found


def gpu_bytes_of_tree(run):
    known = [bytes_ for pid in children_of(run.keeper.pid) if (bytes_ := gpu_bytes(pid)) is not None]
    return sum(known) if known else None


def direct(args, folder):
    told, threads = {}, []
    references = references_of(args, folder, args.steps)
    for kind in KINDS:
        threads.append(threading.Thread(target=one_direct, args=(args, folder / f"direct-{kind}", kind, told)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    for kind in KINDS:
        if "error" in told[kind]:
            print(f"direct {kind}: {told[kind]['error']}", flush=True)
            told[kind]["same"] = False
        else:
            told[kind].update(judge(f"direct {kind}, {told[kind]['pauses']} pauses", told[kind]["record"], references[kind]))
            if not told[kind]["same"]:         # the pause's fault, or the loop's?
                again = reference_of(args, folder, kind, args.steps, again=True)
                told[kind]["unpaused_repeats"] = lines_of(again) == lines_of(references[kind])
                print(f"direct {kind}: two unpaused runs {'are' if told[kind]['unpaused_repeats'] else 'are NOT'} the same", flush=True)
    return told


def sizes(args, folder, out):
    rows = []
    for gib in args.sizes:
        run = DirectRun(args, folder / f"size-{gib}", "conv", 10 ** 9, int(gib * GIB))
        try:
            run.began()
            memory = gpu_bytes_of_tree(run)
            for _ in range(args.repeats):
                pause = run.ask("pause")
                host = int(run.told()["bytes"])
                rows.append({"gpu_bytes": memory, "host_bytes": host, "pause_seconds": round(pause, 3),
                             "resume_seconds": round(run.ask("resume"), 3)})
                print(f"sizes: {gib:g} GiB more: {rows[-1]}", flush=True)
                at = steps_of(run.record)
                wait_for("steps after a resume", lambda a=at: steps_of(run.record) > a, 60)
        except (RuntimeError, TimeoutError, subprocess.SubprocessError) as e:
            print(f"sizes: {gib:g} GiB: {e}", flush=True)
            rows.append({"gpu_bytes": None, "error": str(e)})
        finally:
            run.end()
    keys = ("gpu_bytes", "host_bytes", "pause_seconds", "resume_seconds")
    with open(out / "pause-sizes.csv", "w", encoding="ascii") as file:
        file.write(",".join(keys) + "\n")
        for row in rows:
            if "error" not in row:
                file.write(",".join("" if row[key] is None else str(row[key]) for key in keys) + "\n")
    return rows


class Server:
    """`sharewell serve` on its own store and socket; it may be killed and started again on them."""

    def __init__(self, args, folder):
        self.args, self.folder, self.process = args, folder, None
        self.env = environment(args, folder)
        self.log = open(folder / "server.log", "a+b")

    def start(self):
        command = [self.args.server_binary, "serve", "--policy", "slot", "--store", str(self.folder / "store.db"), "--socket",
                   str(self.folder / "s"), "--listen", "none", "--pause-gap", "0s"]
        if self.args.stub:
            command += ["--gpus", "1xH200"]
        self.process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        wait_for("the server", lambda: self.cli("jobs", "--json", check=False).returncode == 0, 60, 0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    def cli(self, *words, check=True):
        done = subprocess.run([self.args.server_binary, words[0], "--server", str(self.folder / "s"), *words[1:]], env=self.env, cwd=ROOT,
                              capture_output=True, text=True, timeout=120, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"sharewell {' '.join(words)}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def job(self, number):
        return json.loads(self.cli("job", str(number), "--json").stdout)


def until_job(server, number, what, is_so, seconds=120):
    began = time.monotonic()
    wait_for(what, lambda: is_so(server.job(number)), seconds, 0.1)
    return time.monotonic() - began


def is_paused(job):
    return job["phase"] == "held" and job["paused"]


def is_running(job):
    return job["phase"] == "running"


def through_server(args, folder):
    folder = folder / "server"
    folder.mkdir()
    server, told = Server(args, folder), {}
    record = folder / "record"
    try:
        server.start()
        asked = ["--env", "SHAREWELL_FAKE_CHECKPOINT"] if args.stub else []
        words = server.cli("submit", "--json", "--exclusive", "--gpus", "1", *asked, "--",
                           *loop_words(args, "conv", 10 ** 9, record)).stdout
        number = json.loads(words)["jobs"][0]["number"]
        wait_for("the loop's third step", lambda: steps_of(record) >= 3, 300)
        pauses, resumes, errors = [], [], []

        def step_on():
            at = steps_of(record)
            wait_for("steps", lambda: steps_of(record) >= at + args.gap, 120)

        def pause():
            server.cli("pause", str(number))
            pauses.append(until_job(server, number, "the pause", is_paused))
            time.sleep(STUB_SETTLE if args.stub else SETTLE)
            at = steps_of(record)
            time.sleep(args.rest)
            if steps_of(record) != at:
                errors.append("a paused job made a step")

        def resume():
            server.cli("resume", str(number))
            resumes.append(until_job(server, number, "the resume", is_running))

        for i in range(args.server_pauses):
            step_on()
            pause()
            if i == 0:
                told["why"] = server.cli("why", str(number)).stdout
                print(told["why"], flush=True)
            resume()
            if server.job(number)["attempt"] != 1:
                errors.append("it was started again")
        for i in range(args.kills):            # in the middle of a pause
            step_on()
            server.cli("pause", str(number))
            time.sleep(0.05 + 0.25 * i)
            server.kill()
            server.start()
            until_job(server, number, "the pause after a restart", is_paused)
            server.cli("resume", str(number))
            time.sleep(0.05 + 0.15 * i)        # and of the resume
            server.kill()
            server.start()
            until_job(server, number, "the resume after a restart", is_running)
        if args.kills:                         # and while it is paused
            step_on()
            pause()
            server.kill()
            server.start()
            if not is_paused(server.job(number)):
                errors.append("a restarted server lost a pause")
            resume()
        step_on()
        server.cli("cancel", str(number))      # it ends after the step it is in, and says how many they were
        until_job(server, number, "its end", lambda job: job["phase"] in ("finished", "failed", "cancelled"), 600)
        job = server.job(number)
        reference = reference_of(args, folder.parent, "conv", steps_of(record))
        told.update({"phase": job["phase"], "attempt": job["attempt"], "pauses": len(pauses) + args.kills, "errors": errors,
                     "pause_seconds": summary(pauses), "resume_seconds": summary(resumes), "server_kills": 2 * args.kills + bool(args.kills)})
        told.update(judge("server", record, reference))
        told["same"] = told["same"] and not errors and job["attempt"] == 1
    except (RuntimeError, TimeoutError, subprocess.SubprocessError, KeyError, ValueError) as e:
        told.update({"error": repr(e), "same": False})
        print(f"server: {e!r}", flush=True)
        server.log.seek(0)
        print(server.log.read().decode("utf-8", "replace")[-3000:], flush=True)
    finally:
        with contextlib.suppress(Exception):
            for job in json.loads(server.cli("jobs", "--json", check=False).stdout)["jobs"]:
                server.cli("cancel", str(job["number"]), check=False)
            time.sleep(1)
        server.end()
    return told


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--parts", default="direct,sizes,server")
    parser.add_argument("--pauses", type=int, default=67, metavar="N", help="of each of the three loops, in `direct` (default %(default)s)")
    parser.add_argument("--steps", type=int, default=1500, help="of each loop in `direct` (default %(default)s)")
    parser.add_argument("--server-pauses", type=int, default=10, metavar="N", help="of the loop in `server` (default %(default)s)")
    parser.add_argument("--gap", type=int, default=8, help="steps between two pauses, at least (default %(default)s)")
    parser.add_argument("--rest", type=float, default=0.2, metavar="S", help="how long a loop stays paused (default %(default)s)")
    parser.add_argument("--delay", type=float, default=0.01, metavar="S", help="after each step of a loop (default %(default)s)")
    parser.add_argument("--sizes", default="0,2,8,24", metavar="GIB,...", help="GPU memory beside the loop's own (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=2, help="pauses for each size (default %(default)s)")
    parser.add_argument("--kills", type=int, default=4, help="of the server, in the middle of a pause (default %(default)s)")
    parser.add_argument("--server-binary", default=str(ROOT / "build/release/sharewell"), metavar="FILE")
    parser.add_argument("--pause-binary", metavar="FILE", help="default: sharewell-pause beside the server's")
    parser.add_argument("--stub", action="store_true", help="no GPU: loops that sleep, and a stand-in for libcuda")
    parser.add_argument("--keep", action="store_true", help="keep the working folder")
    args = parser.parse_args()
    args.sizes = [float(word) for word in args.sizes.split(",")]
    args.pause_binary = args.pause_binary or str(pathlib.Path(args.server_binary).parent / "sharewell-pause")
    if args.stub:
        args.sizes = args.sizes[:1]
    return args


def main():
    args = arguments()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    check = subprocess.run([args.pause_binary, "check"], env=environment(args, out), capture_output=True, text=True, check=False)
    if check.returncode != 0:
        sys.exit(f"pause: this machine cannot: {check.stderr.strip()}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pause-"))
    began, told, good = time.monotonic(), {"stub": args.stub}, True
    for part in args.parts.split(","):
        at = time.monotonic()
        if part == "direct":
            told["direct"] = direct(args, folder)
            good = good and all(kind["same"] for kind in told["direct"].values())
            told["direct_pauses"] = sum(kind["pauses"] for kind in told["direct"].values())
        elif part == "sizes":
            told["sizes"] = sizes(args, folder, out)
        elif part == "server":
            told["server"] = through_server(args, folder)
            good = good and told["server"]["same"]
        else:
            sys.exit(f"pause: {part} is no part: direct, sizes, server")
        print(f"{part}: {time.monotonic() - at:.0f} s", flush=True)
        told["seconds"] = round(time.monotonic() - began, 1)
        (out / "pause.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")   # what was done so far, whatever comes
    if not args.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{'all the same' if good else 'NOT THE SAME'}; {out / 'pause.json'}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
