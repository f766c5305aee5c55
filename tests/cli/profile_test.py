#!/usr/bin/env python3
"""profile: a job runs as if nobody watched, and its profile is printed and stored."""

import ast
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import unittest

from program import LAB, PROGRAM, ProgramTest

QUICK = ("--interval", "0.1s", "--warmup", "0s", "--for", "0.5s")
PATIENCE = 60  # seconds; for a busy machine
ROOT = pathlib.Path(__file__).resolve().parents[2]
NET = '{"inputs": [{"name": "x", "shape": ["batch", 784]}], "layers": [{"type": "linear", "out": 10}]}'
STEPS = """
import os, time
with open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1) as progress:
    while True:
        time.sleep(0.02)
        sum(range(50_000))                     # more than the clock of CPU time can miss
        print("step", file=progress)
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class ProfileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "SHAREWELL_STORE": str(self.folder / "store.db"),
                            "TMPDIR": str(self.folder)}

    def start(self, *args, **options):
        return subprocess.Popen([PROGRAM, "profile", *args], cwd=self.folder, env=self.environment,
                                stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def profile(self, *args, given=None):
        done = subprocess.run([PROGRAM, "profile", *args], cwd=self.folder, env=self.environment,
                              input=given, capture_output=True, timeout=PATIENCE, check=False)
        done.stderr = done.stderr.decode("utf-8", "replace")
        return done

    def record(self, *args):
        done = self.profile("--out", "profile.json", *args)
        with open(self.folder / "profile.json", encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["schema"], 1)
        return done, document["profiles"][0]


class TheJobsOwn(ProfileTest):
    def test_exit_code(self):
        for script, code in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137),
                             ("kill -TERM $$", 143)):
            self.assertEqual(self.profile("--", "sh", "-c", script).returncode, code, script)

    def test_output_byte_for_byte(self):
        for flags in ((), ("--progress-regex", "step (\\d+)")):
            done = self.profile(*flags, "--", "sh", "-c", "printf 'a\\000b\\r\\n\\377\\033[31m'; echo err >&2")
            self.assertEqual(done.stdout, b"a\0b\r\n\xff\x1b[31m")
            self.assertTrue(done.stderr.startswith("err\n"), done.stderr)

    def test_huge_output(self):
        for flags in ((), ("--rate-regex", "([0-9.]+) it/s")):
            done = self.profile(*flags, "--", "sh", "-c", "yes 'a line of text' | head -c 30000000")
            self.assertEqual((done.returncode, len(done.stdout)), (0, 30_000_000))

    def test_arguments_and_environment(self):
        words = ["--json", "--empty=", "", "--", "--for", "a b\n", "-h"]
        done = self.profile("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
        self.assertEqual(done.stdout.decode(), f"{words}\n")
        done = self.profile("--", "sh", "-c", "test -f $SHAREWELL_PROGRESS && echo $SHAREWELL_PROGRESS")
        self.assertEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(done.stdout.decode().strip()))

    def test_stdin(self):
        self.assertEqual(self.profile("--", "cat", given=b"given\0").stdout, b"given\0")

    def test_a_closed_stdout(self):
        self.assertEqual(self.profile("--", "sh", "-c", "exec >&- 2>&-; exit 3").returncode, 3)

    def test_a_reader_that_goes_away(self):
        for flags in ((), ("--progress-regex", "z")):
            job = self.start(*flags, "--", "yes")
            job.stdout.read(10)
            job.stdout.close()
            self.assertEqual(job.wait(PATIENCE), 141, job.stderr.read())
            job.stderr.close()


FIXTURE = ROOT / "tests" / "fixtures" / "import" / "h200-ncu-raw.csv"  # of a real Nsight Compute
NCU = """#!{python}
import os, pathlib, subprocess, sys
words = sys.argv[1:]
pathlib.Path({said!r}).open("a").write(" ".join(words) + "\\n")
pathlib.Path({said!r} + ".env").open("a").write(repr([os.environ.get(name) for name in ("LD_PRELOAD", "SHAREWELL_PROFILE_AFTER")]) + "\\n")
value = lambda flag: words[words.index(flag) + 1]
command = words[words.index("--log-file") + 2:]
code = subprocess.run(command, check=False).returncode
table = pathlib.Path({table!r}).read_text()
enough = value("--profile-from-start") == "on" or {warm}
pathlib.Path(value("--log-file")).write_text(table if enough else "==WARNING== No kernels were profiled.\\n")
sys.exit(code)
"""


class Kernels(ProfileTest):
    """--kernels: the job once more under Nsight Compute, played by a script that writes what a real one wrote."""

    def nsight(self, table=FIXTURE, warm=True):
        (self.folder / "bin").mkdir(exist_ok=True)
        self.said = self.folder / "said"
        path = self.folder / "bin" / "ncu"
        path.write_text(NCU.format(python=sys.executable, said=str(self.said), table=str(table), warm=warm))
        path.chmod(0o755)
        self.environment["PATH"] = f"{path.parent}:{self.environment['PATH']}"

    def test_they_are_counted_in_a_run_of_their_own_and_kept_with_the_profile(self):
        self.nsight()
        done, record = self.record(*QUICK, "--kernels", "20", "--", "sh", "-c", "echo out; sleep 1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b"out\n", "the second run's output is not shown")
        said = self.said.read_text()
        self.assertIn("--clock-control none", said, "the card's settings stay as they are")
        self.assertIn("--profile-from-start off --launch-count 20 --kill yes", said)
        self.assertTrue(said.endswith("sh -c echo out; sleep 1\n"), said)
        self.assertGreater(len(record["kernels"]), 0)
        self.assertIn("count 20 kernels with Nsight Compute", done.stderr)
        self.assertRegex(done.stderr, r"kernel +launches")
        self.assertTrue(any("10 s after it had begun to use the GPU" in note for note in record["notes"]), record["notes"])
        stored = subprocess.run([PROGRAM, "profiles", "show", "1", "--json"], env=self.environment, cwd=self.folder,
                                capture_output=True, timeout=PATIENCE, check=True)
        self.assertEqual(json.loads(stored.stdout)["profiles"][0]["kernels"], record["kernels"])

    def test_a_job_that_ends_before_it_is_warm_is_run_again(self):
        self.nsight(warm=False)
        _, record = self.record(*QUICK, "--kernels", "20", "--", "sleep", "1")
        self.assertGreater(len(record["kernels"]), 0)
        self.assertEqual(re.findall(r"--profile-from-start (\w+)", self.said.read_text()), ["off", "on"])
        warm, first = (ast.literal_eval(line) for line in pathlib.Path(f"{self.said}.env").read_text().splitlines())
        self.assertTrue(warm[0].split(":")[0].endswith("/profiler.so"), warm)
        self.assertEqual(float(warm[1]), 10)
        self.assertEqual(first[1], None, "nothing is loaded into it then")
        self.assertTrue(any("ended before it was warm" in note for note in record["notes"]), record["notes"])

    def test_what_nsight_compute_refuses_is_said_and_the_rest_is_kept(self):
        refused = self.folder / "refused.csv"
        refused.write_text("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")
        self.nsight(table=refused)
        done, record = self.record(*QUICK, "--kernels", "20", "--", "sleep", "1")
        self.assertEqual((done.returncode, record["kernels"]), (0, []))
        self.assertIn("kernels were not counted", done.stderr)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", done.stderr)
        self.assertIn("stored as profile 1", done.stderr)

    def test_no_kernel_at_all(self):
        nothing = self.folder / "nothing.csv"
        nothing.write_text("==WARNING== No kernels were profiled.\n")
        self.nsight(table=nothing)
        done, _ = self.record(*QUICK, "--kernels", "20", "--", "sleep", "1")
        self.assertIn("saw no kernel: the job uses no GPU", done.stderr)

    def test_without_nsight_compute_the_job_is_not_run(self):
        self.environment["PATH"] = "/usr/bin:/bin"
        done = self.profile("--kernels", "20", "--", "touch", "ran")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ncu is not in PATH; it comes with the CUDA toolkit", done.stderr)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(self.profile("--kernels", "0", "--", "true").returncode, 2)


class Stopping(ProfileTest):
    @classmethod
    def setUpClass(cls):
        # It takes as long as the grace is; the other tests run meanwhile.
        cls.stubborn = subprocess.Popen(
            [PROGRAM, "profile", *QUICK, "--store", "none", "--", "sh", "-c",
             "trap '' TERM; while :; do sleep 0.1; done"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_zz_one_that_ignores_sigterm(self):
        _, said = self.stubborn.communicate(timeout=PATIENCE)
        self.assertEqual(self.stubborn.returncode, 0)
        self.assertIn("ignored SIGTERM for 10 s and was killed", said.decode())

    def test_signals_are_passed_on(self):
        for number, word in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM")):
            job = self.start("--", "sh", "-c",
                             f"trap 'echo {word}; exit 9' {word}; echo ready; while :; do sleep 0.05; done")
            self.assertEqual(job.stdout.readline(), b"ready\n")
            job.send_signal(number)
            out, said = job.communicate(timeout=PATIENCE)
            self.assertEqual((out, job.returncode), (f"{word}\n".encode(), 9), said)

    def test_what_forks_away_is_watched_and_stopped(self):
        done = self.profile(*QUICK, "--", "sh", "-c", "setsid sleep 300 & echo $!; exit 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(alive(int(done.stdout)))

    def test_it_goes_when_we_are_killed(self):
        job = self.start("--", "sh", "-c", "echo $$; exec sleep 300")
        pid = int(job.stdout.readline())
        job.kill()
        job.communicate()
        deadline = time.monotonic() + PATIENCE
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(alive(pid))


class TheProfile(ProfileTest):
    def test_steps_of_a_progress_file(self):
        done, record = self.record("--interval", "0.1s", "--warmup", "0.5s", "--for", "2s", "--name", "a job",
                                   "--batch", "8", "--", sys.executable, "-c", STEPS)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"")
        self.assertGreater(record["steps_per_second"], 5)
        self.assertLess(record["steps_per_second"], 51)
        self.assertEqual(record["throughput_source"], "progress file")
        self.assertEqual((record["name"], record["batch"], record["exit_code"]), ("a job", 8, None))
        self.assertGreaterEqual(record["window_seconds"], 1.8)
        self.assertGreater(record["cpu_cores"], 0)
        self.assertLess(record["cpu_cores"], 1)
        self.assertGreater(record["host_memory_bytes"], 1e6)
        self.assertIn("kernel", record["environment"])
        self.assertIn("python", record["environment"])
        for part in ("a job, batch 8", "steps/s", "CPU cores", "stored as profile 1"):
            self.assertIn(part, done.stderr)

    def test_steps_of_what_it_prints(self):
        script = "i=0; while :; do i=$((i+10)); echo step $i/1000 'loss 0.1'; sleep 0.02; done"
        _, record = self.record(*QUICK, "--progress-regex", "step (\\d+)/", "--", "sh", "-c", script)
        self.assertGreater(record["steps_per_second"], 10)
        self.assertLess(record["steps_per_second"], 500)
        self.assertEqual(record["throughput_source"], "output")
        script = "while :; do printf '50%%| 12.5it/s\\r' >&2; sleep 0.02; done"
        _, record = self.record(*QUICK, "--rate-regex", "([0-9.]+)it/s", "--", "sh", "-c", script)
        self.assertAlmostEqual(record["steps_per_second"], 12.5, places=3)

    def test_to_the_end(self):
        done, record = self.record("--interval", "0.1s", "--for", "end", "--", "sh", "-c", "sleep 0.5; exit 0")
        self.assertEqual((done.returncode, record["exit_code"], record["settled"]), (0, 0, False))
        self.assertIn("before a steady state", " ".join(record["notes"]))

    def test_one_that_dies_at_once(self):
        done = self.profile("--", "sh", "-c", "exit 4")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"ended after \d+\.\d s, before a steady state")
        self.assertIn("not stored", done.stderr)

    def test_repeats(self):
        done, record = self.record(*QUICK, "--repeat", "2", "--", "sleep", "60")
        self.assertEqual((done.returncode, record["repeats"]), (0, 2))
        self.assertGreaterEqual(record["window_seconds"], 0.8)

    def test_it_is_in_the_store_with_its_samples(self):
        self.assertEqual(self.profile(*QUICK, "--name", "kept", "--", "sleep", "60").returncode, 0)
        listed = subprocess.run([PROGRAM, "profiles", "show", "kept", "--json"], cwd=self.folder,
                                env=self.environment, capture_output=True, timeout=PATIENCE, check=True)
        self.assertEqual(json.loads(listed.stdout)["profiles"][0]["name"], "kept")
        listed = subprocess.run([PROGRAM, "samples", "list", "--json"], cwd=self.folder,
                                env=self.environment, capture_output=True, timeout=PATIENCE, check=True)
        self.assertIn("kept", {series["job"] for series in json.loads(listed.stdout)["series"]})

    def test_a_store_that_does_not_answer_loses_nothing(self):
        done = self.profile(*QUICK, "--store", "postgresql://nobody@127.0.0.1:1/none", "--", "sleep", "60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not stored", done.stderr)
        name = re.search(r"written to (\S+) instead", done.stderr)[1]
        with open(self.folder / name, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["profiles"][0]["name"], "sleep")

    def test_without_a_store(self):
        done = self.profile(*QUICK, "--store", "none", "--", "sleep", "60")
        self.assertNotIn("store", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Predicted(ProfileTest):
    """--model shows the prediction beside what was measured, by the model that --trained names."""

    def setUp(self):
        super().setUp()
        (self.folder / "net.json").write_text(NET, encoding="utf-8")

    def predicted(self, *args):
        """The table of predictions beside what was measured on a (fake) H200."""
        library = pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so"
        if not library.exists():
            self.skipTest(f"{library.name} was not built beside the program")
        idle = ROOT / "tests" / "fixtures" / "nvml" / "h200-idle.json"
        self.environment.update(SHAREWELL_NVML_LIBRARY=str(library), SHAREWELL_FAKE_NVML=str(idle))
        done = self.profile(*QUICK, "--store", "none", "--model", "net.json", *args, "--", "sleep", "60")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = done.stderr[done.stderr.index("nine in ten between"):].splitlines()
        return {cells[0]: cells[2] for line in table if len(cells := re.split(r"\s{2,}", line.strip())) == 4}

    def test_by_a_model_of_ones_own(self):
        shipped = self.predicted()
        self.assertIn("GPU memory", shipped)
        self.assertEqual(self.predicted("--trained", str(ROOT / "data" / "h200" / "model.json")), shipped)
        runs = str(ROOT / "data" / "h200" / "other-first.csv")
        self.succeed("train", runs, "--onto", "shipped", "--out", "other.json", program=LAB)
        other = self.predicted("--trained", "other.json")
        self.assertEqual(list(other), list(shipped))
        self.assertNotEqual(other, shipped)

    def test_a_file_that_is_no_model(self):
        (self.folder / "cut.json").write_text('{"format": "sharewell', encoding="utf-8")
        for path, says in (("gone.json", "no such file"), ("cut.json", "the trained model is damaged"),
                           ("net.json", "the trained model is damaged")):
            done = self.profile("--model", "net.json", "--trained", path, "--", "touch", "ran")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{path}: {says}", done.stderr)
        self.assertIn("--trained requires --model", self.profile("--trained", "gone.json", "--", "touch", "ran").stderr)
        self.assertFalse((self.folder / "ran").exists())

    def test_without_a_gpu_it_says_so(self):
        self.environment.update(SHAREWELL_NVML_LIBRARY="/nowhere.so")
        done = self.profile(*QUICK, "--store", "none", "--model", "net.json", "--", "sleep", "60")
        self.assertIn("not predicted: this machine has no GPU of a model that we know", done.stderr)


class Refused(ProfileTest):
    def test_before_anything_runs(self):
        (self.folder / "script").write_text("#!/no/such/interpreter\n", encoding="utf-8")
        (self.folder / "script").chmod(0o755)
        touch = ("--", "touch", "ran")
        for args, says in (
                ((), "write it after --"),
                (("--",), "write it after --"),
                (("sleep", "1"), "to run after --"),
                (("--", "slep", "1"), "did you mean"),
                (("--", "./none"), "No such file"),
                (("--", "./script"), "interpreter"),
                (("--", "."), "not found"),
                (("--", "./"), "folder"),
                (("--interval", "0.01s", *touch), "--interval"),
                (("--interval", "1h", *touch), "--interval"),
                (("--for", "soon", *touch), "--for"),
                (("--for", "0.1s", *touch), "shorter than the interval"),
                (("--warmup", "x", *touch), "--warmup"),
                (("--repeat", "0", *touch), "--repeat"),
                (("--batch", "-1", *touch), "--batch"),
                (("--progress-regex", "step (", *touch), "at character 6"),
                (("--rate-regex", "it/s", *touch), "group"),
                (("--model", "none.onnx", *touch), "none.onnx"),
                (("--name", "a\x1b[31m", *touch), "control character"),
                (("--nam", "x", *touch), "did you mean '--name'")):
            with self.subTest(args=args):
                done = self.profile("--store", "none", *args)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                self.assertIn(says, done.stderr)
                self.assertFalse((self.folder / "ran").exists())


class OnATerminal(ProfileTest):
    """The whole in a pseudo-terminal of its own, with job control as a shell has it."""

    def play(self, args, steps):
        """`steps`: what to wait for, and what to type then. All that was shown, and the exit code."""
        pid, terminal = pty.fork()
        if pid == 0:
            try:
                os.chdir(self.folder)
                termios.tcsetwinsize(0, (24, 90))
                os.environ.update(self.environment, TERM="xterm")
                os.execv(PROGRAM, [PROGRAM, "profile", "--store", "none", *args])
            finally:
                os._exit(99)
        shown, deadline = b"", time.monotonic() + PATIENCE
        steps = list(steps)
        while time.monotonic() < deadline:
            if steps and steps[0][0] in shown:
                os.write(terminal, steps.pop(0)[1])
            if not select.select([terminal], [], [], 0.05)[0]:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
        return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_the_job_reads_what_is_typed(self):
        shown, code = self.play(["--", "sh", "-c", "echo name?; read x; echo got $x; exit 6"],
                                [(b"name?", b"hello\n")])
        self.assertIn(b"got hello", shown)
        self.assertEqual(code, 6)

    def test_ctrl_c_reaches_the_job_once(self):
        script = "import signal, sys, time\n" \
                 "signal.signal(signal.SIGINT, lambda *_: print('caught' + '-it', flush=True))\n" \
                 "print('ready', flush=True)\n" \
                 "for _ in range(20): time.sleep(0.05)\n" \
                 "sys.exit(9)\n"
        shown, code = self.play(["--", sys.executable, "-c", script], [(b"ready", b"\x03")])
        self.assertEqual(shown.count(b"caught-it"), 1, shown)
        self.assertEqual(code, 9)

    def test_a_terminal_stays_one_when_the_output_is_looked_at(self):
        script = "import os; print('tty', os.isatty(1), os.isatty(2), os.get_terminal_size().columns)"
        shown, code = self.play(["--progress-regex", "step", "--", sys.executable, "-c", script], [])
        self.assertIn(b"tty True True 90", shown)
        self.assertEqual(code, 0)

    def test_a_live_line_is_drawn_and_cleared(self):
        shown, code = self.play([*QUICK, "--", "sleep", "60"], [])
        self.assertRegex(shown, rb"steady \d")
        self.assertIn(b"cores", shown)
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
