#!/usr/bin/env python3
"""doctor: a report on whatever machine it is, in words and as JSON."""

import json
import pathlib
import re
import unittest

from program import ProgramTest

ENCODER = pathlib.Path(__file__).resolve().parents[2] / "data" / "h200" / "onnx" / "enc_256x2.onnx"


class Doctor(ProgramTest):
    def test_text_fits_and_says_each_state_in_a_word(self):
        text = self.succeed("doctor", "--store", "x.db")
        for section in ("collectors", "GPUs", "machine", "container runtimes", "store"):
            self.assertIn(f"\n{section}\n", "\n" + text)
        for line in text.splitlines():
            if not line.lstrip().startswith("mend: "):
                self.assertLessEqual(len(line), 100, line)
        # Not every machine tells its clock: then the collector works in part.
        self.assertRegex(text, r"(?m)^  cpu +(works|partly)  ")
        *rows, verdict = text.strip().split("\n\n")
        self.assertRegex(" ".join(verdict.split()), r"^(ready to share \d+ GPU|no GPU was found).*; (\d+ things? to improve: .*|nothing to improve)$")
        facts = re.findall(r"(?m)^  .*?  (?:works|partly|absent) +(\S.{40,})$", "\n".join(rows))
        self.assertEqual(len(facts), len(set(facts)), facts)
        self.assertNotIn("\x1b", text)

    def test_json(self):
        found = json.loads(self.succeed("doctor", "--store", "x.db", "--json"))
        self.assertEqual(found["schema"], 1)
        for check in found["checks"]:
            self.assertEqual(list(check), ["section", "name", "state", "what", "mend"])
            self.assertIn(check["state"], ("works", "partly", "absent"))
            self.assertTrue(check["what"], check)
            self.assertTrue(check["mend"] is None or check["mend"])
        names = [check["name"] for check in found["checks"] if check["section"] == "collectors"]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"cpu", "memory", "disk", "network"}, set(names))

    def test_calibrate_measures_the_hosts_memory_and_keeps_it(self):
        def speed(*flags, name="host speed"):
            found = json.loads(self.succeed("doctor", "--store", "x.db", "--state", "state", "--json", *flags))
            return next(check for check in found["checks"] if check["name"] == name)

        before = speed()
        self.assertEqual(before["state"], "absent")
        self.assertEqual(before["mend"], "sharewell doctor --calibrate")
        measured = speed("--calibrate")
        self.assertEqual(measured["state"], "works")
        self.assertRegex(measured["what"], r"^memory moves [0-9.]+ [MG]B/s")
        self.assertEqual(speed()["what"], measured["what"])
        self.assertRegex(speed(name="host probe")["what"], r"processes woken a second \(measured ")
        # Of a machine with a GPU, and a host of half the speed.
        kept = self.folder / "state" / "host-probe"
        kept.write_text(json.dumps(json.loads(kept.read_text(encoding="utf-8")) | {"launches_per_s": 54443, "pipe_trips_per_s": 37648,
                                                                                 "loader_items_per_s": 2307}), encoding="utf-8")
        self.assertIn("takes 1.54 times as long", speed(name="host probe")["what"])
        predict = ("predict", str(ENCODER), "--batch", "16", "--json")
        here, reference = (json.loads(self.succeed(*predict, "--state", state))["predictions"][0] for state in ("state", "none"))
        self.assertEqual((reference["host"], reference["host_time"], reference["host_launches_per_second"]), ("reference", 1, None))
        self.assertEqual((here["host"], here["host_launches_per_second"]), ("this machine", 54443))
        self.assertLess(here["steps_per_second_p50"], reference["steps_per_second_p50"] / 1.1)

    def store(self, place):
        checks = json.loads(self.succeed("doctor", "--store", place, "--json"))["checks"]
        return next(check for check in checks if check["section"] == "store")

    def test_it_makes_no_store(self):
        self.assertEqual(self.store("new/x.db")["state"], "works")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_store_that_is_none(self):
        (self.folder / "x.db").write_bytes(b"this is no database at all, " * 100)
        self.assertEqual(self.store("x.db")["state"], "absent")
        self.assertEqual(self.store("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")["state"], "absent")

    def test_a_gpu_library_that_is_none(self):
        library = self.write("libnone.so", "no library")
        done = self.run_program("doctor", "--store", "x.db", "--json",
                                env={"SHAREWELL_NVML_LIBRARY": str(self.folder / library), "PATH": "/usr/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        gpus = [check for check in json.loads(done.stdout)["checks"] if check["section"] == "GPUs"]
        self.assertEqual([check["state"] for check in gpus], ["absent"])


if __name__ == "__main__":
    unittest.main()
