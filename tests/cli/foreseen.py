"""What the simulator does with twelve jobs that a server of a cluster believes something of, for tests that hold the server against it: the same decisions,
in the same order, at the same places. Jobs of the test end in the order in which the simulated ones do; times are not compared."""

import csv
import pathlib

GRAPHS = pathlib.Path(__file__).resolve().parents[2] / "data/h200/onnx"
# (model file, batch, seconds alone, whether it shares, GPU model that it asks for). Who shares with whom must not hang on a hair: the last digits
# of what a server and a trace state are not the same.
JOBS = [("dqn_atari.onnx", 128, 40, True, ""), ("hf_bert_128.onnx", 16, 25, False, ""), ("dqn_atari.onnx", 128, 60, True, ""),
        ("dqn_atari.onnx", 128, 35, True, "A100"), ("hf_bert_128.onnx", 16, 80, False, "A100"), ("dqn_atari.onnx", 128, 50, True, ""),
        ("dqn_atari.onnx", 128, 30, True, "H200"), ("hf_bert_128.onnx", 16, 45, True, "A100"), ("dqn_atari.onnx", 128, 70, True, "A100"),
        ("hf_bert_128.onnx", 16, 55, False, "H200"), ("dqn_atari.onnx", 128, 20, True, ""), ("dqn_atari.onnx", 128, 65, True, "")]
CLUSTER = "".join(f'[[nodes]]\nname = "{name}"\ngpus = 2\ngpu = "{gpu}"\ncores = 64\nmemory_gb = 500\n' for name, gpu in (("n1", "H200"), ("n2", "A100")))
# Column of a profile, its name in what the server says it believes, and the factor between them.
FIGURES = [("gpu_util", "busy", 100), ("gpm_sm", "sm", 100), ("gpm_dram", "dram", 100), ("mem_used_bytes", "gpu_memory_bytes", 1),
           ("cpu_cores", "cpu_cores", 1), ("host_rss_bytes", "host_memory_bytes", 1), ("pcie_rx_mib_s", "pcie_bytes_per_second", 1 / 2**20),
           ("power_w", "power_watts", 1), ("kernels_per_step", "kernels_per_step", 1), ("kernel_us", "kernel_seconds", 1e6),
           ("steps_per_s", "steps_per_second", 1)]


def foresee(server, numbers, folder):
    """By the server's own beliefs of the jobs, whose `numbers` are told by name: [(what, job, place, share)] in order; a finish has no place."""
    folder.mkdir()
    profiles, trace = {}, []
    for (name, number), (model, _, seconds, shares, gpu) in zip(numbers.items(), JOBS):
        needs = server.job(number)["needs"]
        assert needs["source"] == "predicted", needs
        figures = {column: needs[key] * factor for column, key, factor in FIGURES if needs.get(key) is not None}
        profiles[model] = {"workload": model, "gpu": needs["gpu"], **figures}
        trace.append({"id": name, "submit_seconds": 0, "duration_seconds": seconds, "gpus": 1, "workload": model, "cores": 6,
                      "exclusive": int(not shares), "gpu_models": gpu})
    for file, rows in (("profiles.csv", list(profiles.values())), ("trace.csv", trace)):
        with open(folder / file, "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)
    (folder / "cluster.toml").write_text(CLUSTER, encoding="utf-8")
    done = server.run("simulate", "--trace", str(folder / "trace.csv"), "--cluster", str(folder / "cluster.toml"), "--profiles",
                      str(folder / "profiles.csv"), "--policy", "sharewell", "--belief", "exact", "--durations", "unknown", "--out",
                      str(folder / "results"))
    assert done.returncode == 0, done.stderr
    events = []
    with open(folder / "results/decisions-sharewell.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["what"] in ("start", "wait"), row
            if row["what"] == "start":
                events.append((float(row["time_seconds"]), 1, "start", row["job"], row["gpus"], round(100 * float(row["sm_share"]))))
    with open(folder / "results/jobs-sharewell.csv", newline="", encoding="utf-8") as file:
        events += [(float(row["finish_seconds"]), 0, "finish", row["id"], None, None) for row in csv.DictReader(file)]
    foreseen = [event[2:] for event in sorted(events, key=lambda event: event[:2])]
    # Else it would be a weak test.
    places = [place for what, _, place, _ in foreseen if what == "start"]
    assert len({job for what, job, *_ in foreseen if what == "start"}) == len(JOBS)
    assert len(set(places[:8])) < 8, "some share a GPU from the beginning"
    assert any((a[0], b[0]) == ("finish", "start") for a, b in zip(foreseen, foreseen[1:])), "some start when others end"
    return foreseen
