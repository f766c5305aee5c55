#!/usr/bin/env python3
"""A GPU before Hopper: SM and DRAM activity come from DCGM, or from nobody; libraries that replay recordings stand in."""

import json
import os
import pathlib
import sys
import unittest

from monitor_test import MonitorTest
from profile_test import FIXTURE, NCU, ProfileTest
from program import PROGRAM, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "fixtures" / "dcgm"
QUICK = ("--interval", "0.3s", "--warmup", "0s", "--for", "1.5s")


def a100(test, log=None, recording="a100.json", dcgm=True):
    """The environment of a machine with one A100."""
    beside = pathlib.Path(PROGRAM).resolve().parent
    for name in ("libfake_nvml.so", "libfake_dcgm.so"):
        if not (beside / name).exists():
            test.skipTest(f"{name} was not built beside the program")
    return {"SHAREWELL_NVML_LIBRARY": str(beside / "libfake_nvml.so"),
            "SHAREWELL_FAKE_NVML": str(RECORDINGS / "a100-nvml.json"),
            "SHAREWELL_DCGM_LIBRARY": str(beside / "libfake_dcgm.so") if dcgm else "/nowhere/libdcgm.so.4",
            "SHAREWELL_FAKE_DCGM": str(RECORDINGS / recording),
            "SHAREWELL_FAKE_DCGM_LOG": str(log or os.devnull)}


class Agent(MonitorTest):
    def value(self, families, name):
        return families[name]["samples"][0][1] if name in families else None

    def test_figures_and_their_source(self):
        agent = self.agent("--store", "none", "--interval", "0.3", env=a100(self))
        families = self.wait_until(
            lambda: (lambda f: f if "DCGM_FI_PROF_SM_ACTIVE" in f else None)(agent.families()))
        for name, value in (("DCGM_FI_PROF_SM_ACTIVE", 0.42), ("DCGM_FI_PROF_SM_OCCUPANCY", 0.21),
                            ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.11), ("DCGM_FI_PROF_DRAM_ACTIVE", 0.27),
                            ("DCGM_FI_PROF_PCIE_TX_BYTES", 52e6), ("DCGM_FI_PROF_PCIE_RX_BYTES", 1.45e9),
                            ("sharewell_gpu_activity_source", 2)):
            self.assertAlmostEqual(self.value(families, name) / value, 1, places=9, msg=name)
        self.assertNotIn("DCGM_FI_PROF_NVLINK_TX_BYTES", families, "blank is unknown")

    def test_without_dcgm_busy_is_busy_and_no_more(self):
        agent = self.agent("--store", "none", "--interval", "0.3", env=a100(self, dcgm=False))
        agent.wait_for("dcgm: down: .*install datacenter-gpu-manager")
        families = self.wait_until(
            lambda: (lambda f: f if "DCGM_FI_DEV_GPU_UTIL" in f else None)(agent.families()))
        self.assertAlmostEqual(self.value(families, "DCGM_FI_DEV_GPU_UTIL"), 96)
        self.assertEqual([name for name in families if "PROF" in name or "activity_source" in name], [])

    def test_counters_can_be_left_to_others(self):
        log = self.folder / "log"
        agent = self.agent("--store", "none", "--interval", "0.3", "--gpm", "off", env=a100(self, log))
        self.wait_until(lambda: "DCGM_FI_DEV_GPU_UTIL" in agent.families())
        self.assertFalse(log.exists(), "DCGM is not even opened")


class Profile(ProfileTest):
    def test_sm_activity_is_measured_not_taken_from_busy(self):
        self.environment.update(a100(self))
        done, record = self.record(*QUICK, "--", "sleep", "60")
        self.assertAlmostEqual(record["sm_ratio"], 0.42)
        self.assertAlmostEqual(record["gpu_util"], 0.96)
        self.assertRegex(done.stderr, r"SM 42.0 %, DRAM 27.0 %, tensor 11.0 %, occupancy 21.0 % \(by DCGM\)")
        sources = [f["mean"] for f in record["figures"] if f["metric"] == "gpu_activity_source"]
        self.assertEqual(sources, [2])

    def test_without_dcgm_it_is_unknown(self):
        self.environment.update(a100(self, dcgm=False))
        done, record = self.record(*QUICK, "--", "sleep", "60")
        self.assertIsNone(record["sm_ratio"])
        self.assertAlmostEqual(record["gpu_util"], 0.96)
        self.assertNotIn("SM ", done.stderr)

    def test_the_service_is_paused_while_nsight_compute_counts(self):
        log = self.folder / "log"
        self.environment.update(a100(self, log))
        (self.folder / "bin").mkdir()
        ncu = self.folder / "bin" / "ncu"
        ncu.write_text(NCU.format(python=sys.executable, said=str(log), table=str(FIXTURE), warm=True))
        ncu.chmod(0o755)
        self.environment["PATH"] = f"{ncu.parent}:{self.environment['PATH']}"
        done, record = self.record(*QUICK, "--kernels", "20", "--", "sleep", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(record["kernels"]), 0)
        words = [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(words[0], "connected")
        self.assertEqual(words[-4:], ["connected", "paused", "--csv", "resumed"])


class Doctor(ProgramTest):
    def gpu_row(self, environment):
        done = self.run_program("doctor", "--store", "x.db", "--json", env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = json.loads(done.stdout)["checks"]
        rows = {check["name"]: check for check in checks if check["section"] in ("GPUs", "collectors")}
        return rows["gpu 0"], rows["dcgm"]

    def test_says_who_counts(self):
        gpu, collector = self.gpu_row(a100(self))
        self.assertEqual((gpu["state"], collector["state"]), ("works", "works"))
        self.assertIn("SM and DRAM activity by DCGM", gpu["what"])

    def test_says_what_it_would_take(self):
        gpu, collector = self.gpu_row(a100(self, dcgm=False))
        self.assertEqual((gpu["state"], collector["state"]), ("partly", "absent"))
        self.assertIn("no SM or DRAM activity, only whether it is busy", gpu["what"])
        self.assertEqual(gpu["mend"], "sudo apt-get install datacenter-gpu-manager")

    def test_a_gpu_with_gpm_needs_nothing(self):
        environment = {**a100(self, dcgm=False),
                       "SHAREWELL_FAKE_NVML": str(ROOT / "tests" / "fixtures" / "nvml" / "h200-idle.json")}
        gpu, collector = self.gpu_row(environment)
        self.assertEqual((gpu["state"], collector["state"]), ("works", "works"))
        self.assertIn("SM and DRAM activity by GPM", gpu["what"])


if __name__ == "__main__":
    unittest.main()
