"""What a workload of a mix is told to need: as measured (data/h200), else as predicted from its graph, else as the nearest that was measured.

Rates are told only where this very workload was measured: a job is judged against the rate it is said to have alone.
"""
import csv
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "h200"


def profiles():
    """Rows of both sittings; where both measured the same, the first stands, as in the program."""
    rows = {}
    for name in ("profiles.csv", "profiles-2.csv"):
        with open(DATA / name, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["optimizer"] == "sgd":
                    rows.setdefault((row["workload"], int(row["batch"]), row["precision"], int(row["workers"])), row)
    return rows


def number(row, key, scale=1.0):
    return float(row[key]) * scale if row.get(key) else None


def from_row(row, job, source, origin):
    """Figures of a profile in the words of the API."""
    needs = {
        "source": source, "from": origin, "workload": job["workload"], "batch": job["batch"], "precision": job["precision"],
        "workers": job["workers"], "gpu": "H200", "busy": number(row, "gpu_util", 0.01),
        "sm": number(row, "gpm_sm", 0.01), "dram": number(row, "gpm_dram", 0.01), "gpu_memory_bytes": number(row, "mem_used_bytes"),
        "cpu_cores": number(row, "cpu_cores"), "host_memory_bytes": number(row, "host_rss_bytes"),
        "pcie_bytes_per_second": (number(row, "pcie_rx_mib_s", 2 ** 20) or 0) + (number(row, "pcie_tx_mib_s", 2 ** 20) or 0) or None,
        "power_watts": number(row, "power_w"), "steps_per_second": number(row, "steps_per_s"),
        "kernels_per_step": number(row, "kernels_per_step")}
    if needs["kernels_per_step"] and needs["steps_per_second"]:
        needs["kernel_seconds"] = needs["busy"] / needs["steps_per_second"] / needs["kernels_per_step"]
    return {key: value for key, value in needs.items() if value is not None}


def rate_here(needs, job, rate):
    """Puts the rate alone on this machine in the place of another machine's. The GPU's work in a step stays what it was."""
    if not needs or not rate:
        return
    if needs.get("steps_per_second") and needs.get("busy"):
        needs["busy"] = min(1.0, needs["busy"] * rate / needs["steps_per_second"])
    needs["steps_per_second"], needs["duration_seconds"] = rate, job["steps"] / rate


def distance(job, row):
    """How unlike: another architecture, another size of it, precision, batch, workers; None: another kind of model."""
    kind, _, rest = job["workload"].partition(":")
    other_kind, _, other = row["workload"].partition(":")
    if kind != other_kind:
        return None
    stem, other_stem = (re.split(r"[@]", text)[0] for text in (rest, other))
    family, other_family = (re.match(r"[a-z]*", text)[0] for text in (stem, other_stem))
    if family != other_family:
        return None
    sizes = [[float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e\d+)?", text)] for text in (rest, other)]
    unlike = sum(abs(math.log((a + 1) / (b + 1))) for a, b in zip(*sizes)) + 2.0 * (stem != other_stem)
    return (unlike + 1.5 * (job["precision"] != row["precision"]) + 0.7 * abs(math.log(job["batch"] / float(row["batch"])))
            + 0.3 * abs(math.log((job["workers"] + 1) / (float(row["workers"]) + 1))))


def needs_of(job, rows, predict=None):
    """For one job of a mix: what to tell the server, or None. `predict(file, batch, precision)` asks it about a graph."""
    row = rows.get((job["workload"], job["batch"], job["precision"], job["workers"]))
    if row:
        needs = from_row(row, job, "measured", "data/h200, this workload")
        needs["duration_seconds"] = job["steps"] / needs["steps_per_second"]
        return needs
    graph = DATA / "onnx" / (re.sub(r"[:@]", "_", job["workload"]) + ".onnx")
    if predict and graph.exists():
        needs = predict(str(graph), job["batch"], job["precision"])
        if needs:
            needs.update(source="predicted", workload=job["workload"], batch=job["batch"], precision=job["precision"], workers=job["workers"])
            rate = needs.pop("steps_per_second", None)
            if rate:
                needs["duration_seconds"] = job["steps"] / rate
            return {key: value for key, value in needs.items() if value is not None}
    near = [(far, key) for key, row in rows.items() if (far := distance(job, row)) is not None]
    if not near:
        return None
    row = rows[min(near)[1]]
    needs = from_row(row, job, "predicted", f"data/h200, nearest: {row['workload']} at batch {row['batch']}")
    needs["duration_seconds"] = job["steps"] / needs.pop("steps_per_second")
    more = max(1.0, job["batch"] / float(row["batch"]))
    needs["gpu_memory_upper_bytes"] = needs["gpu_memory_bytes"] * 1.5 * more
    return needs
