#!/usr/bin/env python3
"""inspect, predict and train: from a file to figures, and what is said of a file that is none."""

import csv
import io
import json
import pathlib
import resource
import struct
import unittest

from program import LAB, ProgramTest

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "h200"
ENCODER = str(DATA / "onnx" / "enc_256x2.onnx")
ARCHIVE = str(DATA / "pt2" / "dqn_atari.pt2")
MOST_CPU_SECONDS = 2  # for saying no
STARTS = 5  # that `predict` may take: 2.5 when this was written; 6.7 while all of the model was read, by a slower parser
FIGURES = ("gpu_util", "gpu_memory_bytes", "steps_per_second", "cpu_cores", "power_watts")

LAYERS = {"schema": 1, "inputs": [{"name": "x", "shape": ["batch", 3, 32, 32]}],
          "layers": [{"type": "conv2d", "out_channels": 16, "kernel": 3}, {"type": "relu"},
                     {"type": "globalpool"}, {"type": "flatten"}, {"type": "linear", "out": 10}]}
BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
        "max_position_embeddings": 128}


class ModelTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.layers = self.write("net.json", json.dumps(LAYERS))
        (self.folder / "bert").mkdir()
        self.write("bert/config.json", json.dumps(BERT))

    def write_bytes(self, name, contents):
        (self.folder / name).write_bytes(contents)
        return name

    def predictions(self, *args):
        document = json.loads(self.succeed("predict", *args, "--json"))
        self.assertEqual(document["schema"], 1)
        return document["predictions"]

    def refuse(self, *args, program=None):
        """The message: one line, exit 2, soon, and nothing written."""
        before = sorted(path.name for path in self.folder.iterdir())
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        message = self.fail_with(2, *args, program=program)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime, MOST_CPU_SECONDS, args)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        return message


class Inspect(ModelTest):
    def test_every_format(self):
        for model, params in ((ENCODER, None), (ARCHIVE, None), (self.layers, 16 * 27 + 16 + 16 * 10 + 10),
                              ("bert", None), ("bert/config.json", None)):
            with self.subTest(model=model):
                found = json.loads(self.succeed("inspect", model, "--json"))
                self.assertEqual(found["schema"], 1)
                self.assertGreater(found["macs_forward_per_sample"], 0)
                self.assertGreater(found["nodes"], 0)
                self.assertEqual(found["uncosted_nodes"], [])
                self.assertGreater(found["peak_memory_bytes"], 4 * 4 * found["params"])
                if params:
                    self.assertEqual(found["params"], params)

    def test_an_export_is_the_same_model_in_either_format(self):
        onnx = json.loads(self.succeed("inspect", str(DATA / "onnx" / "ncf_1e6.onnx"), "--json"))
        pt2 = json.loads(self.succeed("inspect", str(DATA / "pt2" / "ncf_1e6.pt2"), "--json"))
        self.assertEqual(onnx["macs_forward_per_sample"], pt2["macs_forward_per_sample"])

    def test_the_batch_scales_the_step_and_not_the_sample(self):
        one = json.loads(self.succeed("inspect", ENCODER, "--json"))
        many = json.loads(self.succeed("inspect", ENCODER, "--batch", "16", "--json"))
        self.assertEqual(many["macs_forward_per_sample"], one["macs_forward_per_sample"])
        self.assertGreater(many["peak_memory_bytes"], one["peak_memory_bytes"])

    def test_text_names_the_layers_and_says_that_all_was_costed(self):
        text = self.succeed("inspect", self.layers, "--batch", "8", "--precision", "bf16")
        self.assertIn("batch 8, bf16, training with sgd", text)
        self.assertIn("costliest layers", text)
        self.assertIn("Every operator was costed.", text)
        self.assertNotIn("gradients", self.succeed("inspect", self.layers, "--inference"))


class Predict(ModelTest):
    def test_one_model_of_every_format(self):
        for model in (ENCODER, ARCHIVE, self.layers, "bert"):
            with self.subTest(model=model):
                rows = self.predictions(model, "--batch", "8", "--precision", "bf16")
                self.assertEqual(len(rows), 1)
                for figure in FIGURES:
                    low, mid, high = (rows[0][f"{figure}_{p}"] for p in ("p05", "p50", "p95"))
                    self.assertTrue(0 < low <= mid <= high, (figure, low, mid, high))
                self.assertLessEqual(rows[0]["gpu_util_p95"], 100)
                self.assertGreater(rows[0]["gpu_memory_bytes_p50"], 5e8)
                self.assertEqual(rows[0]["gpu"], "H200")
                self.assertTrue(rows[0]["gpu_known"])

    def test_text(self):
        text = self.succeed("predict", ENCODER, "--batch", "8", "--gpu", "V100", "--price", "2")
        for words in ("GPU busy", "held back by:", "fits in", "nearest known:", "cost of 1,000 steps",
                      "Nothing was learnt on V100"):
            self.assertIn(words, text)

    def test_the_same_question_has_the_same_answer(self):
        args = ("predict", ENCODER, "--batch", "8", "--json")
        self.assertEqual(self.succeed(*args), self.succeed(*args))

    def manifest(self):
        return self.write("jobs.csv", "model,batch,precision,workers,gpu\n"
                          f"{ENCODER},64,bf16,4,H200\nnet.json,8,,,\n{ENCODER},8,fp32,0,A100\nbert,4,fp16,2,V100\n"
                          f"{ARCHIVE},32,tf32,,\n")

    def test_a_manifest_is_answered_row_by_row_in_its_order(self):
        rows = self.predictions("--manifest", self.manifest(), "--batch", "5", "--workers", "3")
        self.assertEqual([(row["model"], row["batch"], row["precision"], row["workers"], row["gpu"]) for row in rows],
                         [(ENCODER, 64, "bf16", 4, "H200"), ("net.json", 8, "fp32", 3, "H200"),
                          (ENCODER, 8, "fp32", 0, "A100"), ("bert", 4, "fp16", 2, "V100"),
                          (ARCHIVE, 32, "tf32", 3, "H200")])
        for row in rows[:2]:
            alone = self.predictions(row["model"], "--batch", str(row["batch"]), "--precision", row["precision"],
                                     "--workers", str(row["workers"]), "--gpu", row["gpu"])
            self.assertEqual(alone, [row])

    def test_csv_has_the_numbers_of_the_json(self):
        rows = self.predictions("--manifest", self.manifest(), "--price", "2.5")
        text = self.succeed("predict", "--manifest", "jobs.csv", "--price", "2.5", "--csv")
        lines = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(lines), len(rows))
        for line, row in zip(lines, rows):
            self.assertEqual(list(line), list(row))
            for key, value in row.items():
                if isinstance(value, bool):
                    self.assertEqual(line[key], str(value).lower(), key)
                elif isinstance(value, (int, float)):
                    self.assertEqual(float(line[key]), value, key)
                else:
                    self.assertEqual(line[key], value or "", key)

    def test_models_lie_beside_the_manifest(self):
        (self.folder / "far").mkdir()
        self.write("far/net2.json", json.dumps(LAYERS))
        self.write("far/jobs.csv", "model\nnet2.json\n")
        self.assertEqual(self.predictions("--manifest", "far/jobs.csv")[0]["model"], "far/net2.json")

    def test_together(self):
        self.write("pair.csv", "model,profile,batch,precision,workers,group\n"
                   f"{ENCODER},,32,bf16,1,x\n,tv:vgg16@224,64,bf16,4,x\n,tv:vgg16@224,64,bf16,4,y\n"
                   ",tv:vgg16@224,64,bf16,4,y\n")
        rows = self.predictions("--together", "pair.csv")
        self.assertEqual([row["group"] for row in rows], ["x", "x", "y", "y"])
        for row in rows:
            self.assertTrue(0 < row["speed_p05"] <= row["speed_p50"] <= row["speed_p95"] <= 1)
            self.assertTrue(row["memory_fits"])
        self.assertEqual([row["speed_source"] for row in rows], ["predicted", "predicted", "observed", "observed"])
        self.assertEqual([row["demand_source"] for row in rows], ["predicted", "observed", "observed", "observed"])
        lines = list(csv.DictReader(io.StringIO(self.succeed("predict", "--together", "pair.csv", "--csv"))))
        self.assertEqual([float(line["speed_p50"]) for line in lines], [row["speed_p50"] for row in rows])
        self.assertIn("Speed 1 is the job's pace alone", self.succeed("predict", "--together", "pair.csv"))

    def test_shares_of_the_sms(self):
        rows = "profile,batch,precision,workers,group,sm_share\n"
        for group, share in (("all", 1), ("most", 0.8), ("some", 0.6)):
            rows += f"lstm:512x2,32,fp32,1,{group},\ntv:resnet152@224,32,bf16,4,{group},{share}\n"
        self.write("pair.csv", rows)
        rows = self.predictions("--together", "pair.csv")
        self.assertEqual([row["sm_share"] for row in rows], [1, 1, 1, 0.8, 1, 0.6])
        lstm, hog = ([row["speed_p50"] for row in rows[k::2]] for k in (0, 1))
        self.assertTrue(lstm[0] < lstm[1] < lstm[2], lstm)
        self.assertTrue(hog[0] > hog[1] > hog[2], hog)
        self.assertIn("80 %", self.succeed("predict", "--together", "pair.csv"))
        self.write("bad.csv", "model,sm_share\n" + ENCODER + ",1.2\n")
        self.assertIn("line 2, column sm_share", self.refuse("predict", "--together", "bad.csv"))


class NoModel(ModelTest):
    """For both commands that read one."""

    def refuse_model(self, model, words, *flags):
        for command in ("inspect", "predict"):
            with self.subTest(command=command, model=model, flags=flags):
                self.assertIn(words, self.refuse(command, model, *flags))

    def test_something_else(self):
        for name, contents in (("text.onnx", b"hello\n"), ("empty.onnx", b""), ("zeros.onnx", bytes(4096)),
                               ("random.onnx", b"\x9c" + bytes(i * 197 % 251 for i in range(3000))),
                               ("picture.onnx", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
                               ("weights.pt2", b"PK\x03\x04" + bytes(200)),
                               ("list.json", b"[1, 2, 3]"), ("other.json", b'{"answer": 42}'),
                               ("half.json", b'{"inputs": [')):
            self.refuse_model(self.write_bytes(name, contents), name)
        self.refuse_model("gone.onnx", "gone.onnx: no such file")
        (self.folder / "folder").mkdir()
        self.refuse_model("folder", "folder: is a folder without a config.json")

    def test_an_onnx_file_that_was_cut(self):
        whole = pathlib.Path(ENCODER).read_bytes()
        for share in (0.0005, 0.01, 0.1, 0.5, 0.9, 0.999):
            self.refuse_model(self.write_bytes("cut.onnx", whole[:int(share * len(whole))]), "cut.onnx")

    def test_an_archive_that_lies(self):
        whole = pathlib.Path(ARCHIVE).read_bytes()
        end = whole.rindex(b"PK\x05\x06")
        # The directory's entry of the graph: its header has 46 bytes, then comes the name.
        entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"models/"))
        size = 2**32 - 2

        def with_field(at, layout, value):
            changed = bytearray(whole)
            struct.pack_into(layout, changed, at, value)
            return bytes(changed)

        for name, contents in (("cut.pt2", whole[:len(whole) // 2]), ("headless.pt2", whole[100:]),
                               ("directory.pt2", with_field(end + 16, "<I", size)),
                               ("many.pt2", with_field(end + 10, "<H", 65000)),
                               ("sizes.pt2", with_field(entry + 24, "<I", size)),
                               ("offset.pt2", with_field(entry + 42, "<I", size)),
                               ("packed.pt2", with_field(entry + 10, "<H", 8))):
            self.refuse_model(self.write_bytes(name, contents), name)

    def test_numbers(self):
        for batch in ("0", "-1", "1.5", "1e3", "16777217", "99999999999999999999", "many", ""):
            self.refuse_model(ENCODER, f"--batch: '{batch}' is not allowed; give ", f"--batch={batch}")
        for bind in ("seq", "=3", "seq=", "seq=0", "seq=-1", "seq=x"):
            self.refuse_model(ENCODER, "--bind", f"--bind={bind}")

    def test_words(self):
        self.refuse_model(ENCODER, "'fp23' is no precision we know; use fp32", "--precision", "fp23")
        self.refuse_model(ENCODER, "'adagrad' is no optimizer we know; use sgd", "--optimizer", "adagrad")

    def test_a_dimension_that_nobody_gave(self):
        net = dict(LAYERS, inputs=[{"name": "x", "shape": ["batch", 3, "height", 32]}])
        model = self.write("open.json", json.dumps(net))
        self.refuse_model(model, "--bind height=")
        self.succeed("inspect", model, "--bind", "height=32")


class NoPrediction(ModelTest):
    def test_flags(self):
        for flags, words in ((["--gpu", "H2000"], "did you mean 'H200'?"), (["--workers", "-1"], "--workers: '-1'"),
                             (["--gpus", "0"], "--gpus: '0'"), (["--price", "nan"], "--price: 'nan'"),
                             (["--price", "-1"], "--price: '-1'"),
                             (["--trained", "gone.json"], "gone.json: no such file"),
                             (["--trained", "net.json"], "net.json: the trained model is damaged"),
                             (["--gpu-catalogue", "gone.csv"], "gone.csv: no such file"),
                             (["--manifest", "net.json"], "give a model, or many with --manifest")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.refuse("predict", ENCODER, *flags))
        self.assertIn("give a model, or many with --manifest", self.refuse("predict"))
        self.assertIn("--json excludes --csv", self.fail_with(2, "predict", ENCODER, "--json", "--csv"))
        self.assertIn("--manifest excludes --together",
                      self.fail_with(2, "predict", "--manifest", "a", "--together", "b"))

    def test_lists(self):
        for text, words in (("batch,precision\n8,fp32\n", "has no column 'model'"),
                            ("", "jobs.csv: is empty"), ("model,batch\n", "jobs.csv: has no rows"),
                            (f"model,batch\n{ENCODER},8\n{ENCODER},0\n", "jobs.csv: line 3, column batch"),
                            (f"model,batch\n{ENCODER},8\ngone.onnx,8\n",
                             "jobs.csv: line 3: gone.onnx: no such file"),
                            (f"model,batch\n{ENCODER},8,9\n", "jobs.csv: line 2"),
                            (f"model,gpu\n{ENCODER},H2000\n", "did you mean 'H200'?"),
                            (f"model,precision\n{ENCODER},fp8\n", "jobs.csv: line 2: 'fp8'"),
                            (f"model,optimizer\n{ENCODER},lion\n", "jobs.csv: line 2: 'lion'"),
                            ("model,profile\n,\n", "jobs.csv: line 2"),
                            ("\0\1\2", "jobs.csv")):
            for flag in ("--manifest", "--together"):
                with self.subTest(flag=flag, text=text):
                    self.write("jobs.csv", text)
                    self.assertIn(words, self.refuse("predict", flag, "jobs.csv"))

    def test_profiles(self):
        self.write("jobs.csv", "profile,batch,precision,workers\ntv:vgg61@224,64,bf16,4\n")
        self.assertIn("there is no profile 'tv:vgg61@224'; did you mean",
                      self.refuse("predict", "--together", "jobs.csv"))
        self.assertIn("use --together for profiles", self.refuse("predict", "--manifest", "jobs.csv"))
        self.write("jobs.csv", "profile,batch,precision,workers\ntv:vgg16@224,63,bf16,4\n")
        self.assertIn("was measured, but not with batch 63", self.refuse("predict", "--together", "jobs.csv"))
        self.write("jobs.csv", "profile,batch,precision,workers,gpu\ntv:vgg16@224,64,bf16,4,V100\n")
        self.assertIn("was measured on H200, not on V100", self.refuse("predict", "--together", "jobs.csv"))


class Train(ModelTest):
    CATALOGUE = "name,memory_gb,bandwidth_gbs,fp32_tflops,sms\nMine,16,500,10,40\n"

    def setUp(self):
        super().setUp()
        self.write("mine.csv", self.CATALOGUE)
        rows = ["workload,batch,precision,workers,gpu,model,family,gpu_util,steps_per_s,mem_used_bytes,cpu_cores,"
                "power_w"]
        for i in range(12):
            net = {"inputs": [{"name": "x", "shape": ["batch", 64 << i % 3]}],
                   "layers": [{"type": "linear", "out": 128 + 64 * i}]}
            self.write(f"net{i}.json", json.dumps(net))
            rows.append(f"w{i},{8 + i},fp32,2,Mine,net{i}.json,f{i % 3},{20 + i},{100 - i},{900000000 + i},1.5,120")
        self.profiles = self.write("profiles.csv", "\n".join(rows) + "\n")

    def train(self, *args):
        return self.succeed("train", self.profiles, "--gpu-catalogue", "mine.csv", "--out", *args, program=LAB)

    def test_a_model_of_ones_own(self):
        said = self.train("mine.json")
        self.assertIn("learnt from 12 workloads of 3 families", said)
        self.assertIn("--trained mine.json", said)
        row, = self.predictions("net3.json", "--batch", "11", "--workers", "2", "--gpu", "Mine",
                                "--gpu-catalogue", "mine.csv", "--trained", "mine.json")
        self.assertTrue(row["gpu_known"])
        self.assertAlmostEqual(row["gpu_memory_bytes_p50"] / 9e8, 1, delta=0.1)
        self.assertTrue(row["nearest"].startswith("w3 batch 11 fp32"), row["nearest"])
        self.write("pair.csv", "model\nnet1.json\nnet2.json\n")
        self.assertIn("--pairs FILE", self.refuse("predict", "--together", "pair.csv", "--gpu", "Mine",
                                                  "--gpu-catalogue", "mine.csv", "--trained", "mine.json"))

    def test_the_same_profiles_give_the_same_file(self):
        self.train("once.json")
        self.train("again.json")
        self.assertEqual((self.folder / "once.json").read_bytes(), (self.folder / "again.json").read_bytes())

    def test_a_trained_file_that_was_cut(self):
        self.train("mine.json")
        whole = (self.folder / "mine.json").read_bytes()
        for share in (0, 0.01, 0.5, 0.99):
            self.write_bytes("cut.json", whole[:int(share * len(whole))])
            self.assertIn("cut.json: the trained model is damaged",
                          self.refuse("predict", "net1.json", "--trained", "cut.json"))

    def test_refused(self):
        head, *rows = (self.folder / "profiles.csv").read_text(encoding="utf-8").splitlines()
        few = "\n".join([head, *rows[:3]])
        for text, words in (("", "bad.csv: is empty"), ("a,b\n1,2\n", "bad.csv: has no column"),
                            (few, "3 measured workloads are too few to learn from; give at least 8"),
                            (few.replace("net1.json", "gone.onnx"), "bad.csv: line 3: "),
                            (few.replace("fp32", "fp8", 1), "bad.csv: line 2: 'fp8'"),
                            (few.replace("Mine", "Yours", 1), "bad.csv: line 2: "),
                            ("workload,gpu\na,H200\n", "no row names the graph of its model")):
            with self.subTest(text=text):
                self.write("bad.csv", text)
                self.assertIn(words, self.refuse("train", "bad.csv", "--gpu-catalogue", "mine.csv",
                                                 "--out", "new.json", program=LAB))
        self.assertIn("gone.csv: no such file", self.refuse("train", "gone.csv", "--out", "new.json", program=LAB))
        self.assertIn("--out is required", self.fail_with(2, "train", self.profiles, program=LAB))

    def test_a_folder_that_is_not_there_is_told_before_the_training(self):
        self.assertIn("--out: the folder of 'none/new.json' does not exist",
                      self.refuse("train", "gone.csv", "--out", "none/new.json", program=LAB))

    def test_the_old_file_stays_when_the_new_one_fails(self):
        self.write("mine.json", "kept")
        self.write("bad.csv", "a,b\n1,2\n")
        self.refuse("train", "bad.csv", "--out", "mine.json", program=LAB)
        self.assertEqual((self.folder / "mine.json").read_text(encoding="utf-8"), "kept")


class Speed(ModelTest):
    """The bar is 30 ms for the whole command. Time on a busy machine says little, so it is held against what a start alone takes."""

    def cpu_seconds(self, *args):
        best = float("inf")
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.succeed(*args)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    def test_predict_takes_a_few_starts_of_the_program(self):
        self.assertLess(self.cpu_seconds("predict", ENCODER, "--batch", "16"), STARTS * max(0.003, self.cpu_seconds("--version")))


if __name__ == "__main__":
    unittest.main()
