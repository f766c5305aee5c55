#!/usr/bin/env python3
"""Makes the runs of another machine out of recorded ones: half the SMs, and a slower host.

    python3 tools/lab/other_machine.py data/h200      writes other-first.csv and other-next.csv there

The machine has an H200 of which half the SMs are there, and a host that takes 1.6 times as long. A run is a recorded row of
profiles.csv or profiles-2.csv, drawn at random with replacement (a server sees workloads again), and changed by what was recorded:

- Its GPU time is stretched, its SM activity, power and memory are changed as those of the workloads of sms.csv were between all SMs
  and half of them, interpolated by how much of the SMs it uses while it is busy.
- What is left of its step is the host's part (the norm of src/predict/base.cc joins the two). That part is brought to the reference
  host by the row's host_time and made 1.6 times as long: the slowest host_time recorded is 1.56 times the fastest.
- The host drifts from run to run as it does within a sitting, and each window has the deviation that was recorded for it.

The first 200 runs are what a server learns from, the next 100 are what it is judged by. The same files come out every time.
"""

import csv
import math
import pathlib
import random
import sys

OVERLAP = 3.24  # src/predict/base.cc
HOST = 1.6
DRIFT = 0.05  # of the host, as a standard deviation: profiles-2.csv's host_time has 0.06
USUAL_NOISE = 0.04  # of a window, where none was recorded: the median of those that were
FIRST, NEXT = 200, 100

COLUMNS = ("workload batch precision workers gpu gpu_util power_w mem_used_bytes gpm_sm gpm_dram pcie_tx_mib_s pcie_rx_mib_s "
           "steps_per_s cpu_cores host_rss_bytes onnx optimizer family").split()


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(row, column):
    return float(row[column]) if row.get(column) else None


def busy_seconds(row):
    return number(row, "gpu_util") / 100 / number(row, "steps_per_s")


def while_busy(row, share=1.0):
    """SM activity of the SMs that are there, while some kernel runs."""
    return min(1.0, number(row, "gpm_sm") / number(row, "gpu_util") / share)


def recorded_halves(folder):
    """What half the SMs did to each workload of sms.csv, by how it used all of them: (use, change of each figure), rising."""
    found = {}
    for row in rows(folder / "sms.csv"):
        found.setdefault(row["workload"], {})[int(row["sm_percent"])] = row
    points = []
    for cells in found.values():
        whole, half = cells.get(100, cells[75]), cells[50]
        share = 1.0 if 100 in cells else 0.75  # BERT was not measured with all; it does not fill three quarters
        points.append((while_busy(whole, share), {
            "busy": busy_seconds(half) / busy_seconds(whole),
            "use": while_busy(half, 0.5),
            "power": min(1.0, number(half, "power_w") / number(whole, "power_w")),
            "memory": number(half, "mem_used_bytes") / number(whole, "mem_used_bytes"),
        }))
    return sorted(points, key=lambda point: point[0])


def change(points, use, figure):
    """Between the two recorded workloads that use the SMs a little less and a little more."""
    if use <= points[0][0]:
        return points[0][1][figure]
    for (low, before), (high, after) in zip(points, points[1:]):
        if use <= high:
            part = (use - low) / (high - low)
            return before[figure] + part * (after[figure] - before[figure])
    return points[-1][1][figure]


def run_there(row, points, chance):
    step = 1 / number(row, "steps_per_s")
    busy = min(busy_seconds(row), step)
    use = while_busy(row) if busy > 0 else points[0][0]
    host = (step ** OVERLAP - busy ** OVERLAP) ** (1 / OVERLAP)
    drift = math.exp(chance.gauss(0, DRIFT))
    noise = math.exp(chance.gauss(0, min(number(row, "steps_rel_std") or USUAL_NOISE, 0.2)))
    busy_there = busy * change(points, use, "busy")
    host_there = host / number(row, "host_time") * HOST * drift
    step_there = max((busy_there ** OVERLAP + host_there ** OVERLAP) ** (1 / OVERLAP) * noise, busy_there)
    rate = step / step_there
    share = busy_there / step_there
    out = {column: row.get(column, "") for column in COLUMNS}
    out["steps_per_s"] = f"{1 / step_there:.4f}"
    out["gpu_util"] = f"{100 * share:.2f}"
    out["gpm_sm"] = f"{100 * share * change(points, use, 'use'):.2f}"
    out["power_w"] = f"{number(row, 'power_w') * change(points, use, 'power'):.1f}"
    out["mem_used_bytes"] = f"{number(row, 'mem_used_bytes') * change(points, use, 'memory'):.0f}"
    for column in ("gpm_dram", "pcie_tx_mib_s", "pcie_rx_mib_s"):
        out[column] = f"{number(row, column) * rate:.2f}"
    out["cpu_cores"] = f"{min(1.05 + float(row['workers']), number(row, 'cpu_cores') * rate * HOST):.3f}"
    return out


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else "data/h200")
    points = recorded_halves(folder)
    recorded = rows(folder / "profiles.csv") + rows(folder / "profiles-2.csv")
    chance = random.Random(15)
    runs = [run_there(chance.choice(recorded), points, chance) for _ in range(FIRST + NEXT)]
    for name, part in (("other-first.csv", runs[:FIRST]), ("other-next.csv", runs[FIRST:])):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(part)


if __name__ == "__main__":
    main()
