#!/usr/bin/env python3
"""A real server on a GPU that a stand-in for the driver plays: what it sees of its host and of others' processes."""

import getpass
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import PATIENCE, PROGRAM, ProgramTest


class Host(ProgramTest):
    def setUp(self):
        super().setUp()
        # This test itself is the process that is no job.
        held, total = 22_300_000_000, 150_000_000_000
        gpu = {"memory": {"total": total, "reserved": 0, "free": total - held, "used": held},
               "utilization": {"gpu": 0, "memory": 0}, "processes": [{"pid": os.getpid(), "memory": held}],
               "mps_processes": [], "process_samples": []}
        facts = {"name": "NVIDIA H200", "uuid": "GPU-a", "pci_bus": "00000000:01:00.0", "compute": [9, 0],
                 "pcie_generation": 5, "pcie_width": 16}
        self.write("capture.json", json.dumps({"driver": "580", "gpus": [facts], "steps": [{"t": 0, "gpus": [gpu]}]}))
        library = pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so"
        self.env = {**os.environ, "SHAREWELL_SERVER": str(self.folder / "s"), "SHAREWELL_NVML_LIBRARY": str(library),
                    "SHAREWELL_FAKE_NVML": str(self.folder / "capture.json")}
        self.log = self.folder / "server.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                [PROGRAM, "serve", "--store", str(self.folder / "store.db"), "--state", str(self.folder / "state"),
                 "--socket", str(self.folder / "s"), "--listen", "127.0.0.1:0", "--grace", "1s"],
                cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.end)

    def end(self):
        self.ask("cancel", "1")
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(timeout=PATIENCE)

    def ask(self, *args):
        return subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE, check=False, encoding="utf-8")

    def until(self, words, say):
        """What was said once the words were in it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = " ".join(say().split())     # however it is wrapped
            if words in text:
                return text
            time.sleep(0.1)
        raise AssertionError(f"{words} was never said: {say()}\n{self.log.read_text(encoding='utf-8')}")

    def test_strangers_and_the_hosts_speed(self):
        other = f"other processes: 20.8 GiB, pid {os.getpid()} of {getpass.getuser()}"
        self.until("GPU 0: " + other, lambda: self.ask("top").stdout)
        done = self.ask("submit", "--gpu-memory", "145GB", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        why = self.until(other, lambda: self.ask("why", "1").stdout)
        self.assertIn("needs a GPU with more memory than is free on the idle ones", why)
        # At the first start on this machine it is measured, while the server already serves.
        self.until("host: memory moves", lambda: self.log.read_text(encoding="utf-8"))
        kept = json.loads((self.folder / "state" / "host-speed").read_text(encoding="utf-8"))
        self.assertGreater(kept["memory_bandwidth_bytes_per_second"], 0)
        checks = json.loads(self.ask("doctor", "--store", "store.db", "--state", "state", "--json").stdout)["checks"]
        found = {check["name"]: check for check in checks}
        self.assertEqual(found["host speed"]["state"], "works")
        self.assertIn("PCIe 63.0 GB/s", found["gpu 0"]["what"])


if __name__ == "__main__":
    unittest.main()
