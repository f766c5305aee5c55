#!/usr/bin/env python3
"""A server that learns from its jobs, as its users see it: `sharewell predictor`, and --trained. The program is $SHAREWELL."""

import json
import pathlib
import sqlite3
import sys
import time
import unittest

from api_server import Server
from program import LAB, PATIENCE, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

NET = """{"inputs": [{"name": "x", "shape": ["batch", 3, 32, 32]}], "layers": [
  {"type": "conv2d", "out_channels": 16, "kernel": 3, "padding": 1}, {"type": "relu"},
  {"type": "globalpool"}, {"type": "flatten"}, {"type": "linear", "out": 10}]}"""
# Tells its steps for as long as it takes to count them.
LOOP = "i=0; while [ $i -lt 14 ]; do i=$((i+1)); echo $i >> $SHAREWELL_PROGRESS; sleep 0.1; done"


class PredictorTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.net = self.folder / "net.json"
        self.net.write_text(NET, encoding="utf-8")

    def serve(self, *args):
        server = Server(self.folder, *args)
        self.addCleanup(server.stop)
        return server

    def submit(self, server, *args):
        done = self.run_program("submit", "--server", str(server.socket), *args)
        self.assertEqual(done.returncode, 0, done.stderr)

    def told(self, server):
        return json.loads(self.succeed("predictor", "--server", str(server.socket), "--json"))

    def wait(self, server, until):
        end = time.monotonic() + PATIENCE
        while not until(told := self.told(server)):
            self.assertLess(time.monotonic(), end, told)
            time.sleep(0.1)
        return told

    def test_what_a_job_needed_is_kept_with_its_graph(self):
        server = self.serve()
        first = self.told(server)
        self.assertEqual((first["in_use"], first["trained"], first["runs_kept"]), ("shipped", None, 0))
        where = ("--server", str(server.socket))
        self.submit(server, "--wait", "--model", str(self.net), "--batch", "8", "--", "sh", "-c", LOOP)
        self.assertEqual(len(server.job(1)["needs"]["graph"]), 32)
        told = self.wait(server, lambda told: told["runs_kept"] == 1)
        self.assertEqual((told["graphs_kept"], told["new_runs"], told["trains_at"]), (1, 1, 40))
        text = self.succeed("predictor", *where)
        self.assertIn("in use: shipped\n", text)
        self.assertIn("kept to learn from: 1 run and 1 graph; 1 new, it trains at 40", text)
        self.assertIn("sharewell_predictor_runs 1", server.ask("GET", "/metrics").bytes.decode())

    def test_an_admin_chooses_and_it_is_an_event(self):
        server = self.serve()
        where = ("--server", str(server.socket))
        self.assertIn("there is no predictor 'best'", self.fail_with(2, "predictor", *where, "--use", "best"))
        self.succeed("predictor", *where, "--use", "shipped")
        told = self.wait(server, lambda told: told["pinned"])
        self.assertEqual(told["history"][0]["chosen"], "shipped")
        self.assertIn("chosen by hand", self.succeed("predictor", *where))
        server.wait_for("predictor: shipped is in use: somebody chose it")
        store = sqlite3.connect(f"{(self.folder / 's.db').as_uri()}?mode=ro", uri=True)
        self.addCleanup(store.close)
        events = "SELECT words FROM job_event WHERE kind = 'predictor.chosen'"
        end = time.monotonic() + PATIENCE
        while not (found := store.execute(events).fetchall()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertIn("shipped is in use", found[0][0])

    def test_a_model_of_ones_own_works_everywhere(self):
        trained = str(ROOT / "data" / "h200" / "model.json")
        profiles = str(ROOT / "data" / "h200" / "other-next.csv")
        server = self.serve("--trained", trained)
        self.assertEqual(self.told(server)["in_use"], trained)
        self.submit(server, "--model", str(self.net), "--trained", trained, "--", "true")
        self.assertEqual(server.wait_until(1, "finished")["needs"]["source"], "predicted")
        self.assertNotIn("graph", server.job(1)["needs"])
        self.succeed("predict", str(self.net), "--trained", trained)
        table = self.succeed("evaluate", profiles, "--trained", trained, program=LAB)
        self.assertRegex(table, r"step_seconds +\d+\.\d % +\d+\.\d % +0 %")
        figures = json.loads(self.succeed("evaluate", profiles, "--trained", trained, "--json", program=LAB))["figures"]
        self.assertEqual(figures[1]["figure"], "step_seconds")
        self.assertEqual(figures[1]["shipped_error"], figures[1]["trained_error"])
        simulate = ("simulate", "--trace", str(ROOT / "examples" / "day.csv"), "--cluster",
                    str(ROOT / "examples" / "cluster.toml"), "--policy", "slot", "--until", "1h")
        self.succeed(*simulate, "--belief", "predicted", "--trained", trained)
        self.assertIn("give --belief predicted too", self.fail_with(2, *simulate, "--trained", trained))

    def test_a_file_that_is_no_model_is_said_to_be_none(self):
        for command in (("serve", "--gpus", "1xH200", "--store", str(self.folder / "x.db"), "--socket",
                         str(self.folder / "x.sock"), "--listen", "none"),
                        ("evaluate", str(ROOT / "data" / "h200" / "other-next.csv")),
                        ("predict", str(self.net))):
            self.assertIn("net.json", self.fail_with(2, *command, "--trained", str(self.net), program=LAB if command[0] == "evaluate" else None))

    def test_train_onto_prints_what_was_taken(self):
        data = ROOT / "data" / "h200"
        out = self.folder / "model.json"
        told = self.succeed("train", str(data / "other-first.csv"), "--onto", "shipped", "--next",
                            str(data / "other-next.csv"), "--out", str(out), program=LAB)
        self.assertRegex(told, r"error on the next 100 runs +shipped +retrained +change")
        self.assertRegex(told, r"step_seconds +\d+\.\d % +\d+\.\d % +-[3-9]\d %")
        self.assertIn("was corrected by runs before",
                      self.fail_with(2, "train", str(data / "other-first.csv"), "--onto", str(out), "--out", str(out), program=LAB))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
