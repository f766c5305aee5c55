#!/usr/bin/env python3
"""tools/capture_nvml.py against a pynvml of a few functions: what is missing is left out, what fails
is kept as an error, and the command that ran meanwhile is stopped."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

PYNVML = '''
class NVMLError(Exception):
    def __init__(self, value):
        self.value = value

class Thing:
    def __init__(self, **named):
        self.__dict__.update(named)

def nvmlInit(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetName(handle): return b"Test GPU"
def nvmlDeviceGetPowerUsage(handle): return 100
def nvmlDeviceGetTemperature(handle, sensor): raise NVMLError(3)
def nvmlDeviceGetEncoderUtilization(handle): raise NVMLError(13)
def nvmlDeviceGetSamples(handle, kind, last):
    return 1, [Thing(timeStamp=last + 5, sampleValue=Thing(uiVal=4))]
def nvmlDeviceGetProcessUtilization(handle, last): raise NVMLError(6)
def nvmlDeviceGetComputeRunningProcesses(handle):
    return [Thing(pid=7, usedGpuMemory=None), Thing(pid=8, usedGpuMemory=5)]
def nvmlSystemGetProcessName(pid): return "/usr/bin/python3 -c pass"
'''


class CaptureTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "pynvml.py").write_text(PYNVML, encoding="utf-8")

    def capture(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "tools/capture_nvml.py", self.path / "out.json", *arguments],
            env={**os.environ, "PYTHONPATH": str(self.path)}, capture_output=True, text=True,
            timeout=60, check=False)

    def test_keeps_what_there_is(self):
        run = self.capture("--seconds", "0.25", "--interval", "0.1", "--", "sleep", "1000")
        self.assertEqual(run.returncode, 0, run.stderr)
        capture = json.loads((self.path / "out.json").read_text(encoding="utf-8"))
        self.assertEqual(capture["format"], "sharewell-nvml-capture")
        self.assertEqual(capture["gpus"][0]["name"], "Test GPU")
        self.assertEqual(capture["process_names"], {"7": "python3", "8": "python3"})
        gpu = capture["steps"][0]["gpus"][0]
        self.assertEqual(gpu["power"], 100)
        self.assertEqual(gpu["temperature"], {"error": 3})
        self.assertEqual(gpu["process_samples"], [])
        self.assertEqual(gpu["processes"][0], {"pid": 7, "memory": None, "gpu_instance": None})
        self.assertNotIn("encoder", gpu)
        self.assertNotIn("energy", gpu)
        self.assertIn("nvmlDeviceGetPowerUsage", capture["call_microseconds"])

    def test_an_interval_below_the_floor(self):
        self.assertEqual(self.capture("--interval", "0.01").returncode, 2)


if __name__ == "__main__":
    unittest.main()
