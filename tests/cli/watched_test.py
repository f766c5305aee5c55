#!/usr/bin/env python3
"""Jobs that are watched from inside: what they tell of their steps, what is believed of them then, and how the next of their
kind is recognised. With the real PyTorch of Debian, and with a script that speaks to the watcher's pipe itself."""

import json
import os
import pathlib
import subprocess
import time
import unittest

from program import PROGRAM
from serve_test import ServedTest

PATIENCE = 60
DEBIAN_PYTHON = "/usr/bin/python3"  # has python3-torch (tools/setup)

TRAIN = """\
import sys, time, torch
from torch import nn

torch.manual_seed(int(sys.argv[1].split("=")[1]))
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
data = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(4096, 256), torch.randint(10, (4096,))), batch_size=32)
end = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else 0
for step, (x, y) in enumerate(batch for _ in range(1000) for batch in data):
    if step >= 20 and time.monotonic() >= end:
        break
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
    if end:
        time.sleep(0.05)
print("done after", step)
"""

# What a watcher would say, without one.
TELLS = """\
import json, os, sys, time
step = json.load(open("step.json"))
text = json.dumps(step)
with open(os.environ["SHAREWELL_WATCH_PIPE"], "wb", buffering=0) as pipe:
    pipe.write(b"+2\\n")
    pieces = [text[at:at + 2000] for at in range(0, len(text), 2000)]
    for number, piece in enumerate(pieces):
        pipe.write(f"doc {os.getpid()}.1 {number} {int(number == len(pieces) - 1)} {piece}\\n".encode())
    for _ in range(int(sys.argv[1])):
        time.sleep(0.1)
        pipe.write(b"+3\\n")
"""


def linear(rows, columns, batch, kind, passed="forward"):
    return {"op": kind, "pass": passed, "count": 1,
            "in": [["w:f32", [rows]], ["f32", [batch, columns]], ["w:f32", [columns, rows]]], "out": [["f32", [batch, rows]]]}


def told_step(batch=64):
    """Of a small net."""
    return {"sharewell_step": 1, "framework": "pytorch 2.11.0", "python": "3.12.3", "device": "cuda", "batch": batch, "accumulation": 1,
            "optimizer": "SGD", "optimizers": 1, "optimizer_style": "foreach", "precision": "fp32", "autocast": None,
            "grad_scaler": False, "workers": 2, "compiled": False, "channels_last": False, "checkpointing": False,
            "cuda_graphs": False, "world_size": 1, "parallel": None, "parameters": 1049600, "trainable": 1049600,
            "modules": "Sequential", "memory": {"parameters": 4198400, "gradients": 4198400, "optimizer": 4198400, "peak": 16000000,
                                                "saved": None},
            "measured_peak": None,
            "operators": [linear(1024, 1024, batch, "aten.addmm.default"),
                          {"op": "aten.mm.default", "pass": "backward", "count": 1,
                           "in": [["f32", [batch, 1024]], ["w:f32", [1024, 1024]]], "out": [["f32", [batch, 1024]]]},
                          {"op": "aten.mm.default", "pass": "backward", "count": 1,
                           "in": [["f32", [1024, batch]], ["f32", [batch, 1024]]], "out": [["f32", [1024, 1024]]]},
                          {"op": "aten._foreach_add_.List", "pass": "update", "count": 1,
                           "in": [{"list": [["w:f32", [1024, 1024], 1], ["w:f32", [1024], 1]]},
                                  {"list": [["f32", [1024, 1024], 1], ["f32", [1024], 1]]}], "out": []}],
            "dropped": 0}


class WatchedTest(ServedTest):
    def folder_of(self, name, step=None):
        """A folder of its own, since scripts are recognised by theirs."""
        folder = pathlib.Path(self.folder) / name
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(TRAIN, encoding="ascii")
        (folder / "tells.py").write_text(TELLS, encoding="ascii")
        (folder / "step.json").write_text(json.dumps(step or told_step()), encoding="ascii")
        return folder

    def jobs_in(self, folder, *args):
        at = args.index("--")
        done = self.run_at(folder, "submit", *args[:at], "--json", *args[at:])
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["jobs"]

    def told(self, number, field="told"):
        """The job once it has told its step (or what else is asked for: its steps are looked at once a second)."""
        end = time.monotonic() + PATIENCE
        while True:
            job = self.job(number)
            if job[field] is not None:
                return job
            self.assertLess(time.monotonic(), end, job)
            self.assertNotIn(job["phase"], ("failed", "cancelled"), job)
            time.sleep(0.05)


class Telling(WatchedTest):
    def test_what_it_tells_is_believed_and_shown(self):
        folder = self.folder_of("tells")
        (job,) = self.jobs_in(folder, "--", "python3", "tells.py", "600")
        self.assertEqual(job["needs"]["source"], "assumed")
        number = job["number"]
        job = self.told(number)
        self.assertEqual((job["told"]["batch"], job["told"]["optimizer"], job["told"]["modules"]), (64, "SGD", "Sequential"))
        self.assertIsNone(job["told"]["not_predicted"], job["told"])
        self.assertEqual(job["needs"]["source"], "predicted")
        self.assertEqual(self.told(number, "steps_by")["steps_by"], "watcher")
        page = self.said("job", str(number))
        self.assertIn("counted by the watcher inside of it", page)
        self.assertRegex(page, r"trains +Sequential with 1\.0 M parameters, batch 64, SGD, fp32, 2 loader workers")
        self.assertIn("told by the job itself", page)
        self.assertIn("it has told that it trains Sequential", self.said("why", str(number)).replace("\n  ", " "))
        # It is known, so another may join it: on two GPUs three are at home.
        others = [self.jobs_in(folder, "--", "python3", "tells.py", "600")[0] for _ in range(2)]
        for other in others:
            self.assertEqual(other["needs"]["source"], "predicted", other["needs"])
            self.assertIn("the same script", other["needs"]["from"])
            self.wait_for(other["number"], "running")
        self.end_all(number, *(other["number"] for other in others))

    def test_the_document_is_given_as_it_was_told(self):
        folder = self.folder_of("document", told_step(batch=128))
        (job,) = self.jobs_in(folder, "--", "python3", "tells.py", "0")
        self.wait_over(job["number"])
        self.told(job["number"])
        socket = self.server.socket
        body = subprocess.run(["curl", "-s", "--unix-socket", socket, f"http://x/api/v1/jobs/{job['number']}/step"],
                              capture_output=True, check=True, timeout=PATIENCE).stdout
        self.assertEqual(json.loads(body), told_step(batch=128))

    def test_nonsense_is_said_and_costs_nothing(self):
        folder = self.folder_of("nonsense", {"sharewell_step": 1, "operators": "many"})
        (job,) = self.jobs_in(folder, "--", "python3", "tells.py", "20")
        end = time.monotonic() + PATIENCE
        while "cannot be used" not in self.job(job["number"])["note"]:
            self.assertLess(time.monotonic(), end, self.job(job["number"]))
            time.sleep(0.05)
        job = self.wait_over(job["number"])
        self.assertEqual((job["phase"], job["told"], job["steps"]), ("finished", None, 62))

    def test_it_can_be_switched_off(self):
        folder = self.folder_of("off")
        script = 'echo "${SHAREWELL_WATCH_PIPE-none} ${PYTHONPATH-none}"'
        for flags in (("--no-watch",), ("--env", "SHAREWELL_WATCH=0")):
            (job,) = self.jobs_in(folder, *flags, "--gpus", "0", "--", "sh", "-c", script)
            self.assertEqual(job["watch"], flags[0] != "--no-watch")
            self.wait_over(job["number"])
            self.assertEqual(self.said("logs", str(job["number"])).split()[0], "none")

    def test_an_array_is_known_as_soon_as_its_first_has_told(self):
        """More elements than GPUs, submitted at once."""
        folder = self.folder_of("array")
        jobs = self.jobs_in(folder, "--exclusive", "--array", "1-5", "--", "sh", "-c", "exec python3 tells.py 600 # {index}", "tells.py")
        self.assertTrue(all(job["needs"]["source"] == "assumed" for job in jobs))
        self.told(jobs[0]["number"])
        end = time.monotonic() + PATIENCE
        while any(self.job(job["number"])["needs"]["source"] == "assumed" for job in jobs):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.end_all(*(job["number"] for job in jobs))


class Guests(WatchedTest):
    def test_a_stranger_starts_beside_a_known_job_and_is_known_in_the_end(self):
        known, other = self.folder_of("known"), self.folder_of("other", told_step(batch=32))
        (first,) = self.jobs_in(known, "--", "python3", "tells.py", "600")
        self.told(first["number"])
        (second,) = self.jobs_in(other, "--exclusive", "--", "sleep", "600")  # the second GPU
        self.wait_for(second["number"], "running")
        (guest,) = self.jobs_in(other, "--", "sh", "-c", "sleep 2; exec python3 tells.py 600", "tells.py")
        number = guest["number"]
        job = self.wait_for(number, "running")
        self.assertGreater(job["guest_memory_bytes"], 0, job)
        self.assertLess(job["sm_share"], 1)
        self.assertEqual(job["beside"], [first["number"]])
        self.assertIn(f"a guest beside job {first['number']}", self.said("why", str(number)).replace("\n  ", " "))
        self.assertIn("until it has told its step", self.said("job", str(number)))
        self.assertRegex(self.said("top"), r"guest \d+ %")
        self.told(number)
        self.assertIn("it started as a guest, and keeps at most", self.said("job", str(number)))
        self.end_all(first["number"], second["number"], number)

    def test_who_waits_is_tried_again_once_somebody_is_known(self):
        late, other = self.folder_of("late"), self.folder_of("waits", told_step(batch=16))
        (first,) = self.jobs_in(late, "--", "sh", "-c", "sleep 4; exec python3 tells.py 600", "tells.py")
        (second,) = self.jobs_in(other, "--exclusive", "--", "sleep", "600")  # the second GPU
        self.wait_for(second["number"], "running")
        (waits,) = self.jobs_in(other, "--", "sleep", "602")
        self.assertEqual(waits["phase"], "waiting", waits)
        job = self.wait_for(waits["number"], "running")  # nobody comes or leaves meanwhile
        self.assertGreater(job["guest_memory_bytes"], 0, job)
        self.end_all(first["number"], second["number"], waits["number"])

    def test_no_guest_comes_to_whoever_wants_none(self):
        known = self.folder_of("alone")
        (first,) = self.jobs_in(known, "--no-guests", "--", "python3", "tells.py", "600")
        self.told(first["number"])
        (second,) = self.jobs_in(known, "--exclusive", "--", "sleep", "600")
        self.wait_for(second["number"], "running")
        (waits,) = self.jobs_in(known, "--", "sleep", "601")
        self.assertEqual(waits["phase"], "waiting", waits)
        self.end_all(first["number"], second["number"], waits["number"])


class RealTorch(WatchedTest):
    """Nothing is told by the script: the watcher sees it train."""

    def test_a_sweep_is_known_from_its_second_element_on(self):
        folder = self.folder_of("sweep")
        first = self.jobs_in(folder, "--", DEBIAN_PYTHON, "train.py", "seed=0", "3")[0]
        self.assertEqual(first["needs"]["source"], "assumed")
        job = self.told(first["number"])
        self.assertEqual((job["told"]["batch"], job["told"]["optimizer"], job["told"]["workers"]), (32, "SGD", 0))
        self.assertRegex(job["told"]["fingerprint"], r"\A[0-9a-f]{32}\Z")
        rest = self.jobs_in(folder, "--array", "seed=" + ",".join(map(str, range(1, 20))), "--", DEBIAN_PYTHON, "train.py", "seed={seed}")
        self.assertEqual(len(rest), 19)
        self.assertEqual({job["needs"]["source"] for job in rest}, {"predicted"})
        over = [self.wait_over(job["number"]) for job in [first, *rest]]
        self.assertEqual({job["phase"] for job in over}, {"finished"}, over)
        prints = {self.told(job["number"])["told"]["fingerprint"] for job in over}
        self.assertEqual(len(prints), 1)
        for job in rest:
            self.assertEqual(self.said("logs", str(job["number"])), "done after 20\n")
            self.assertEqual(self.job(job["number"])["steps"], 20)

    def test_steps_a_second_are_shown_soon_after_the_second(self):
        folder = self.folder_of("soon")
        job = self.jobs_in(folder, "--", DEBIAN_PYTHON, "train.py", "seed=0", "30")[0]
        second = rate = None
        end = time.monotonic() + PATIENCE
        while rate is None:
            self.assertLess(time.monotonic(), end, job)
            job = self.job(job["number"])
            if second is None and (job["steps"] or 0) >= 2:
                second = time.monotonic()
            rate = job["steps_per_second"]
            time.sleep(0.02)
        self.assertLess(time.monotonic() - (second or time.monotonic()), 2)
        self.assertEqual(job["steps_by"], "watcher")
        self.end_all(job["number"])


if __name__ == "__main__":
    unittest.main()
