#!/usr/bin/env python3
"""import: what Nsight Compute, PyTorch's profiler and exporters wrote, into the store; and what is said of files that are none."""

import http.server
import json
import pathlib
import threading
import unittest

from program import ProgramTest

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "import"
RAW, DETAILS, TRACE, SCRAPE = (str(FIXTURES / name) for name in ("ncu-raw.csv", "ncu-details.csv", "kineto.json", "dcgm.txt"))


class Exporter:
    """Answers each request with the next of `answers`, the last one for ever: (status, text)."""

    def __init__(self, *answers):
        left = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, text = left.pop(0) if len(left) > 1 else left[0]
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class ImportTest(ProgramTest):
    def imported(self, *args):
        document = json.loads(self.succeed("import", *args, "--store", "s.db", "--json"))
        self.assertEqual(document["schema"], 1)
        return document

    def profiles(self):
        return json.loads(self.succeed("profiles", "list", "--store", "s.db", "--json"))["profiles"]

    def refuse(self, *args, code=2):
        """The message: one line, and no store is made."""
        message = self.fail_with(code, "import", *args, "--store", "new.db")
        self.assertFalse((self.folder / "new.db").exists(), args)
        return message


class Kernels(ImportTest):
    def test_ncu_raw(self):
        found = self.imported("ncu", RAW, "--name", "fill")
        self.assertEqual((found["name"], found["source"], found["gpu"]), ("fill", "import ncu", "NVIDIA H200"))
        self.assertEqual([kernel["launches"] for kernel in found["kernels"]], [2, 1])
        self.assertAlmostEqual(found["whole"]["sm_ratio"], (10 * 0.05 + 30 * 0.75 + 30 * 0.01) / 70)
        self.assertIsNone(found["kernels"][1]["occupancy_ratio"])
        self.assertEqual(self.profiles()[0]["id"], found["id"])

    def test_ncu_details(self):
        found = self.imported("ncu", DETAILS)
        self.assertEqual(found["name"], "ncu-details")
        self.assertAlmostEqual(found["whole"]["memory_ratio"], 0.462)

    def test_captures_of_an_h200(self):
        for path in sorted(FIXTURES.glob("h200-*")):
            kind = "kineto" if path.suffix == ".json" else "ncu"
            with self.subTest(file=path.name):
                found = self.imported(kind, str(path))
                self.assertEqual(found["gpu"], "NVIDIA H200")
                self.assertGreater(found["whole"]["launches"], 0)
                self.assertGreater(found["whole"]["seconds"], 0)

    def test_kineto(self):
        found = self.imported("kineto", TRACE)
        self.assertAlmostEqual(found["busy_ratio"], 0.5)
        self.assertAlmostEqual(found["steps_per_second"], 1000)
        figures = {figure["metric"] for figure in found["figures"]}
        self.assertLessEqual({"trace_gpu_busy_ratio", "trace_launch_gap_ratio", "trace_copy_bytes_per_second"}, figures)

    def test_text(self):
        text = self.succeed("import", "ncu", RAW, "--store", "s.db", "--top", "1")
        for words in ("SM", "L2", "write", "1 more kernel", "stored as profile 1 in s.db"):
            self.assertIn(words, text)
        text = self.succeed("import", "kineto", TRACE, "--store", "s.db")
        for words in ("GPU waits for a launch", "gemm", "steps a second", "note: measured under the profiler"):
            self.assertIn(words, text)

    def test_into_a_profile(self):
        first = self.imported("kineto", TRACE, "--name", "net")
        again = self.imported("ncu", RAW, "--into", "net")
        self.assertEqual((again["id"], again["name"], again["source"]), (first["id"], "net", "import kineto"))
        self.assertEqual(len(again["kernels"]), 2)
        self.assertEqual(again["steps_per_second"], first["steps_per_second"])
        metrics = [figure["metric"] for figure in again["figures"]]
        self.assertIn("trace_step_seconds", metrics)
        self.assertIn("kernels_sm_ratio", metrics)
        self.assertEqual(len(metrics), len({(f["metric"], f["instance"]) for f in again["figures"]}))
        self.assertEqual(len(self.profiles()), 1)
        self.assertEqual(self.imported("ncu", DETAILS, "--into", str(first["id"]))["id"], first["id"])
        self.imported("ncu", RAW, "--name", "net")
        self.assertIn("2 profiles are named 'net'",
                      self.fail_with(2, "import", "ncu", RAW, "--into", "net", "--store", "s.db"))
        self.assertIn("there is no profile 'other'",
                      self.fail_with(2, "import", "ncu", RAW, "--into", "other", "--store", "s.db"))

    def test_a_trace_that_was_cut(self):
        text = pathlib.Path(TRACE).read_text(encoding="utf-8")
        self.write("cut.json", text[:len(text) // 2])
        found = self.imported("kineto", "cut.json")
        self.assertTrue(any("cut short" in note for note in found["notes"]), found["notes"])
        self.assertLess(found["whole"]["launches"], 9)


class Samples(ImportTest):
    def series(self):
        return json.loads(self.succeed("samples", "list", "--store", "s.db", "--json"))["series"]

    def test_a_file(self):
        found = self.imported("dcgm", SCRAPE)
        self.assertEqual((found["samples"], found["blank_samples"], found["repeated_samples"]), (7, 1, 1))
        self.assertEqual(found["nodes"], ["gpu1"])
        busy = [row for row in found["metrics"] if row["metric"] == "gpu_busy_ratio"]
        self.assertEqual((busy[0]["series"], busy[0]["most"]), (2, 0.87))
        self.assertEqual(list(found["unknown_metrics"]), ["DCGM_FI_DEV_VGPU_LICENSE_STATUS"])
        self.assertEqual(len(self.series()), 7)

    def test_an_exporter_once(self):
        with Exporter((200, pathlib.Path(SCRAPE).read_text(encoding="utf-8"))) as exporter:
            self.assertEqual(self.imported("dcgm", exporter.url)["samples"], 7)

    def test_an_exporter_again_and_again(self):
        load = "node_load1{} 2.5\n"
        with Exporter((200, load), (500, ""), (200, load)) as exporter:
            done = self.run_program("import", "dcgm", exporter.url, "--for", "0.7s", "--interval", "0.1s", "--node", "n",
                                    "--store", "s.db", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertGreaterEqual(found["scrapes"], 3)
        self.assertEqual((found["failed_scrapes"], found["samples"]), (1, found["scrapes"] - 1))
        self.assertIn("status 500", done.stderr)
        self.assertEqual(found["nodes"], ["n"])
        self.assertEqual(self.series()[0]["samples"], found["samples"])

    def test_text(self):
        text = self.succeed("import", "dcgm", SCRAPE, "--store", "s.db")
        for words in ("gpu_busy_ratio", "7 samples of 1 node", "1 had no value", "stored in s.db"):
            self.assertIn(words, text)


class Refused(ImportTest):
    def test_words(self):
        for args, words in ((["nsys", RAW], "'nsys' is not allowed; give ncu, kineto or dcgm"),
                            (["ncu"], "FILE is required"),
                            (["ncu", RAW, "--for", "5s"], "are for dcgm"),
                            (["dcgm", SCRAPE, "--name", "x"], "are for ncu and kineto"),
                            (["dcgm", SCRAPE, "--for", "5s"], "--for needs a URL"),
                            (["dcgm", "http://h/", "--interval", "5s"], "--interval needs --for"),
                            (["dcgm", "http://h/", "--for", "5s", "--interval", "0.01s"], "less than 0.1s"),
                            (["ncu", RAW, "--name", "x", "--into", "y"], "give one of them"),
                            (["ncu", RAW, "--top", "-1"], "--top: '-1'"),
                            (["ncu", "http://h/x.csv"], "fetch it first")):
            with self.subTest(args=args):
                self.assertIn(words, self.refuse(*args))

    def test_files_that_are_none(self):
        (self.folder / "folder").mkdir()
        (self.folder / "random").write_bytes(bytes(i * 197 % 251 for i in range(5000)))
        (self.folder / "gz.json").write_bytes(b"\x1f\x8b\x08\x00")
        self.write("empty", "")
        self.write("page.html", "<!DOCTYPE html>\n<html></html>\n")
        self.write("bad.csv", '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
                   '"0","k","gpu__time_duration.sum","ns","x"\n')
        self.write("ours.txt", "my_metric 1\n")
        for kind in ("ncu", "kineto", "dcgm"):
            for name, words in (("gone", "gone: no such file"), ("folder", "is a folder"), ("random", "random"),
                                ("empty", "empty"), ("page.html", "page.html")):
                with self.subTest(kind=kind, name=name):
                    self.assertIn(words, self.refuse(kind, name))
        self.assertIn("bad.csv: line 2: ", self.refuse("ncu", "bad.csv"))
        self.assertIn("gunzip -k gz.json", self.refuse("kineto", "gz.json"))
        self.assertIn("has no metric of dcgm-exporter", self.refuse("dcgm", "ours.txt"))
        self.assertIn("page.html: line 1: ", self.refuse("dcgm", "page.html"))

    def test_exporters_that_are_none(self):
        with Exporter((404, "no")) as exporter:
            self.assertIn("exporters answer at /metrics", self.refuse("dcgm", exporter.url))
        self.assertIn("nothing answers there", self.refuse("dcgm", exporter.url, code=3))
        with Exporter((200, "<html>\n")) as exporter:
            self.assertIn("line 1: ", self.refuse("dcgm", exporter.url))
        with Exporter((500, "")) as exporter:
            self.assertIn("status 500", self.refuse("dcgm", exporter.url, code=1))
        for url in ("file:///etc/passwd", "ftp://host/x", "http:///x"):
            self.assertIn("no URL we can read", self.refuse("dcgm", url))

    def test_a_store_that_cannot_be(self):
        self.write("store", "text")
        done = self.run_program("import", "ncu", RAW, "--store", "store/s.db")
        self.assertIn(done.returncode, (1, 2))
        self.assertEqual(done.stdout, "")
        self.assertIn("store/s.db", done.stderr)


if __name__ == "__main__":
    unittest.main()
