#!/usr/bin/env python3
"""Records what NVML says of this machine's GPUs, as a capture that the tests replay.

    python3 tools/capture_nvml.py OUT.json --seconds 20 --interval 0.5 [-- COMMAND...]

COMMAND runs meanwhile and is stopped at the end. Needs NVIDIA's driver and pynvml (nvidia-ml-py); a
function that either does not have is left out, one that fails is kept as {"error": CODE}. The format
is described in tests/fixtures/nvml/README.md. Serial numbers are not recorded.
"""

import argparse
import collections
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time

try:
    import pynvml as nv
except ImportError:
    sys.exit("capture_nvml: needs pynvml: pip install nvidia-ml-py")

FIELDS = {"ecc_sbe": 3, "ecc_dbe": 4, "policy_power": 74, "policy_thermal": 75, "policy_sync": 76,
          "policy_board": 77, "policy_reliability": 79, "memory_temperature": 82, "energy": 83,
          "pcie_replays": 94, "remapped_corrected": 142, "remapped_uncorrected": 143,
          "remap_failure": 145, "power_average": 185, "power_instant": 186, "pcie_sent": 197,
          "pcie_received": 198}
GPM = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 60, 61)
POLICIES = {"power": 0, "thermal": 1, "sync": 2, "board": 3, "reliability": 5}

cost = collections.defaultdict(list)  # function: (seconds, seconds of CPU) of each call


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class Missing(Exception):
    pass


def ask(name, *arguments, **named):
    """What the function answers; Missing where pynvml or the driver has none."""
    called = named.pop("called", name)  # what its cost is filed under
    function = getattr(nv, name, None)
    if function is None:
        raise Missing(name)
    begin, cpu = time.perf_counter(), time.thread_time()
    try:
        return function(*arguments, **named)
    except nv.NVMLError as error:
        if error.value == 13:  # the driver does not have the function
            raise Missing(name) from error
        raise
    finally:
        cost[called].append((time.perf_counter() - begin, time.thread_time() - cpu))


def put(target, key, read):
    """target[key] = read(), an error as {"error": code}, nothing where the function is missing."""
    try:
        target[key] = read()
    except nv.NVMLError as error:
        target[key] = {"error": error.value}
    except (Missing, AttributeError, TypeError, ValueError, IndexError):
        pass


def number(value):
    return value if math.isfinite(value) else None


def not_available(value):
    return None if value is None or value >= 2**64 - 2 else value


def field_value(item):
    if item.nvmlReturn != 0:
        return {"error": item.nvmlReturn}
    member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
    return {"type": item.valueType, "value": getattr(item.value, member[item.valueType])}


def fields(handle):
    answers = ask("nvmlDeviceGetFieldValues", handle, list(FIELDS.values()))
    return {str(item.fieldId): field_value(item) for item in answers}


def samples(handle, kind, last):
    _, found = ask("nvmlDeviceGetSamples", handle, kind, last)
    return [[s.timeStamp, s.sampleValue.uiVal] for s in found if s.timeStamp > last]


def memory(handle):
    try:
        info = ask("nvmlDeviceGetMemoryInfo", handle, version=nv.nvmlMemory_v2)
        return {"total": info.total, "reserved": info.reserved, "free": info.free, "used": info.used}
    except (TypeError, AttributeError, Missing):
        info = ask("nvmlDeviceGetMemoryInfo", handle)
        return {"total": info.total, "free": info.free, "used": info.used}


def processes(function, handle):
    return [{"pid": p.pid, "memory": not_available(p.usedGpuMemory),
             "gpu_instance": getattr(p, "gpuInstanceId", None)} for p in ask(function, handle)]


def process_samples(handle, last):
    try:
        found = ask("nvmlDeviceGetProcessUtilization", handle, last)
    except nv.NVMLError as error:
        if error.value == 6:  # none since then
            return []
        raise
    return [[s.pid, s.timeStamp, s.smUtil, s.memUtil, s.encUtil, s.decUtil] for s in found]


class Gpm:
    """The figures between this call and the one before."""

    def __init__(self, take):
        self.take = take
        self.before = None

    def read(self):
        sample = ask("nvmlGpmSampleAlloc")
        self.take(sample)
        before, self.before = self.before, sample
        if before is None:
            return {}
        request = nv.c_nvmlGpmMetricsGet_t()
        request.version = nv.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(GPM)
        request.sample1, request.sample2 = before, sample
        for slot, metric in enumerate(GPM):
            request.metrics[slot].metricId = metric
        ask("nvmlGpmMetricsGet", request)
        ask("nvmlGpmSampleFree", before)
        return {str(metric): number(request.metrics[slot].value)
                if request.metrics[slot].nvmlReturn == 0
                else {"error": request.metrics[slot].nvmlReturn}
                for slot, metric in enumerate(GPM)}


class Gpu:
    def __init__(self, index):
        self.index = index
        self.handle = ask("nvmlDeviceGetHandleByIndex", index)
        self.last = {"gpu": 0, "memory": 0, "process": 0}
        self.gpm = Gpm(lambda sample: ask("nvmlGpmSampleGet", self.handle, sample))
        self.migs = []
        try:
            for slot in range(ask("nvmlDeviceGetMaxMigDeviceCount", self.handle)):
                self.add_mig(slot)
        except (nv.NVMLError, Missing):
            pass

    def add_mig(self, slot):
        try:
            mig = ask("nvmlDeviceGetMigDeviceHandleByIndex", self.handle, slot)
            instance = ask("nvmlDeviceGetGpuInstanceId", mig)
        except (nv.NVMLError, Missing):
            return
        if all(known != instance for known, _, _ in self.migs):
            self.migs.append((instance, mig, Gpm(
                lambda sample: ask("nvmlGpmMigSampleGet", self.handle, instance, sample))))

    def facts(self):
        found = {}
        handle = self.handle
        found["uuid"] = f"GPU-00000000-0000-0000-0000-{self.index:012d}"
        put(found, "name", lambda: text(ask("nvmlDeviceGetName", handle)))
        put(found, "pci_bus", lambda: text(ask("nvmlDeviceGetPciInfo", handle).busId))
        put(found, "minor", lambda: ask("nvmlDeviceGetMinorNumber", handle))
        put(found, "compute", lambda: list(ask("nvmlDeviceGetCudaComputeCapability", handle)))
        put(found, "mig_mode", lambda: list(ask("nvmlDeviceGetMigMode", handle)))
        put(found, "max_migs", lambda: ask("nvmlDeviceGetMaxMigDeviceCount", handle))
        put(found, "power_limit", lambda: ask("nvmlDeviceGetEnforcedPowerLimit", handle))
        put(found, "compute_mode", lambda: ask("nvmlDeviceGetComputeMode", handle))
        put(found, "gpm", lambda: int(
            ask("nvmlGpmQueryDeviceSupport", handle).isSupportedDevice))
        others = [ask("nvmlDeviceGetHandleByIndex", i) for i in range(ask("nvmlDeviceGetCount"))]
        put(found, "ancestors", lambda: [
            0 if i == self.index else ask("nvmlDeviceGetTopologyCommonAncestor", handle, other)
            for i, other in enumerate(others)])
        put(found, "nvlink_to", lambda: [
            i for i, other in enumerate(others)
            if i != self.index and ask("nvmlDeviceGetP2PStatus", handle, other, 2) == 0])
        return found

    def newest(self, key, found, column):
        if found:
            self.last[key] = max(self.last[key], max(row[column] for row in found))
        return found

    def step(self):
        found = {}
        handle = self.handle
        put(found, "utilization", lambda: (lambda r: {"gpu": r.gpu, "memory": r.memory})(
            ask("nvmlDeviceGetUtilizationRates", handle)))
        for key, kind in (("gpu", 1), ("memory", 2)):
            put(found, "samples_" + key, lambda key=key, kind=kind: self.newest(
                key, samples(handle, kind, self.last[key]), 0))
        put(found, "memory", lambda: memory(handle))
        # The first version of the same call, whose "used" counts what the driver reserves too.
        put(found, "memory_v1", lambda: ask("nvmlDeviceGetMemoryInfo", handle).used)
        put(found, "power", lambda: ask("nvmlDeviceGetPowerUsage", handle))
        put(found, "energy", lambda: ask("nvmlDeviceGetTotalEnergyConsumption", handle))
        put(found, "clock_sm", lambda: ask("nvmlDeviceGetClockInfo", handle, 1))
        put(found, "clock_memory", lambda: ask("nvmlDeviceGetClockInfo", handle, 2))
        put(found, "temperature", lambda: ask("nvmlDeviceGetTemperature", handle, 0))
        put(found, "fields", lambda: fields(handle))
        put(found, "memory_temperature", lambda: field_value(
            ask("nvmlDeviceGetFieldValues", handle, [82], called="nvmlDeviceGetFieldValues of one")[0]))
        put(found, "pcie_replays", lambda: ask("nvmlDeviceGetPcieReplayCounter", handle))
        put(found, "pcie_sent", lambda: ask("nvmlDeviceGetPcieThroughput", handle, 0))
        put(found, "pcie_received", lambda: ask("nvmlDeviceGetPcieThroughput", handle, 1))
        reasons = "nvmlDeviceGetCurrentClocksEventReasons"
        if not hasattr(nv, reasons):
            reasons = "nvmlDeviceGetCurrentClocksThrottleReasons"
        put(found, "throttle_reasons", lambda: ask(reasons, handle))
        violations = found["violations"] = {}
        for name, policy in POLICIES.items():
            put(violations, name, lambda policy=policy: ask(
                "nvmlDeviceGetViolationStatus", handle, policy).violationTime)
        put(found, "ecc_corrected", lambda: ask("nvmlDeviceGetTotalEccErrors", handle, 0, 0))
        put(found, "ecc_uncorrected", lambda: ask("nvmlDeviceGetTotalEccErrors", handle, 1, 0))
        put(found, "remapped_rows", lambda: [int(n) for n in ask(
            "nvmlDeviceGetRemappedRows", handle)])
        put(found, "encoder", lambda: ask("nvmlDeviceGetEncoderUtilization", handle)[0])
        put(found, "decoder", lambda: ask("nvmlDeviceGetDecoderUtilization", handle)[0])
        put(found, "processes", lambda: processes("nvmlDeviceGetComputeRunningProcesses", handle))
        put(found, "mps_processes", lambda: processes(
            "nvmlDeviceGetMPSComputeRunningProcesses", handle))
        put(found, "process_samples", lambda: self.newest(
            "process", process_samples(handle, self.last["process"]), 1))
        put(found, "gpm", self.gpm.read)
        for instance, mig, gpm in self.migs:
            one = {"gpu_instance": instance}
            put(one, "memory", lambda mig=mig: memory(mig))
            put(one, "gpm", gpm.read)
            found.setdefault("migs", []).append(one)
        return found


def process_names(steps):
    """What the processes are called, without their folders."""
    pids = {row["pid"] for step in steps for gpu in step["gpus"]
            for key in ("processes", "mps_processes") if isinstance(gpu.get(key), list)
            for row in gpu[key]}
    pids |= {row[0] for step in steps for gpu in step["gpus"]
             if isinstance(gpu.get("process_samples"), list) for row in gpu["process_samples"]}
    return pids


def costs(calls):
    """What a call costs, pynvml's own part included; it makes two calls where a list is answered."""
    middle = statistics.median(wall for wall, _ in calls)
    return {"calls": len(calls), "median": round(middle * 1e6, 1),
            "most": round(max(wall for wall, _ in calls) * 1e6, 1),
            "cpu": round(statistics.median(cpu for _, cpu in calls) * 1e6, 1)}


def stop(child):
    if child is None or child.poll() is not None:
        return
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def main():
    arguments = sys.argv[1:]
    command = []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, command = arguments[:cut], arguments[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--interval", type=float, default=0.5, help="at least 0.1, GPM's floor")
    options = parser.parse_args(arguments)
    if options.interval < 0.1 or options.seconds <= 0:
        parser.error("--interval is at least 0.1 and --seconds above 0")

    try:
        nv.nvmlInit()
    except nv.NVMLError as error:
        sys.exit(f"capture_nvml: NVML does not start: {error}; is NVIDIA's driver loaded?")
    system = {}
    put(system, "driver", lambda: text(ask("nvmlSystemGetDriverVersion")))
    put(system, "nvml", lambda: text(ask("nvmlSystemGetNVMLVersion")))
    put(system, "cuda", lambda: ask("nvmlSystemGetCudaDriverVersion_v2"))
    gpus = [Gpu(index) for index in range(ask("nvmlDeviceGetCount"))]
    facts = [gpu.facts() for gpu in gpus]

    child = None
    if command:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    steps = []
    names = {}
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < options.seconds:
            steps.append({"t": round(time.monotonic() - begin, 4),
                          "gpus": [gpu.step() for gpu in gpus]})
            for pid in process_names(steps[-1:]) - names.keys():
                put(names, pid, lambda pid=pid: os.path.basename(
                    text(ask("nvmlSystemGetProcessName", pid)).split(" ")[0]))
                names.setdefault(pid, None)
            time.sleep(max(0.0, begin + len(steps) * options.interval - time.monotonic()))
    finally:
        stop(child)

    capture = {
        "format": "sharewell-nvml-capture", "version": 1, "interval": options.interval,
        "system": system, "gpus": facts,
        "process_names": {str(pid): name for pid, name in sorted(names.items())
                          if isinstance(name, str)},
        "call_microseconds": {name: costs(calls) for name, calls in sorted(cost.items())},
        "steps": steps}
    with open(options.out, "w", encoding="utf-8") as file:
        # A line a step: the file can be read and cut by eye.
        head = {key: value for key, value in capture.items() if key != "steps"}
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "steps": [\n')
        file.write(",\n".join("  " + json.dumps(step, separators=(",", ":")) for step in steps))
        file.write("\n ]\n}\n")
    print(f"{options.out}: {len(steps)} steps of {len(gpus)} GPUs")


if __name__ == "__main__":
    main()
