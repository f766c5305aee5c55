#!/usr/bin/env python3
"""simulate: the table, the JSON document, the files, the exit codes, and that a seed decides all."""

import csv
import io
import json
import os
import pty
import subprocess
import unittest

from program import LAB, PROGRAM, TWO_JOBS, ProgramTest

TIMINGS = {"decision_p50_seconds", "decision_p99_seconds", "jobs_per_cpu_second"}
DISTRIBUTIONS = ("jct", "run", "queue")
FIELDS = (["policy", "jobs", "jobs_finished", "jobs_failed", "jobs_infeasible", "jobs_unfinished",
           "makespan_seconds"]
          + [f"{name}_{part}_seconds" for name in DISTRIBUTIONS for part in ("mean", "p50", "p95", "p99")]
          + ["gpu_busy_mean", "gpu_allocated_mean", "gpu_sm_mean", "slowdown_mean", "slowdown_p95",
             "oom_count", "resubmissions", "moves", "fairness_jain", "finish_time_fairness",
             "gpu_hours", "energy_kwh", "cpu_cores_reserved_mean", "cpu_cores_used_mean",
             "decision_p50_seconds", "decision_p99_seconds", "jobs_per_cpu_second",
             "distance_from_optimal", "distance_from_shared_optimum", "by_size", "by_user"])
GROUP = ["jobs", "wait_mean_seconds", "wait_p99_seconds", "jct_mean_seconds", "jct_p99_seconds"]
GUARD = ["evictions", "evicted_gpu_hours"]  # with --guard on, after moves
GUARDED = FIELDS[:FIELDS.index("moves") + 1] + GUARD + FIELDS[FIELDS.index("moves") + 1:]
COUNTS = {field for field in FIELDS if field.startswith("jobs")} - {"jobs_per_cpu_second"}
COUNTS |= {"oom_count", "resubmissions", "moves"}
ROOT = os.getcwd()  # CTest runs us in the repository's root
DAY = ["--trace", f"{ROOT}/examples/day.csv", "--cluster", f"{ROOT}/examples/cluster.toml"]


class Simulate(ProgramTest):
    def simulate(self, *flags, jobs=TWO_JOBS, cluster="1x1xH200"):
        self.write("jobs.csv", jobs)
        return ["simulate", "--trace", "jobs.csv", "--cluster", cluster, *flags]

    def check_document(self, text):
        document = json.loads(text)
        self.assertEqual(list(document), ["schema", "trace", "cluster", "seed", "belief", "durations",
                                          "notes", "results"])
        self.assertEqual(document["schema"], 1)
        for result in document["results"]:
            self.assertEqual(list(result), GUARDED if "evictions" in document["results"][0] else FIELDS)
            for field, value in result.items():
                if field == "policy":
                    self.assertIsInstance(value, str)
                elif field in ("by_size", "by_user"):
                    self.assertEqual(sum(group["jobs"] for group in value), result["jobs"])
                    for group in value:
                        self.assertEqual(list(group), [field.removeprefix("by_"), *GROUP])
                elif field in COUNTS:
                    self.assertIsInstance(value, int)
                elif value is not None:
                    self.assertIsInstance(value, (int, float), field)
            self.assertEqual(result["jobs"], sum(result[f"jobs_{end}"] for end in
                                                 ("finished", "failed", "infeasible", "unfinished")))
        return document

    def test_seeds_give_means_and_spreads_and_say_who_is_best_for_whom(self):
        flags = [*DAY, "--policy", "slot,pack", "--seeds", "3"]
        document = json.loads(self.succeed("simulate", *flags, "--json"))
        self.assertEqual(document["seeds"], [1, 2, 3])
        for result, spread in zip(document["results"], document["spreads"]):
            self.assertEqual(result["jct_mean_seconds"], spread["jct_mean_seconds"]["values"][0])
            self.assertGreater(spread["jct_mean_seconds"]["stddev"], 0)
            self.assertEqual([size["size"] for size in spread["by_size"]], ["1", "2-4", "5-8"])
        lines = self.succeed("simulate", *flags).splitlines()
        self.assertRegex(lines[0], r"^\d+ of 200 jobs name their workload")
        best = next(n for n, line in enumerate(lines) if line.startswith("best mean completion: "))
        self.assertLess(best, 5)
        self.assertTrue(lines[best + 1].startswith("by size, against slot: 1 GPU: "), lines)
        self.assertIn("means over 3 seeds", "\n".join(lines[best:best + 4]))
        self.assertIn("--seeds: optimal is solved for one seed",
                      self.fail_with(2, *self.simulate("--policy", "optimal", "--seeds", "2"), program=LAB))

    def test_what_jobs_are_that_name_no_workload_can_be_chosen(self):
        flags = ("--policy", "slot", "--belief", "exact")
        told = "0 of 2 jobs name their workload; 2 are assumed: "
        busy = json.loads(self.succeed(*self.simulate(*flags, "--mix", "busy:0.4", "--json")))
        self.assertEqual(busy["notes"][0], told + "as if each kept its GPU 40 % busy (--mix busy:0.4)")
        self.assertAlmostEqual(busy["results"][0]["gpu_busy_mean"], 0.4, places=3)
        self.write("mix.csv", "workload,weight\ntv:resnet50@224,2\nhf:bert@128,1\n")
        self.assertTrue(self.succeed(*self.simulate(*flags, "--mix", "mix.csv")).startswith(
            told + "drawn by seed 1 from mix.csv's 2 workloads\n"))
        named = "id,submit_seconds,duration_seconds,workload\na,0,100,tv:resnet50@224\n"
        self.assertTrue(self.succeed(*self.simulate(*flags, "--mix", "mix.csv", jobs=named)).startswith("1 of 1 jobs name their workload\n"))
        for text, words in (("workload,weight\nbert,0\n", "line 2"), ("workload\nbert\n", "weight"), ("", "mix.csv"),
                            ("workload,weight\ntv:resnet51@224,1\n", "there is no measured profile of 'tv:resnet51@224', did you mean")):
            with self.subTest(text=text):
                self.write("mix.csv", text)
                self.assertIn(words, self.fail_with(2, *self.simulate(*flags, "--mix", "mix.csv")))
        for wrong in ("busy:2", "busy:", "catalog"):
            self.assertIn("--mix", self.fail_with(2, *self.simulate(*flags, "--mix", wrong)))

    def test_submissions_may_be_dates(self):
        dates = "id,submit_seconds,duration_seconds\na,2026-11-15T08:00:00Z,100\nb,2026-11-15T08:00:10Z,100\n"
        seconds = "id,submit_seconds,duration_seconds\na,0,100\nb,10,100\n"
        flags = ("--policy", "slot", "--json")
        by_dates, by_seconds = (json.loads(self.succeed(*self.simulate(*flags, jobs=jobs)))["results"][0] for jobs in (dates, seconds))
        self.assertEqual(by_dates["makespan_seconds"], by_seconds["makespan_seconds"])
        self.assertIn("write all in one way", self.fail_with(2, *self.simulate(jobs=dates + "c,20,5\n")))

    def test_why_no_energy_is_told(self):
        text = self.succeed(*self.simulate("--policy", "slot", cluster="1xA100"))
        self.assertRegex(text, r"energy, kWh +-")
        self.assertIn("note: energy is not known: the GPU catalogue has no idle power of A100", text)
        self.assertNotIn("energy is not known", self.succeed(*self.simulate("--policy", "slot")))

    def test_patience_counts_where_durations_are_unknown(self):
        rows = "".join(f"{i},0,{600 if i % 2 else 3600},1,,,,,\n" for i in range(12))
        jobs = "id,submit_seconds,duration_seconds,gpus,user,workload,batch,precision,workers\n" + rows
        self.write("two.toml", '[[nodes]]\nname="h"\ngpus=1\ngpu="H200"\n[[nodes]]\nname="p"\ngpus=1\ngpu="P100"\n')
        def result(patience):
            return json.loads(self.succeed(*self.simulate(
                "--policy", "match", "--durations", "unknown", "--patience", patience, "--json",
                jobs=jobs, cluster="two.toml")))["results"][0]
        self.assertLess(result("forever")["gpu_hours"], result("0")["gpu_hours"])
        self.assertIn("--patience: 'soon' is not allowed",
                      self.fail_with(2, *self.simulate("--patience", "soon")))

    def test_table(self):
        text = self.succeed(*self.simulate("--policy", "slot", "--belief", "exact"))
        # The timings are a group of their own.
        groups = [group for group in text.split("\n\n") if not group.startswith("decision")]
        self.assert_golden("simulate-table.txt", "\n\n".join(groups))
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertTrue(text.startswith("0 of 2 jobs name their workload; 2 are assumed: drawn by seed 1 from"), text)

    def test_json(self):
        text = self.succeed(*self.simulate("--policy", "slot,fifo+slot", "--json", "--seed", "7"))
        document = self.check_document(text)
        self.assertEqual(document["trace"], "jobs.csv")
        self.assertEqual(document["cluster"], "1x1xH200")
        self.assertEqual(document["seed"], 7)
        self.assertEqual(document["belief"], "noisy:0.154")
        self.assertEqual(document["durations"], "noisy:0.3")
        slot, composed = document["results"]
        self.assertEqual((slot["policy"], composed["policy"]), ("slot", "fifo+slot"))
        # One after the other: 100 s each, the second waits 90.
        self.assertEqual(slot["makespan_seconds"], 200)
        self.assertEqual(slot["jct_mean_seconds"], 145)
        self.assertEqual(slot["queue_mean_seconds"], 45)
        self.assertEqual(slot["run_p99_seconds"], 100)
        self.assertIsNone(slot["distance_from_optimal"])

    def test_defaults(self):
        document = self.check_document(self.succeed("simulate", *DAY, "--json"))
        self.assertEqual([result["policy"] for result in document["results"]],
                         ["slot", "pack", "sharewell"])
        self.assertEqual(document["seed"], 1)

    def test_guard(self):
        """Who breaks a bound is evicted, and what that cost is said; with --guard off nobody looks at bounds."""
        batch = ["simulate", "--trace", f"{ROOT}/examples/batch.csv", "--cluster", f"{ROOT}/examples/cluster.toml",
                 "--belief", "exact", "--policy", "slot,sharewell"]
        slot, guarded = self.check_document(self.succeed(*batch, "--json", "--out", "guarded"))["results"]
        _, without = self.check_document(self.succeed(*batch, "--json", "--guard", "off", "--out", "off"))["results"]
        self.assertEqual(slot["evictions"], 0)
        self.assertGreater(guarded["evictions"], 0)
        self.assertGreater(guarded["evicted_gpu_hours"], 0)
        self.assertEqual(list(without), FIELDS)
        self.assertLess(guarded["slowdown_p95"], without["slowdown_p95"])
        words = "times as long as alone (by its steps), and its bound is 1.25"
        decisions = {name: (self.folder / name / "decisions-sharewell.csv").read_text(encoding="utf-8")
                     for name in ("guarded", "off")}
        self.assertEqual(decisions["guarded"].count(words), guarded["evictions"])
        self.assertNotIn(words, decisions["off"])
        self.assertIn("--guard: 'maybe' is neither on nor off", self.fail_with(2, *batch, "--guard", "maybe"))

    def test_score_starts(self):
        """How good expected starts would have been: bars with known durations, and nothing is told with unknown ones."""
        ask = ["simulate", *DAY, "--policy", "slot,sharewell", "--score-starts"]
        lines = self.succeed(*ask).splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("starts told"))
        self.assert_golden("simulate-starts.txt", "\n".join(lines[first:first + 12]) + "\n")
        for result in json.loads(self.succeed(*ask, "--json"))["results"]:
            starts = result["expected_starts"]
            self.assertEqual(list(starts), ["durations_as_believed", "durations_known", "durations_unknown"])
            known = starts["durations_known"]
            self.assertFalse(known["sampled"])
            self.assertGreaterEqual(known["told"], 0.6 * known["jobs_waited"])
            self.assertLessEqual(known["error_median"], 0.4)
            self.assertGreaterEqual(known["error_p90"], known["error_median"])

    def test_policy_may_be_given_again(self):
        document = json.loads(self.succeed(*self.simulate("--policy", "slot", "--policy=las, pack", "--json")))
        self.assertEqual([result["policy"] for result in document["results"]], ["slot", "las", "pack"])

    def test_same_seed_same_bytes(self):
        def run(folder, seed):
            document = json.loads(self.succeed("simulate", *DAY, "--seed", seed, "--json", "--out", folder))
            for result in document["results"]:
                for field in TIMINGS:
                    del result[field]
            files = {path.name: path.read_bytes() for path in (self.folder / folder).glob("*.csv")}
            return document, files
        self.assertEqual(run("one", "5"), run("two", "5"))
        self.assertNotEqual(run("one", "5"), run("three", "6"))

    def test_out(self):
        text = self.succeed(*self.simulate("--policy", "slot,srtf+pack", "--json", "--out", "deep/er"))
        out = self.folder / "deep" / "er"
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["decisions-slot.csv", "decisions-srtf-pack.csv", "jobs-slot.csv",
                          "jobs-srtf-pack.csv", "summary.json"])
        self.assertEqual((out / "summary.json").read_text(encoding="utf-8"), text)
        jobs = list(csv.DictReader(io.StringIO((out / "jobs-slot.csv").read_text(encoding="utf-8"))))
        self.assertEqual([(job["id"], job["end"], job["queue_seconds"], job["jct_seconds"],
                           job["gpu_model"]) for job in jobs],
                         [("a", "finished", "0", "100", "H200"), ("b", "finished", "90", "190", "H200")])
        decisions = list(csv.DictReader(io.StringIO((out / "decisions-slot.csv").read_text(encoding="utf-8"))))
        starts = [row for row in decisions if row["what"] == "start"]
        self.assertEqual([(row["time_seconds"], row["job"]) for row in starts], [("0", "a"), ("100", "b")])
        for row in starts:
            self.assertRegex(row["gpus"], r"^[^:]+:0$")
            self.assertTrue(row["reason"])

    def test_until(self):
        flags = ["--policy", "slot", "--json", "--until"]
        for until in ("150", "150s", "2.5m"):
            result = json.loads(self.succeed(*self.simulate(*flags, until)))["results"][0]
            self.assertEqual((result["jobs_finished"], result["jobs_unfinished"]), (1, 1))
        result = json.loads(self.succeed(*self.simulate(*flags, "0")))["results"][0]
        self.assertIsNone(result["makespan_seconds"])
        self.assertIsNone(result["gpu_allocated_mean"])

    def test_jobs_that_can_never_run(self):
        jobs = "id,submit_seconds,duration_seconds,gpus,gpu_models\na,0,100,1,V100\nb,0,100,1,\n"
        done = self.run_program(*self.simulate("--policy", "slot", "--json", jobs=jobs))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.check_document(done.stdout)["results"][0]["jobs_infeasible"], 1)
        self.assertIn("slot: of 2 jobs 0 failed, 1 can never run on this cluster", done.stderr)
        all_of_them = jobs.replace("1,\n", "1,V100\n")
        done = self.run_program(*self.simulate("--policy", "slot", jobs=all_of_them))
        self.assertEqual(done.returncode, 4)
        self.assertIn("slot: no job could run", done.stderr)

    def test_measurements_of_the_users_own(self):
        self.write("profiles.csv", "workload,batch,gpu,steps_per_s,gpu_util\nmine,8,H200,10,50\n")
        jobs = "id,submit_seconds,duration_seconds,gpus,workload\na,0,100,1,mine\n"
        document = json.loads(self.succeed(*self.simulate("--policy", "slot", "--json", "--profiles",
                                                          "profiles.csv", jobs=jobs)))
        self.assertAlmostEqual(document["results"][0]["gpu_busy_mean"], 0.5, places=6)

    def test_optimal(self):
        jobs = "id,submit_seconds,duration_seconds,gpus\na,0,100,1\nb,0,60,1\nc,0,40,1\n"
        done = self.succeed(*self.simulate("--policy", "fifo,optimal", "--json", "--out", "out", jobs=jobs,
                                           cluster="1x2xH200"), program=LAB)
        fifo, optimal = self.check_document(done)["results"]
        self.assertAlmostEqual(optimal["makespan_seconds"], 100, places=3)
        self.assertEqual(optimal["distance_from_optimal"], 0)
        self.assertGreaterEqual(fifo["distance_from_optimal"], -1e-6)
        self.assertFalse((self.folder / "out" / "jobs-optimal.csv").exists())
        many = "id,submit_seconds,duration_seconds,gpus\n" + "".join(f"j{i},0,9,1\n" for i in range(99))
        self.assertIn("optimal", self.fail_with(2, *self.simulate("--policy", "optimal", jobs=many), program=LAB))
        self.assertIn("optimal-shared: 99 jobs", self.fail_with(2, *self.simulate("--policy", "optimal-shared",
                                                                                  jobs=many), program=LAB))

    def test_optima_are_those_of_another_program(self):
        for name in ("optimal", "optimal-shared"):
            self.assertIn(f"sharewell-lab simulate --policy {name}", self.fail_with(2, *self.simulate("--policy", f"slot,{name}")))

    def test_optimal_shared(self):
        jobs = "id,submit_seconds,duration_seconds,gpus\na,0,100,1\nb,0,60,1\nc,0,40,1\n"
        done = self.succeed(*self.simulate("--policy", "slot,pack,optimal-shared", "--json", jobs=jobs), program=LAB)
        slot, pack, shared = self.check_document(done)["results"]
        for result in (slot, pack, shared):
            self.assertGreaterEqual(result["distance_from_shared_optimum"], -1e-6)
            self.assertIsNone(result["distance_from_optimal"])
        self.assertLessEqual(shared["makespan_seconds"], slot["makespan_seconds"] * (1 + 1e-6))
        text = self.succeed(*self.simulate("--policy", "pack,optimal-shared", jobs=jobs), program=LAB)
        self.assertRegex(text, r"over the bound with sharing +\d")

    def test_many_policies_stay_within_100_columns(self):
        policies = ",".join(f"{order}+pack" for order in
                            ("fifo", "sjf", "srtf", "srsf", "las", "gain", "fair", "decreasing"))
        text = self.succeed(*self.simulate("--policy", policies))
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("decreasing+pack", text)


class Terminal(ProgramTest):
    def on_terminal(self, **env):
        """What a terminal on stderr gets."""
        self.write("jobs.csv", TWO_JOBS)
        ours, theirs = pty.openpty()
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        with subprocess.Popen([PROGRAM, "simulate", "--trace", "jobs.csv", "--cluster", "1x1xH200",
                               "--policy", "slot"], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=theirs, env={**clean, "TERM": "xterm", **env}) as program:
            os.close(theirs)
            seen = b""
            try:
                while chunk := os.read(ours, 4096):
                    seen += chunk
            except OSError:  # the other side is closed
                pass
            out = program.stdout.read()
        os.close(ours)
        self.assertNotIn(b"\x1b", out)
        return seen.decode()

    def test_progress_is_cleared(self):
        seen = self.on_terminal()
        self.assertIn("slot", seen)
        self.assertTrue(seen.endswith("\r\x1b[K"), repr(seen))
        self.assertIn("\x1b[36m", seen)

    def test_no_color(self):
        self.assertNotIn("\x1b[36m", self.on_terminal(NO_COLOR="1"))
        self.assertEqual(self.on_terminal(TERM="dumb"), "")


if __name__ == "__main__":
    unittest.main()
