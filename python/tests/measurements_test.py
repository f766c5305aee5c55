#!/usr/bin/env python3
"""Measurements from the repository's folder and from an archive: the same rows, numbers as numbers, unknown as None, graphs beside them."""

import pathlib
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from sharewell import measurements  # noqa: E402

TABLE = "workload,batch,precision,workers,gpu,steps_per_s,onnx,host_time\ntv:a@32,64,fp32,2,NVIDIA H200,12.5,a.onnx,0.8\nenc:1e3,8,bf16,0,NVIDIA H200,3,gone.onnx,\n"


class Repository(unittest.TestCase):
    def test_every_row_has_what_it_was_and_what_it_did(self):
        data = measurements.Measurements(ROOT / "data" / "h200")
        rows = data.profiles()
        self.assertGreaterEqual(len(rows), 216)
        for row in rows:
            self.assertIsInstance(row["workload"], str)
            self.assertIsInstance(row["batch"], int)
            self.assertGreater(row["steps_per_s"], 0)
            self.assertLessEqual(row["gpu_util"], 100.5)
        self.assertIn(None, {row["steps_rel_std"] for row in rows}, "the first sitting has no such column")
        with_graph = [row for row in rows if row["graph"]]
        self.assertGreaterEqual(len(with_graph), 216)
        self.assertGreater(len(data.graph(with_graph[0])), 1000)


class Small(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "h200" / "onnx").mkdir(parents=True)
        (self.folder / "h200" / "profiles.csv").write_text(TABLE, encoding="utf-8")
        (self.folder / "h200" / "onnx" / "a.onnx").write_bytes(b"graph")

    def check(self, place):
        data = measurements.Measurements(place)
        first, second = data.profiles()
        self.assertEqual((first["workload"], first["batch"], first["steps_per_s"], first["host_time"]), ("tv:a@32", 64, 12.5, 0.8))
        self.assertEqual((first["graph"], data.graph(first)), ("onnx/a.onnx", b"graph"))
        self.assertEqual((second["workload"], second["workers"], second["host_time"], second["graph"], data.graph(second)), ("enc:1e3", 0, None, None, None))

    def test_a_folder(self):
        self.check(self.folder / "h200")

    def test_an_archive(self):
        with tarfile.open(self.folder / "all.tar.gz", "w:gz") as archive:
            archive.add(self.folder / "h200", "h200")
        self.check(self.folder / "all.tar.gz")

    def test_nothing_there_is_said(self):
        with self.assertRaisesRegex(FileNotFoundError, "make data-archive"):
            measurements.Measurements(self.folder / "absent")


if __name__ == "__main__":
    unittest.main()
