#!/usr/bin/env python3
"""report: pages that need nothing else, from the store, from folders and from a server."""

import base64
import html.parser
import pathlib
import re
import subprocess
import sys
import unittest

from api_server import Server
from program import LAB, ProgramTest

# Steps as fast as it is told to.
LOOP = """
import os, sys, time
told = open(os.environ["SHAREWELL_PROGRESS"], "a", buffering=1)
while True:
    time.sleep(0.01 / float(sys.argv[1]))
    told.write("x\\n")
"""
SPEC = f"""
name = "tiny"
command = ["{sys.executable}", "loop.py", "{{speed}}"]
workload = {{ name = "<i>w", batch = 4 }}
seconds = 0.3
warmup = 0.1
interval = 0.1
[axes]
speed = [1, 2, 3]
"""

VALIDATOR = pathlib.Path(__file__).parents[2] / "web/node_modules/.bin/html-validate"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checker(html.parser.HTMLParser):
    """What our pages may not have, beside what the validator finds: scripts, addresses, tags left open, ids twice."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.problems, self.links = [], set(), [], []
        self.feed(text)
        self.close()
        self.problems += [f"not closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.look(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def look(self, tag, attrs):
        if tag in ("script", "iframe", "object", "embed", "img", "link"):
            self.problems.append(f"<{tag}> in a page that needs nothing else")
        for name, value in attrs:
            if name.startswith("on"):
                self.problems.append(f"{tag} runs {name}")
            if name == "id" and value in self.ids:
                self.problems.append(f"id {value} twice")
            if name == "id":
                self.ids.add(value)
            if name in ("href", "src", "xlink:href"):
                self.links.append(value)
                if not re.match(r"#s\d+$|data:text/csv;charset=utf-8;base64,", value):
                    self.problems.append(f"{tag} leads to {value[:60]}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")


class Report(ProgramTest):
    def tearDown(self):
        """A validator made by others, over all pages of the test."""
        pages = sorted(self.folder.rglob("*.html"))
        if pages:
            done = subprocess.run([VALIDATOR, "--preset", "standard,a17y", *map(str, pages)], capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        super().tearDown()

    def page(self, name):
        text = (self.folder / name).read_bytes().decode("utf-8")
        checked = Checker(text)
        self.assertEqual(checked.problems, [])
        for link in checked.links:
            if link.startswith("data:"):
                rows = base64.b64decode(link.split(",", 1)[1], validate=True).decode("utf-8").splitlines()
                self.assertGreaterEqual(len(rows), 2, rows)
        return text

    def store(self):
        for name in ("first", "<script>alert(1)</script>"):
            done = self.run_program("profile", "--name", name, "--store", "p.db", "--for", "1s", "--warmup", "0",
                                    "--interval", "0.2s", "--", "sleep", "20")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_profiles(self):
        self.store()
        self.assertEqual(self.succeed("report", "profile", "first", "--store", "p.db"),
                         "written to report-profile-first.html\n")
        text = self.page("report-profile-first.html")
        self.assertIn("figure 3 of Takayama", text)
        self.assertIn("download=\"cpu-gpu-busy.csv\"", text)
        self.succeed("report", "compare", "1", "2", "--store", "p.db", "--out", "two.html")
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt; (2)", self.page("two.html"))
        (self.folder / "pages").mkdir()
        self.assertEqual(self.succeed("report", "profile", "<script>alert(1)</script>", "--store", "p.db",
                                      "--out", "pages"), "written to pages/report-profile-script_.html\n")
        self.page("pages/report-profile-script_.html")
        self.assertIn("did you mean 'first'?", self.fail_with(2, "report", "profile", "frist", "--store", "p.db"))
        self.assertIn("there is no profile '9'", self.fail_with(2, "report", "compare", "1", "9", "--store", "p.db"))

    def test_simulation(self):
        self.write("jobs.csv", "id,user,submit_seconds,duration_seconds,gpus\n"
                   "a,ann,0,100,1\n<b>,bo,10,100,1\nc,ann,10,50,1\n")
        self.succeed("simulate", "--trace", "jobs.csv", "--cluster", "1x1xV100", "--policy", "slot,srtf+pack",
                     "--out", "results")
        self.assertEqual(self.succeed("report", "simulation", "results/"), "written to report-simulation-results.html\n")
        text = self.page("report-simulation-results.html")
        self.assertIn("Simulation of jobs.csv", text)
        self.assertIn("srtf+pack: waits", text)
        self.assertIn("&lt;b&gt; of bo", text)
        self.assertIn("srtf+pack instead of slot: ", text)
        (self.folder / "empty").mkdir()
        for what, words in (("empty", "has no summary.json"), ("nowhere", "is not a folder"),
                            ("jobs.csv", "is not a folder")):
            self.assertIn(words, self.fail_with(2, "report", "simulation", what))
        self.write("empty/summary.json", "{}")
        self.assertIn("not the summary of a simulation", self.fail_with(2, "report", "simulation", "empty"))
        self.write("results/jobs-slot.csv", "id\n1\n")
        self.assertIn("jobs-slot.csv", self.fail_with(2, "report", "simulation", "results"))

    def test_sweep(self):
        self.write("loop.py", LOOP)
        self.write("s.toml", SPEC)
        done = self.run_program("sweep", "s.toml", "--out", "swept", "--store", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.succeed("report", "sweep", "swept", "--out", "swept.html")
        text = self.page("swept.html")
        self.assertIn("Sweep swept", text)
        self.assertIn("&lt;i&gt;w", text)
        self.assertIn("has no cells.csv", self.fail_with(2, "report", "sweep", "."))

    def test_a_server_s_job_and_week(self):
        server = Server(self.folder)
        self.addCleanup(server.stop)
        bad = "<script>alert(1)</script>"
        done = self.run_program("submit", "--wait", "--name", bad, "--gpu-memory", "1GB", "--server",
                                str(server.socket), "--", "sh", "-c", f"echo '{bad}'; echo 'to err' >&2; sleep 0.5; exit 3")
        self.assertEqual(done.returncode, 3, done.stderr)
        asked = ("--server", str(server.socket))
        self.assertEqual(self.succeed("report", "job", "1", *asked, "--store", "s.db"), "written to report-job-1.html\n")
        text = self.page("report-job-1.html")
        self.assertIn("Job 1: &lt;script&gt;", text)
        self.assertIn("failed", text)
        self.assertIn("to err", text)
        self.assertIn("Unknown: the store has no samples", text)
        self.succeed("report", "week", *asked, "--out", "week.html")
        text = self.page("week.html")
        self.assertIn("The week on ", text)
        self.assertIn("1, of which 1 failed", text)
        # It had its GPU alone: exclusive slots would have been the same, to the last digit.
        saved = server.ask("GET", "/api/v1/usage").json()["savings"]
        self.assertEqual((saved["jobs"], saved["shared"], saved["saved"]["gpu_hours"]), (1, 0, 0), saved)
        self.assertIn("1 job held GPUs in this time, and 0 of them shared one.", text)
        self.assertIn("playing these jobs again with exclusive slots", text)
        self.assertIn(f"0.00 of {saved['exclusive']['gpu_hours']:.2f} GPU hours; energy: unknown", text)
        self.assertIn("there is no job 9;", self.fail_with(2, "report", "job", "9", *asked))
        self.assertIn("'x'", self.fail_with(2, "report", "job", "x", *asked))

    def test_what_is_wrong_is_said(self):
        for args, words in ((["profil", "x"], "did you mean 'profile'?"), (["profile"], "give the id or the name"),
                            (["compare", "a"], "two profiles"), (["week", "3"], "nothing may stand behind it"),
                            (["simulation", "x", "--days", "3"], "--days is for week"),
                            (["week", "--days", "0"], "--days"),
                            (["profile", "x", "--store", "none.db"], "there is no store")):
            with self.subTest(args=args):
                self.assertIn(words, self.fail_with(2, "report", *args))
        self.assertIn("sharewell serve", self.fail_with(3, "report", "week", "--server", str(self.folder / "no.sock")))

    def test_the_papers(self):
        self.assertEqual("written to papers.html\n", self.succeed("reproduce", "dube", "--html", "papers.html", program=LAB))
        text = self.page("papers.html")
        self.assertIn("Table 1", text)
        self.assertIn("not reproduced", text)
        self.assertIn("its folder does not exist", self.fail_with(2, "reproduce", "dube", "--html", "no/such/file.html", program=LAB))

    def test_an_out_that_cannot_be_written(self):
        self.write("jobs.csv", "id,submit_seconds,duration_seconds,gpus\na,0,100,1\n")
        self.succeed("simulate", "--trace", "jobs.csv", "--cluster", "1x1xV100", "--out", "results")
        self.assertIn("its folder does not exist; create it first",
                      self.fail_with(2, "report", "simulation", "results", "--out", "no/such/file.html"))
        self.assertIn("/dev/full", self.fail_with(1, "report", "simulation", "results", "--out",
                                                          "/dev/full"))


if __name__ == "__main__":
    unittest.main()
