#!/usr/bin/env python3
"""Projects with shares of the GPUs and limits of GPUs and time: on a server, and in the simulator."""

import getpass
import json
import os
import pathlib
import signal
import tempfile
import unittest

from program import ProgramTest
from serve_test import ServedTest, Server

ME = getpass.getuser()
SETTINGS = f"""
[projects]
reclaim = true

[limits.user.{ME}]
gpus = 2
job_time = "1h"
gpu_hours_a_week = 100

[projects.vision]
share = 0.5
users = ["{ME}"]

[projects.speech]
share = 0.25
users = ["{ME}", "nobody"]
"""
SLEEP = ("--exclusive", "--cpus", "0.1", "--", "sleep", "600")


class Served(ServedTest):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        cls.addClassCleanup(place.cleanup)
        settings = pathlib.Path(place.name) / "sharewell.toml"
        settings.write_text(SETTINGS, encoding="utf-8")
        cls.server = Server(pathlib.Path(place.name), args=("--config", str(settings)))
        cls.addClassCleanup(cls.end)
        cls.env = {**os.environ, "SHAREWELL_SERVER": cls.server.socket}

    def test_who_is_in_several_projects_says_which(self):
        said = self.refused(2, "submit", *SLEEP)
        self.assertIn(f"{ME} is in 2 projects, so say which this job counts to: --project vision, or --project speech", said)
        self.assertIn("did you mean 'speech'?", self.refused(2, "submit", "--project", "speach", *SLEEP))

    def test_what_is_above_a_limit_is_refused_or_waits(self):
        self.assertIn("ask for 2 at most; an admin can raise limits.gpus",
                      self.refused(1, "submit", "--project", "vision", "--gpus", "3", *SLEEP))
        self.assertIn("asks for 2h of time; the limit for one user is 1h (limits.job_time): give --time 1h",
                      self.refused(1, "submit", "--project", "vision", "--gpus", "1", "--time", "2h", *SLEEP))
        first = self.submit("--project", "speech", *SLEEP)
        self.assertIn("it ends after 1h at the latest (limits.job_time)", self.job(first)["note"])
        self.assertEqual((self.job(first)["project"], self.job(first)["time_limit_seconds"]), ("speech", 3600))
        self.assertRegex(self.said("job", str(first)), r"project +speech\n")
        second = self.submit("--project", "speech", *SLEEP)
        third = self.submit("--project", "vision", *SLEEP)
        said = self.said("why", str(third))
        self.assertIn(f"{ME} may have 2 GPUs at once (limits.gpus), and its jobs that run or are next have 2", said.replace("\n  ", " "))
        self.assertIn("it counts to project vision, which has 0 of the GPUs in use and a share of 1: it goes before projects that have theirs, and takes back what others borrowed",
                      said.replace("\n  ", " "))
        self.wait_for(second, "running")
        told = {row["name"]: (row["limit"], row["used"], row["left"]) for row in self.json("limits")["limits"]}
        self.assertEqual(told["gpus"], (2, 2, 0))
        self.assertEqual(told["job_time"][0], 3600)
        self.assertEqual(told["gpu_hours_a_week"][0], 100)
        table = self.said("limits")
        self.assertIn("what is not used is lent, and taken back", table.replace("\n", " "))
        self.assertRegex(table, r"(?m)^speech +25 % +0\.5 +2 +2 +0 +yes$")
        self.assertRegex(table, r"(?m)^vision +50 % +1 +0 +0 +1 +yes$")
        self.assertRegex(table, r"(?m)^default +25 % +0\.5 +0 +0 +0 +no$")
        self.ask("cancel", str(first))
        self.wait_for(third, "running")
        self.end_all(second, third)

    def test_gpu_hours_are_kept_over_a_restart(self):
        def used():
            return next(row["used"] for row in self.json("limits")["limits"] if row["name"] == "gpu_hours_a_week")
        self.assertIsNotNone(used())
        before = used()
        self.end_all(self.submit("--project", "vision", *SLEEP))
        self.server.kill(signal.SIGTERM)
        self.server.start()
        self.assertGreaterEqual(used(), before)


class Simulated(ProgramTest):
    JOBS = "id,submit_seconds,duration_seconds,gpus,user\n" + "".join(
        f"{user}{i},{i},3600,1,{user}\n" for i in range(20) for user in ("ann", "eve"))
    PROJECTS = '[projects.vision]\nshare = 0.75\nusers = ["ann"]\n'

    def simulate(self, *flags):
        self.write("jobs.csv", self.JOBS)
        return ["simulate", "--trace", "jobs.csv", "--cluster", "1x4xH200", *flags]

    def test_results_by_project(self):
        self.write("p.toml", self.PROJECTS)
        ask = self.simulate("--policy", "slot,sharewell", "--projects", "p.toml")
        document = json.loads(self.succeed(*ask, "--json"))
        for result in document["results"]:
            others, vision = result["by_project"]
            self.assertEqual((others["project"], others["share"], others["jobs"]), ("default", 0.25, 20))
            self.assertEqual((vision["project"], vision["share"], vision["jobs"]), ("vision", 0.75, 20))
            self.assertAlmostEqual(others["gpu_hours"] + vision["gpu_hours"], result["gpu_hours"])
            self.assertLess(vision["wait_mean_seconds"], others["wait_mean_seconds"])
        table = self.succeed(*ask)
        self.assertRegex(table, r"(?m)^vision +75 % +20 +\d")
        self.assertIn("slot, GPU hours", table)

    def test_a_project_takes_back_what_others_borrowed(self):
        jobs = "id,submit_seconds,duration_seconds,gpus,user\n" + "".join(f"eve{i},0,7200,1,eve\n" for i in range(4)) + "ann,60,600,1,ann\n"
        self.write("jobs.csv", jobs)
        for reclaim, waited, stopped in (("true", 540, 1), ("false", 7140, None)):
            self.write("p.toml", f"[projects]\nreclaim = {reclaim}\n{self.PROJECTS}")
            ask = ["simulate", "--trace", "jobs.csv", "--cluster", "1x4xH200", "--policy", "slot", "--projects", "p.toml"]
            result = json.loads(self.succeed(*ask, "--json"))["results"][0]
            self.assertAlmostEqual(result["by_project"][1]["wait_mean_seconds"], waited, delta=1)
            self.assertEqual(result.get("reclaims"), stopped)
            self.assertEqual("stopped for a project below its share" in self.succeed(*ask), stopped is not None)

    def test_without_projects_and_with_one_for_all_nothing_changes(self):
        self.write("p.toml", '[projects.all]\nshare = 1\nusers = ["ann", "eve"]\n')
        timings = {"decision_p50_seconds", "decision_p99_seconds", "jobs_per_cpu_second", "by_project"}

        def results(*flags):
            told = json.loads(self.succeed(*self.simulate("--policy", "slot,pack,sharewell", "--json", *flags)))["results"]
            return [{key: value for key, value in result.items() if key not in timings} for result in told]
        self.assertEqual(results(), results("--projects", "p.toml"))

    def test_what_is_wrong_is_said(self):
        self.write("bad.toml", '[projects.vision]\nshare = 75\nusers = ["ann"]\n')
        said = self.fail_with(2, *self.simulate("--projects", "bad.toml"))
        self.assertIn("bad.toml: line 2: share must be a part of all GPUs, above 0 and at most 1: write share = 0.75 for 75 %", said)
        self.write("bad.toml", f"[projects]\nreclaim = 1\n{self.PROJECTS}")
        self.assertIn("bad.toml: line 2: reclaim must be true or false", self.fail_with(2, *self.simulate("--projects", "bad.toml")))
        self.write("p.toml", self.PROJECTS)
        said = self.fail_with(2, *self.simulate("--policy", "srtf", "--projects", "p.toml"))
        self.assertIn("'srtf' preempts, and projects go with orders that do not: use sharewell", said)
        self.fail_with(2, *self.simulate("--projects", "none.toml"))


if __name__ == "__main__":
    unittest.main()
