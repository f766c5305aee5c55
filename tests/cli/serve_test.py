#!/usr/bin/env python3
"""A real server on simulated GPUs, and everything that a user types to it."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock
import urllib.error
import urllib.request

from loopback import free_ports
from program import PROGRAM, ProgramTest

PATIENCE = 60
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "fuzz" / "corpus" / "onnx" / "enc_256x2.onnx"
COMMANDS = (["jobs"], ["job", "1"], ["why", "1"], ["logs", "1"], ["cancel", "1"], ["hold", "1"], ["release", "1"], ["pause", "1"], ["resume", "1"],
            ["top"], ["drain", "0"], ["whatif"], ["submit", "--", "true"], ["submit", "--dry-run", "--", "true"])


class Server:
    """`sharewell serve` with two GPUs that are not there, on a folder of its own."""

    def __init__(self, folder, grace="1s", args=()):
        self.folder = folder
        self.args = args
        self.grace = grace
        self.socket = str(folder / "s")
        self.process = None
        self.start()

    def start(self):
        self.errors = open(self.folder / "server.log", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--gpus", "2xH200", "--store", str(self.folder / "store.db"), "--socket", self.socket,
             "--listen", "127.0.0.1:0", "--grace", self.grace, *self.args],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        end = time.monotonic() + PATIENCE
        while subprocess.run([PROGRAM, "jobs", "--server", self.socket], capture_output=True).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError((self.folder / "server.log").read_text(encoding="utf-8"))
            time.sleep(0.02)

    def kill(self, with_signal=signal.SIGKILL):
        self.process.send_signal(with_signal)
        self.process.wait(timeout=PATIENCE)
        self.errors.close()


class ServedTest(ProgramTest):
    """All tests of a class speak to one server."""

    grace = "1s"

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        cls.addClassCleanup(place.cleanup)
        cls.server = Server(pathlib.Path(place.name), cls.grace)
        cls.addClassCleanup(cls.end)
        cls.env = {**os.environ, "SHAREWELL_SERVER": cls.server.socket}

    @classmethod
    def end(cls):
        """No process may outlive the test."""
        listed = cls.run_at(cls.server.folder, "jobs", "--json")
        live = [str(job["number"]) for job in json.loads(listed.stdout)["jobs"]] if listed.returncode == 0 else []
        if live:
            cls.run_at(cls.server.folder, "cancel", *live)
            end = time.monotonic() + 10
            while json.loads(cls.run_at(cls.server.folder, "jobs", "--json").stdout)["jobs"]:
                if time.monotonic() > end:
                    break
                time.sleep(0.05)
        cls.server.kill(signal.SIGTERM)

    @classmethod
    def run_at(cls, folder, *args):
        return subprocess.run([PROGRAM, *args], cwd=folder, env=cls.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False, encoding="utf-8", errors="surrogateescape")

    def ask(self, *args, code=0):
        done = self.run_at(self.folder, *args)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done

    def said(self, *args):
        return self.ask(*args).stdout

    def refused(self, code, *args):
        done = self.ask(*args, code=code)
        self.assertEqual(done.stdout, "", args)
        self.assertTrue(done.stderr.startswith("sharewell: "), done.stderr)
        return done.stderr

    def json(self, *args):
        document = json.loads(self.said(*args, "--json"))
        self.assertEqual(next(iter(document.items())), ("schema", 1))
        return document

    def submit(self, *args):
        """The job's number."""
        return self.numbers(*args)[0]

    def numbers(self, *args):
        at = args.index("--")
        document = json.loads(self.said("submit", *args[:at], "--json", *args[at:]))
        return [job["number"] for job in document["jobs"]]

    def job(self, number):
        return self.json("job", str(number))

    def wait_for(self, number, *phases):
        end = time.monotonic() + PATIENCE
        while True:
            job = self.job(number)
            if job["phase"] in phases:
                return job
            self.assertLess(time.monotonic(), end, job)
            time.sleep(0.03)

    def wait_over(self, number):
        return self.wait_for(number, "finished", "failed", "cancelled")

    def end_all(self, *numbers):
        self.ask("cancel", *map(str, numbers))
        for number in numbers:
            self.wait_over(number)


CPU = ("--gpus", "0", "--cpus", "0.1")


class Limits(ServedTest):
    def test_the_table(self):
        """Whoever started the server is an admin of it, root or not."""
        table = re.sub(r"\ALimits of '[^']*'", "Limits of 'ann'", self.said("limits"))
        # What asking has cost so far.
        table = re.sub(r"(?m)^(server_seconds_per_minute +40 s a minute) +[\d.]+ s +[\d.]+ s ", r"\1      0 s     40 s ", table)
        self.assert_golden("limits-table.txt", table)

    def test_what_is_used(self):
        number = self.submit("--hold", *CPU, "--", "true")
        told = {row["name"]: (row["limit"], row["used"], row["left"]) for row in self.json("limits")["limits"]}
        self.assertEqual(told["queued_jobs"], (50000, 1, 49999))
        self.assertEqual(told["connections"], (128, 1, 127))
        self.assertEqual(told["streams"], (128, 0, 128))
        self.assertEqual(told["log_bytes"][1:], (None, None))
        limit, used, left = told["server_seconds_per_minute"]
        self.assertLess(used, 20)
        self.assertAlmostEqual(used + left, limit)
        self.end_all(number)


class NoGuests(ServedTest):
    def test_a_job_says_that_it_wants_none(self):
        number = self.submit("--hold", "--no-guests", *CPU, "--", "true")
        job = self.job(number)
        self.assertEqual((job["no_guests"], job["guest_memory_bytes"], job["broke_gpu"]), (True, None, False))
        self.assertIn("no guests beside it", self.said("job", str(number)))
        self.end_all(number)

    def test_settings_say_how_unknown_jobs_start(self):
        """`sharewell limits` shows it; what is wrong is refused with its line."""
        settings = pathlib.Path(self.folder) / "own.toml"
        settings.write_text('[sharing]\nunknown = "alone"\n', encoding="ascii")
        with tempfile.TemporaryDirectory() as place:
            server = Server(pathlib.Path(place), args=("--config", str(settings)))
            said = subprocess.run([PROGRAM, "limits", "--server", str(server.socket)], capture_output=True, check=True,
                                  timeout=PATIENCE, encoding="utf-8").stdout
            server.kill(signal.SIGTERM)
            self.assertIn('waits for an idle GPU (unknown = "alone", from [sharing])', said)
        settings.write_text('[sharing]\nunknown = "never"\n', encoding="ascii")
        refused = self.refused(2, "serve", "--config", str(settings), "--gpus", "1xH200", "--store", "own.db", "--socket", "own.sock")
        self.assertIn("""line 2: unknown must be "guest" or "alone", not 'never'""", refused)


class OneJob(ServedTest):
    def test_from_submission_to_its_logs(self):
        done = self.ask("submit", "--name", "hello", "--wait", "--", "sh", "-c", "echo out; echo err >&2; pwd")
        number = re.search(r"^job (\d+) hello: starts on GPU \d \(simulated H200\)", done.stderr)[1]
        self.assertIn("it is assumed to fill its GPU", done.stderr)
        self.assertRegex(done.stdout, rf"^job {number} hello finished after ")
        logs = self.ask("logs", number)
        self.assertEqual((logs.stdout, logs.stderr), (f"out\n{self.folder}\n", "err\n"))
        self.assertEqual(self.said("logs", number, "--err"), "err\n")
        self.assertEqual(self.said("logs", number, "--tail", "1"), f"{self.folder}\n")
        self.assertEqual(self.said("logs", number, "-f"), f"out\n{self.folder}\n")
        page = self.said("job", number)
        for words in ("hello", "finished after", "sh -c 'echo out; echo err >&2; pwd'", "GPU 0 (simulated H200)"):
            self.assertIn(words, page)
        self.assertTrue(self.said("why", number).strip())
        self.assertIsInstance(self.json("why", number)["why"], list)
        self.assertRegex(self.said("jobs"), rf"(?m)^ *{number}  hello ")
        self.assertNotIn(int(number), [job["number"] for job in self.json("jobs")["jobs"]])
        self.assertIn(int(number), [job["number"] for job in self.json("jobs", "--all")["jobs"]])

    def test_a_model_file_says_what_it_needs(self):
        done = self.ask("submit", "--wait", "--model", str(MODEL), "--batch", "8", "--precision", "bf16", "--", "true")
        self.assertRegex(done.stderr, r"(?s)needs [\d.]+ GiB of GPU memory \(at most .*predicted:\s'enc_256x2")
        needs = self.job(done.stderr.split()[1])["needs"]
        self.assertEqual((needs["source"], needs["batch"], needs["gpu"]), ("predicted", 8, "H200"))
        self.assertGreater(needs["gpu_memory_upper_bytes"], needs["gpu_memory_bytes"])

    def test_a_told_step_says_what_it_needs(self):
        """As it was told: its batch and loader need no flag, and a flag that says something else is refused."""
        told = ["--model", str(ROOT / "tests" / "fixtures" / "told" / "resnet50_b16.json")]
        done = self.ask("submit", "--wait", *told, "--", "true")
        needs = self.job(done.stderr.split()[1])["needs"]
        self.assertEqual((needs["source"], needs["batch"], needs["gpu"]), ("predicted", 16, "H200"))
        self.assertIn("batch", self.ask("submit", *told, "--batch", "32", "--", "true", code=2).stderr)
        self.assertIn("workers", self.ask("submit", *told, "--workers", "2", "--", "true", code=2).stderr)

    def test_the_exit_code_is_the_jobs(self):
        self.assertIn("failed with exit code 7", self.ask("submit", "--wait", *CPU, "--", "sh", "-c", "exit 7",
                                                          code=7).stdout)
        document = json.loads(self.ask("submit", "--wait", "--json", *CPU, "--", "false", code=1).stdout)
        self.assertEqual([job["phase"] for job in document["jobs"]], ["failed"])

    def test_the_environment_is_what_is_documented_and_what_was_given(self):
        number = self.submit(*CPU, "--env", "GIVEN=a b", "--env", "SHAREWELL_SERVER", "--", "env")
        self.wait_over(number)
        lines = self.said("logs", str(number)).splitlines()
        self.assertIn("GIVEN=a b", lines)
        self.assertIn(f"PATH={os.environ['PATH']}", lines)
        self.assertIn(f"SHAREWELL_SERVER={self.server.socket}", lines)
        self.assertNotIn("PYTHONDONTWRITEBYTECODE", "".join(lines))

    def test_logs_come_while_they_are_written_and_unchanged(self):
        code = "import sys,time\nfor i in range(5):\n sys.stdout.buffer.write(b'\\xff%d\\r\\n'%i)\n sys.stdout.flush()\n time.sleep(.1)"
        number = self.submit(*CPU, "--", "python3", "-c", code)
        done = subprocess.run([PROGRAM, "logs", "-f", str(number)], env=self.env, capture_output=True, timeout=PATIENCE,
                              check=True)
        self.assertEqual(done.stdout, b"".join(b"\xff%d\r\n" % i for i in range(5)))

    def test_a_cancelled_job_is_told_so(self):
        number = self.submit(*CPU, "--", "sleep", "100")
        self.wait_for(number, "running")
        self.assertRegex(self.said("cancel", str(number)), rf"^job {number} sleep 100: ")
        self.assertEqual(self.wait_over(number)["phase"], "cancelled")
        self.assertIn("is over", self.refused(1, "cancel", str(number)))


class OverHttp(ServedTest):
    def test_anybody_reads_and_a_token_writes(self):
        url = re.search(r"http://127\.0\.0\.1:\d+/api/v1", (self.server.folder / "server.log").read_text())[0]
        self.assertIn("No jobs", self.said("jobs", "--server", url))
        self.assertIn("token", self.refused(1, "submit", "--server", url, *CPU, "--", "true"))
        token = self.said("token", "create", "--store", str(self.server.folder / "store.db"))
        self.write("token", token)
        with unittest.mock.patch.dict(self.env, SHAREWELL_TOKEN_FILE=str(self.folder / "token")):
            self.assertIn("finished", self.said("submit", "--wait", "--server", url, *CPU, "--", "true"))
            self.write("token", "wrong")
            self.refused(1, "submit", "--server", url, *CPU, "--", "true")
            os.remove(self.folder / "token")
            self.assertIn("SHAREWELL_TOKEN_FILE", self.refused(2, "jobs", "--server", url))


class Queue(ServedTest):
    def test_a_full_machine(self):
        """Two have the GPUs for themselves, the third waits and says why."""
        running = [self.submit("--exclusive", "--", "sleep", "100") for _ in range(2)]
        done = self.said("submit", "--exclusive", "--name", "third", "--", "sleep", "100")
        self.assertRegex(done, r"^job \d+ third: waits: \w+")
        third = int(done.split()[1])
        self.assertRegex(self.said("jobs"), rf"(?m)^ *{third}  third .* waiting ")
        self.assertTrue(self.said("why", str(third)).strip())
        top = self.said("top")
        for number in running:
            self.assertRegex(top, rf"(?m)^ *[01]  H200 \(simulated\) .* {number}  sleep 100 ")
        self.assertEqual([gpu["jobs"] for gpu in self.json("top")["gpus"]], [[number] for number in running])
        self.assertIn("has not run: waits", self.ask("logs", str(third)).stderr)
        dry = self.said("submit", "--dry-run", "--exclusive", "--", "sleep", "1")
        self.assertRegex(dry, r"^would ")
        self.assertEqual(len(self.json("jobs")["jobs"]), 3)  # nothing was submitted

        done = self.ask("cancel", str(running[0]), "99999", code=4)
        self.assertIn(f"job {running[0]} ", done.stdout)
        self.assertIn("there is no job 99999; the last one is", done.stderr)
        self.wait_for(third, "running")
        self.ask("cancel", str(running[1]), str(third))
        for number in (*running, third):
            self.wait_over(number)
        self.assertIn("start now", self.said("submit", "--dry-run", "--", "sleep", "1"))

        table = self.said("whatif", "--policy", "slot,sharewell")
        for policy in ("slot", "sharewell"):
            self.assertIn(policy, table)
        names = [row["name"] for row in self.json("whatif", "--policy", "slot", "--days", "1")["policies"]]
        self.assertEqual(names, ["slot"])
        self.assertIn("did you mean 'slot'", self.refused(2, "whatif", "--policy", "slt"))

    def test_who_waits_is_told_when_it_should_start(self):
        """Behind a time limit the limit is the latest."""
        running = [self.submit("--exclusive", "--time", "1h", "--", "sleep", "100") for _ in range(2)]
        done = self.said("submit", "--exclusive", "--name", "third", "--", "sleep", "100")
        about = r"should\s+start\s+in\s+about\s+(1h\s00m|\d\d\smin),\s+as\s+believed\s+now"
        self.assertRegex(done, rf"^job \d+ third: waits: [^;]+;\s+{about}\n")
        third = int(done.split()[1])
        expected = self.job(third)["expected_start_ms"]
        self.assertTrue(3000 < expected / 1e3 - time.time() < 3601, expected)
        self.assertRegex(self.said("job", str(third)), about)
        self.assertRegex(self.said("why", str(third)), f"(?m)^it {about}$")
        self.assertRegex(self.said("jobs"), rf"(?sm) starts in .*\n *{third}  third .* (1h 00m|\d\d min)( |$)")
        listed = {job["number"]: job["expected_start_ms"] for job in self.json("jobs")["jobs"]}
        self.assertEqual([listed[number] for number in running], [None, None])
        self.assertAlmostEqual(listed[third], expected, delta=60e3)
        self.end_all(*running, third)

    def test_u4_who_has_no_time_takes_no_estimate_from_those_before_it(self):
        """One without --time comes last: those before it keep their starts, and its own does not ignore them."""
        all_gpus = ("--exclusive", "--gpus", "2")
        running = self.submit(*all_gpus, "--time", "1h", "--", "sleep", "100")
        waiting = [self.submit(*all_gpus, "--time", "30m", "--", "sleep", "100") for _ in range(3)]
        waiting.append(self.submit(*all_gpus, "--", "sleep", "100"))
        for hours, number in zip((1, 1.5, 2, 2.5), waiting, strict=True):
            expected = self.job(number)["expected_start_ms"]
            self.assertIsNotNone(expected, number)
            self.assertAlmostEqual(expected / 1e3 - time.time(), hours * 3600, delta=120)
        self.assertRegex(self.said("why", str(waiting[-1])), r"(?s)3 jobs go before it.*start in about 2h (30|29)m")
        # Who comes behind it waits for its end, which nobody knows.
        after = self.submit(*all_gpus, "--time", "30m", "--", "sleep", "100")
        self.assertIsNone(self.job(after)["expected_start_ms"])
        self.assertIsNotNone(self.job(waiting[0])["expected_start_ms"])
        self.end_all(running, *waiting, after)

    def test_behind_a_job_of_unknown_length_nobody_knows(self):
        running = [self.submit("--exclusive", "--", "sleep", "100") for _ in range(2)]
        done = self.said("submit", "--exclusive", "--name", "third", "--", "sleep", "100")
        third = int(done.split()[1])
        self.assertRegex(done, r"^job \d+ third: waits: ")
        for words in (done, *(self.said(command, str(third)) for command in ("job", "why")), self.said("jobs")):
            self.assertNotRegex(words, r"should\s+start|starts in")
        self.assertIsNone(self.job(third)["expected_start_ms"])
        self.end_all(*running, third)

    def test_hold_release_and_after(self):
        first = self.submit(*CPU, "--hold", "--", "true")
        second = self.submit(*CPU, "--hold", "--", "true")
        both = self.submit(*CPU, "--after", f"{first},{second}", "--", "true")
        self.assertEqual(self.job(both)["reason"], f"waits for jobs {first}, {second}")
        self.assertEqual(self.job(both)["hold"], {"kind": "after", "job": first, "others": [second]})
        self.ask("cancel", str(second))
        then = self.submit(*CPU, "--after", str(first), "--", "true")
        self.assertEqual({self.job(first)["phase"], self.job(then)["phase"]}, {"held"})
        self.assertIn("held", self.said("hold", str(first)))
        self.assertIn(f"job {first} true", self.said("release", str(first)))
        self.assertEqual(self.wait_over(then)["phase"], "finished")
        self.assertGreaterEqual(self.job(then)["started_ms"], self.job(first)["ended_ms"])
        self.refused(1, "release", str(first))
        self.assertIn("--after: 'x' is not a job", self.refused(2, "submit", "--after", "x", "--", "true"))

    def test_drained(self):
        try:
            self.assertEqual(self.said("drain", "0"), "GPU 0 (simulated H200) takes no new jobs\n")
            self.assertTrue(self.json("top")["gpus"][0]["drained"])
            number = self.submit("--", "true")
            self.assertEqual(self.wait_over(number)["gpus"][0]["index"], 1)
        finally:
            self.assertEqual(self.said("drain", "0", "--undo"), "GPU 0 (simulated H200) takes jobs again\n")
        self.assertIn("there is no GPU '7'; there are 0, 1", self.refused(2, "drain", "7"))

    def test_an_array_is_a_grid(self):
        numbers = self.numbers(*CPU, "--array", "lr=0.1,1e-3", "--array", "seed=5-6", "--env", "SEED={seed}", "--",
                               "sh", "-c", "echo {lr} $SEED {index} $SHAREWELL_ARRAY_INDEX")
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 4)))
        for number in numbers:
            self.wait_over(number)
        self.assertEqual([self.said("logs", str(number)) for number in numbers],
                         ["0.1 5 0 0\n", "0.1 6 1 1\n", "1e-3 5 2 2\n", "1e-3 6 3 3\n"])
        self.assertEqual(self.job(numbers[3])["name"], "echo 1e-3 $SEED 3 $SHAREWELL_ARRAY_INDEX lr=1e-3 seed=6")
        held = self.numbers(*CPU, "--hold", "--array", "0-2", "--", "sleep", "9")
        self.ask("cancel", f"{held[0]}-{held[-1]}")
        self.assertEqual([self.wait_over(number)["phase"] for number in held], ["cancelled"] * 3)
        self.assertIn("range", self.refused(2, "cancel", "5-2"))
        done = self.ask("submit", "--wait", *CPU, "--array", "0-2", "--", "sh", "-c", "exit {index}", code=1)
        self.assertRegex(done.stderr, r"^jobs \d+ to \d+: (all 3|\d start)")


class Refused(ServedTest):
    def test_what_makes_no_sense(self):
        for args, words in ((["--"], "no command is given"), (["--", "pyhton3"], "pyhton3"),
                            (["true"], "write the command to run after --"),
                            (["--gpus", "-1", "--", "true"], "--gpus: '-1'"), (["--gpus", "65", "--", "true"], "0 to 64"),
                            (["--gpu-memory", "10", "--", "true"], "with its unit, like 10GB"),
                            (["--memory", "10X", "--", "true"], "--memory: '10X'"),
                            (["--cpus", "many", "--", "true"], "--cpus (or auto): 'many'"),
                            (["--time", "0", "--", "true"], "--time: '0'"),
                            (["--time", "5", "--", "true"], "write 5m for minutes, 5s for seconds"),
                            (["--model", str(MODEL), "--batch", "999999", "--", "true"], "use a smaller --batch, or give --gpu-memory"),
                            (["--max-slowdown", "0.5", "--", "true"], "from 1 to 100"),
                            (["--sm-share", "60", "--", "true"], "a percentage from 1 to 100, like 60%"),
                            (["--sm-share", "60%", "--gpus", "2", "--", "true"], "give --gpus 1"),
                            (["--priority", "1.5", "--", "true"], "whole number"),
                            (["--env", "=x", "--", "true"], "--env: '=x'"),
                            (["--env", "NO_SUCH_ONE", "--", "true"], "is not set here"),
                            (["--array", "0-10000", "--", "true"], "more than 10000 jobs"),
                            (["--array", "lr=1,2", "--", "true"], "nothing uses {lr}"),
                            (["--batch", "8", "--", "true"], "--model"),
                            (["--model", "none.onnx", "--", "true"], "none.onnx"),
                            (["--model", "a", "--profile", "b", "--", "true"], "--profile"),
                            (["--after", "99999", "--", "true"], "job 99999"),
                            (["--gpus", "3", "--", "true"], "3"), (["--gpu-model", "H900", "--", "true"], "H900"),
                            (["--dry-run", "--wait", "--", "true"], "--dry-run")):
            with self.subTest(args=args):
                self.assertIn(words, self.refused(2, "submit", *args))
        self.assertEqual(self.json("jobs", "--all")["jobs"], [])

    def test_an_image_needs_a_container_runtime(self):
        self.server.kill(signal.SIGTERM)
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            self.server.start()
        message = self.refused(2, "submit", "--image", "docker.io/library/debian:12", "--", "true")
        self.assertIn("--image: an image needs podman, docker or apptainer", message)

    def test_a_job_that_is_not_there(self):
        for command in ("job", "why", "logs", "cancel", "hold", "release"):
            with self.subTest(command=command):
                self.assertIn("there is no job 99; none was submitted yet", self.refused(2, command, "99"))
                for number in ("x", "0", "1.5", "99999999999999999999"):
                    self.assertIn("give its number", self.refused(2, command, number))
        self.refused(2, "jobs", "--limit", "0")
        self.refused(2, "logs", "1", "--tail", "x")
        self.refused(2, "whatif", "--days", "0")

    def test_a_second_server_in_the_folder(self):
        other = self.server.folder / "other.db"
        before = sorted(self.server.folder.iterdir())
        for existed in (False, True):
            with self.subTest(existed=existed):
                if existed:
                    other.touch()
                message = self.refused(1, "serve", "--gpus", "1xH200", "--store", str(other), "--socket",
                                       str(self.folder / "s2"), "--listen", "127.0.0.1:0")
                self.assertIn("give each store a folder of its own", message)
                if not existed:
                    self.assertEqual(sorted(self.server.folder.iterdir()), before, "nothing is left behind")
        message = self.refused(1, "serve", "--gpus", "1xH200", "--store", str(self.server.folder / "store.db"), "--socket",
                               str(self.folder / "s2"), "--listen", "127.0.0.1:0")
        self.assertIn("another server has this store", message)

    def test_health_is_told_to_anybody(self):
        folder = self.folder / "h"
        folder.mkdir()
        port = free_ports(1)
        server = Server(folder, args=("--health", f"0.0.0.0:{port}"))
        self.addCleanup(server.kill)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE) as answer:
            self.assertEqual((answer.status, answer.read()), (200, b"ok\n"))
        with self.assertRaisesRegex(urllib.error.HTTPError, "404"):  # and nothing else
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE)
        for address, words in (("nowhere", "--health"), (f"127.0.0.1:{port}", "--health")):
            said = self.run_program("serve", "--gpus", "1xH200", "--store", "other.db", "--socket", "o", "--listen", "none", "--health", address)
            self.assertIn(said.returncode, (1, 2))
            self.assertIn(words, said.stderr)

    def test_no_server(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                at = command.index("--") if "--" in command else len(command)
                message = self.refused(3, *command[:at], "--server", str(self.folder / "none"), *command[at:])
                self.assertIn("start one: sharewell serve", message)
        self.assertIn("http://localhost:1", self.refused(2, "jobs", "--server", "localhost:1"))
        self.refused(3, "jobs", "--server", "http://127.0.0.1:1")


class Killed(ServedTest):
    def test_nothing_is_lost(self):
        """kill -9 in the middle: what ran goes on, what ended meanwhile has its code, what waited waits."""
        runs = self.submit(*CPU, "--", "sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 5")
        ends = self.submit(*CPU, "--", "sh", "-c", "sleep 0.3; exit 3")
        held = self.submit(*CPU, "--hold", "--", "true")
        for number in (runs, ends):
            self.wait_for(number, "running", "failed")
        with subprocess.Popen([PROGRAM, "logs", "-f", str(runs)], env=self.env, stdout=subprocess.PIPE) as follower, \
                subprocess.Popen([PROGRAM, "submit", "--wait", "--after", str(runs), *CPU, "--", "true"], env=self.env,
                                 cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as waiter:
            after = int(waiter.stderr.readline().split()[1])
            self.assertEqual(follower.stdout.readline(), b"begun\n")
            self.server.kill()
            self.assertIn("start one", self.refused(3, "jobs"))
            time.sleep(0.4)
            self.server.start()
            self.assertEqual(self.wait_over(ends)["exit_code"], 3)
            self.assertEqual([self.job(number)["phase"] for number in (runs, held, after)], ["running", "held", "held"])
            self.assertEqual(self.job(runs)["attempt"], 1)
            self.write("go", "")
            self.assertEqual(self.wait_over(runs)["exit_code"], 5)
            self.assertEqual(follower.communicate(timeout=PATIENCE)[0], b"done\n")
            self.ask("release", str(held))
            self.assertEqual(self.wait_over(held)["phase"], "finished")
            self.wait_over(after)  # whatever becomes of one whose forerunner failed
            waiter.communicate(timeout=PATIENCE)
        self.assertEqual(len(self.json("jobs", "--all")["jobs"]), 4)


class LeavingTest(ServedTest):
    """What is on its way out, and what is gone."""

    grace = "60s"
    stubborn = ("sh", "-c", "trap '' TERM; while [ ! -e go ]; do sleep 0.02; done")

    def test_a_job_that_is_stopping_says_so_and_why(self):
        late = self.submit("--gpus", "0", "--time", "1s", "--", *self.stubborn)
        self.wait_for(late, "stopping")
        self.assertRegex(self.said("jobs"), r"(?s)\bstopping\b.*its time limit \(1 s\) is over")
        self.assertIn("is stopping: its time limit (1 s) is over", self.said("job", str(late)))
        self.assertIn("its time limit (1 s) is over", self.said("why", str(late)))
        self.server.kill()
        self.server.start()  # the next server knows it too, and does not start it again
        self.wait_for(late, "stopping")
        (self.folder / "go").touch()
        self.assertEqual(self.wait_for(late, "failed")["note"], "its time limit (1 s) is over")
        self.assertEqual(self.job(late)["attempt"], 1)

        (self.folder / "go").unlink()
        unwanted = self.submit("--gpus", "0", "--", *self.stubborn)
        me = self.wait_for(unwanted, "running")["user"]
        self.assertIn(f"is stopping: cancelled by {me}", self.said("cancel", str(unwanted)))
        self.assertRegex(self.said("jobs"), rf"(?s)\bstopping\b.*cancelled by {re.escape(me)}")
        (self.folder / "go").touch()
        self.assertEqual(self.wait_for(unwanted, "cancelled")["note"], f"cancelled by {me}")

    def test_logs_are_kept_for_a_month(self):
        old, young, runs = (self.submit("--gpus", "0", "--", "sh", "-c", f"echo words; {rest}")
                            for rest in ("true", "true", "sleep 1000"))
        for number, phase in ((old, "finished"), (young, "finished"), (runs, "running")):
            self.wait_for(number, phase)
        logs, = (self.server.folder / "logs").glob(f"store-*/{os.geteuid()}")
        month_ago = time.time() - 31 * 86400
        for number in (old, runs):
            for path in (*(logs / str(number)).iterdir(), logs / str(number)):
                os.utime(path, (month_ago, month_ago))
        self.server.kill()
        self.server.start()
        end = time.monotonic() + PATIENCE
        while (logs / str(old)).exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        for args in ((), ("-f",), ("--tail", "3"), ("--err",)):
            self.assertIn(f"the logs of job {old} are not kept any more: they go 30 days after",
                          self.refused(1, "logs", str(old), *args))
        self.assertEqual(self.said("logs", str(young)), "words\n")
        self.assertEqual(self.said("logs", str(runs)), "words\n")
        self.assertEqual(self.job(old)["phase"], "finished")


if __name__ == "__main__":
    unittest.main()
