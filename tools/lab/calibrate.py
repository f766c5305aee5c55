#!/usr/bin/env python3
"""Fits the rates of src/predict/base.cc to measured profiles, and says how good the base is when a family's
rows took no part in the fit. For developers; Python 3 with numpy and scipy, a built sharewell.

    python3 tools/lab/calibrate.py data/h200/profiles.csv data/h200/profiles-2.csv

Two fits, as in base.cc: GPU rates to the logarithm of busy seconds a step, then what the host spends to the logarithm
of step time, given the busy seconds that were measured. Rates are pulled towards plausible values (PRIOR), because few
rows speak for some; shares of a peak stay below 1 (bandwidth: 1.1, for caches). Losses are soft: one odd row must not
bend all rates. Peaks come from `sharewell gpus`, costs from `sharewell inspect`.
"""
import argparse
import collections
import csv
import itertools
import json
import os
import subprocess

import numpy as np
from scipy.optimize import least_squares

CLASSES = ("stem", "pointwise", "conv", "depthwise", "grouped", "matmul", "attention", "norm", "activation",
           "elementwise", "softmax", "pool", "embedding", "move")
WITH_FLOPS = CLASSES[:7]

# Plausible values. NAME half flops|half bytes|full flops|full bytes: shares of the peaks; kernel: seconds.
BYTES = {"stem": (.05, .4), "conv": (.2, .5), "depthwise": (.05, .05), "grouped": (.15, .5), "norm": (.25, .6),
         "embedding": (.25, .25)}
KERNEL = {"norm": 1e-5, "activation": 8e-6, "elementwise": 3e-6, "move": 4e-6}
PRIOR = {}
for name in CLASSES:
    if name in WITH_FLOPS:
        PRIOR[name, "half flops"], PRIOR[name, "full flops"] = (.05, .05) if name == "depthwise" else (.6, .55)
    PRIOR[name, "half bytes"], PRIOR[name, "full bytes"] = BYTES.get(name, (.5, .5))
    PRIOR[name, "kernel"] = KERNEL.get(name, 6e-6)
PRIOR.update({("recurrent", "flops"): .4, ("recurrent", "full step"): 1e-5, ("recurrent", "half step"): 1.3e-5,
              ("update", "bytes"): .85, ("update", "kernel"): 2e-5,
              ("half rate", "sum"): 120, ("half rate", "channels"): 16, ("half rate", "group sum"): 16})
HOST = {"step": 2e-3, "forward": 60e-6, "pointwise / forward": .6, "backward": 15e-6, "view": 8e-6, "cast": 30e-6,
        "conv": 15e-6, "norm": 15e-6, "recurrent step": 1e-6, "weight": 5e-6, "load sample": 16e-6,
        "load float": 6.5e-9, "load other": 8e-9, "pin float": 1.3e-9, "pin other": 1e-9, "overlap": 3.5}
COUNTED = ("forward", "pointwise", "backward", "cast", "conv", "norm", "recurrent step")
GPU_PULL, HOST_PULL, FOLDS = .2, .1, 10
BACK_AND_FORTH = 2.5  # a recurrent layer's time step, backward included


def ask(*arguments):
    program = os.environ.get("SHAREWELL", "build/release/sharewell")
    return json.loads(subprocess.run([program, *arguments, "--json"], check=True, capture_output=True).stdout)


def columns(records):
    return {key: np.array([record[key] for record in records]) for key in records[0]}


class Rows:
    """The measured rows as columns, and their operators as longer columns (`row` says whose), by class and width."""

    def __init__(self, paths):
        gpus = {name: gpu for gpu in ask("gpus")["gpus"] for name in (gpu["name"], *gpu["aliases"])}
        rows, ops = [], []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    if row["onnx"]:
                        self.add(row, os.path.join(os.path.dirname(path), "onnx", row["onnx"]), gpus[row["gpu"]], rows, ops)
        self.of, self.count, self.groups = columns(rows), len(rows), []
        ops = columns(ops)
        for name, width in itertools.product((*CLASSES, "recurrent"), ("half", "full")):
            chosen = (ops["class"] == name) & (ops["width"] == width)
            self.groups.append((name, width, {key: values[chosen] for key, values in ops.items()}))

    @staticmethod
    def add(row, graph, gpu, rows, ops):
        cost = ask("inspect", graph, "--batch", row["batch"], "--precision", row["precision"], "--optimizer", row["optimizer"])
        mixed, sums = row["precision"] in ("bf16", "fp16"), collections.Counter()
        facts = {"row": len(rows), "width": "half" if mixed else "full", "bandwidth": gpu["bandwidth_bytes_per_second"],
                 "peak": 1e12 * gpu[("bf16" if mixed else row["precision"]) + "_tflops"]}
        for layer in cost["layers"]:
            kind, calls = layer["kind"], layer["calls_forward"]
            sums["pointwise" if kind in ("elementwise", "activation") else "forward"] += calls
            sums["cast"] += calls if mixed and kind in ("conv", "deconv", "matmul", "attention", "recurrent") else 0
            sums.update({"conv": kind in ("conv", "deconv"), "norm": kind == "norm", "backward": layer["calls_backward"],
                         "recurrent step": layer["steps"] * (kind == "recurrent"), "kernels": layer["kernels_backward"],
                         "bytes": layer["traffic_backward_bytes"]})
            ops.append({**facts, "class": layer["rate_class"], "sum": layer["contraction"], "steps": layer["steps"],
                        "channels": max(1, layer["params"] / max(1, layer["contraction"])),
                        "ff": layer["flops_forward"], "fb": layer["flops_backward"],
                        "bf": layer["traffic_forward_bytes"], "bb": layer["traffic_backward_bytes"],
                        "kernels": layer["kernels_forward"] + layer["kernels_backward"]})
        step, util = 1 / float(row["steps_per_s"]), float(row["gpu_util"])
        rows.append({**{key: sums[key] for key in COUNTED}, "family": row["family"], "step": step, "util": util,
                     "busy": util / 100 * step, "workers": float(row["workers"]), "batch": float(row["batch"]),
                     "host_time": float(row["host_time"] or 1), "bandwidth": gpu["bandwidth_bytes_per_second"],
                     "trust": (1 + (float(row["steps_rel_std"] or .06) / .1) ** 2) ** -.5,
                     "update_bytes": cost["traffic_optimizer_bytes"], "update_kernels": cost["kernels_optimizer"],
                     # Gradients that several readers send back are added up by kernels of no layer.
                     "sum_bytes": cost["traffic_backward_bytes"] - sums["bytes"],
                     "sum_kernels": cost["kernels_backward"] - sums["kernels"], "view": cost["view_calls"],
                     "weight": cost["weight_tensors"], **cost["input_elements"]})

    def busy(self, rates):
        """Seconds a step that some kernel runs."""
        of, total = self.of, np.zeros(self.count)
        for name, width, op in self.groups:
            if name == "recurrent":
                time = ((op["ff"] + op["fb"]) / (op["peak"] * rates[name, "flops"])
                        + op["steps"] * rates[name, width + " step"] * BACK_AND_FORTH)
            else:
                stream = op["bandwidth"] * rates[name, width + " bytes"]
                forward, backward = op["bf"] / stream, op["bb"] / stream
                if name in WITH_FLOPS:
                    rate = op["peak"] * rates[name, width + " flops"]
                    if name == "grouped":
                        rate = rate / (1 + rates["half rate", "group sum"] / np.maximum(op["sum"], 1e-9))
                    if name in ("pointwise", "conv", "matmul") and width == "half":  # matrix units fill slowly
                        rate = rate / (1 + rates["half rate", "sum"] / np.maximum(op["sum"], 1e-9))
                    if name in ("pointwise", "conv") and width == "half":
                        rate = rate / (1 + rates["half rate", "channels"] / op["channels"])
                    forward = np.maximum(forward, op["ff"] / np.maximum(rate, 1))
                    backward = np.maximum(backward, op["fb"] / np.maximum(rate, 1))
                time = forward + backward + op["kernels"] * rates[name, "kernel"]
            total += np.bincount(op["row"], time, minlength=self.count)
        return (total + of["update_bytes"] / (of["bandwidth"] * rates["update", "bytes"])
                + of["update_kernels"] * rates["update", "kernel"]
                + of["sum_kernels"] * rates["elementwise", "kernel"]
                + of["sum_bytes"] / (of["bandwidth"] * rates["elementwise", "half bytes"]))

    def step(self, busy, h):
        """Seconds a step: the longest of what overlaps, softened."""
        of, p = self.of, h["overlap"]
        host = (h["step"] + (of["forward"] + of["pointwise"] * h["pointwise / forward"]) * h["forward"]
                + sum(of[key] * h[key] for key in (*COUNTED[2:], "view", "weight"))) * of["host_time"]
        load = (of["batch"] * h["load sample"] + of["float"] * h["load float"] + of["other"] * h["load other"]) * of["host_time"]
        pin = (of["float"] * h["pin float"] + of["other"] * h["pin other"]) * of["host_time"]
        loads = of["workers"] > 0
        overlapping = busy ** p + host ** p + np.where(loads, (load / np.maximum(of["workers"], 1)) ** p + pin ** p, 0)
        return overlapping ** (1 / p) + np.where(loads, 0, load)


def fit(prior, residuals, pull, most, loss_scale, evaluations=30):
    names, start = list(prior), np.log(list(prior.values()))
    top = np.array([most(name, value) for name, value in zip(names, start)])
    start = np.minimum(start, top - 1e-3)
    found = least_squares(lambda x: np.concatenate([residuals(dict(zip(names, np.exp(x)))), pull * (x - start)]), start,
                          bounds=(start - 4, top), loss="soft_l1", f_scale=loss_scale, max_nfev=evaluations).x
    return dict(zip(names, np.exp(found)))


def calibrate(rows, train):
    rates = fit(PRIOR, lambda r: np.log(rows.busy(r) / rows.of["busy"])[train], GPU_PULL,
                lambda name, start: 0 if "flops" in name[1] else np.log(1.1) if "bytes" in name[1] else start + 3, .15)
    host = fit(HOST, lambda h: (np.log(rows.step(rows.of["busy"], h) / rows.of["step"]) * rows.of["trust"])[train],
               HOST_PULL, lambda _, start: start + 6, .2)
    return rates, host


def family_folds(families):
    """The folds of `sharewell evaluate`: the largest family first, each to the fold with the fewest rows."""
    sizes, fold, filled = collections.Counter(families), {}, [0] * FOLDS
    for family in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[family] = filled.index(min(filled))
        filled[fold[family]] += sizes[family]
    return np.array([fold[family] for family in families])


def judge(what, rows, splits):
    """Errors on rows of bases that were fitted without them (with them, where all are held out), over all splits."""
    off = {"utilisation": [], "step": [], "busy": []}
    for held in splits:
        rates, host = calibrate(rows, np.setdiff1d(np.arange(rows.count), held) if len(held) < rows.count else held)
        busy = rows.busy(rates)
        step = rows.step(busy, host)
        utilisation = np.log1p(100 * np.minimum(1, busy / step)) - np.log1p(rows.of["util"])
        for key, error in (("utilisation", utilisation ** 2), ("step", abs(step / rows.of["step"] - 1)),
                           ("busy", abs(busy / rows.of["busy"] - 1))):
            off[key].extend(error[held])
    print(f"base, rates fitted {what}: utilisation RMSLE {np.sqrt(np.mean(off['utilisation'])):.3f}, "
          f"step time {np.mean(off['step']):.1%}, busy time {np.mean(off['busy']):.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("profiles", nargs="+")
    rows = Rows(parser.parse_args().profiles)
    everything, draw = np.arange(rows.count), np.random.RandomState(1)
    rates, host = calibrate(rows, everything)
    for (name, what), value in [*rates.items(), *((("host", key), value) for key, value in host.items())]:
        print(f"{name:12} {what:20} {value:.3g}")
    fold = family_folds(rows.of["family"])
    judge("to all rows", rows, [everything])
    judge("without the row's family", rows, [np.where(fold == k)[0] for k in range(FOLDS)])
    judge("without a fifth of the rows, drawn 10 times", rows,
          [np.sort(draw.permutation(rows.count)[:rows.count // 5]) for _ in range(10)])


if __name__ == "__main__":
    main()
