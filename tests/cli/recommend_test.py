#!/usr/bin/env python3
"""recommend: how to run a workload, with bounds, sources and reasons; and what is said when it cannot tell."""

import json
import pathlib
import unittest

from program import LAB, ProgramTest

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "h200"
RESNET = str(DATA / "onnx" / "tv_resnet50_224.onnx")
ENCODER = str(DATA / "onnx" / "enc_256x2.onnx")
ARCHIVE = str(DATA / "pt2" / "dqn_atari.pt2")
CHOICES = ["gpu", "precision", "batch", "workers", "cores", "share"]
HUGE = {"inputs": [{"name": "x", "shape": ["batch", 1048576]}], "layers": [{"type": "linear", "out": 1048576}]}
BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
        "max_position_embeddings": 128}


class Recommend(ProgramTest):
    def answer(self, *args):
        answer = json.loads(self.succeed("recommend", *args, "--json"))
        self.assertEqual(answer["schema"], 1)
        return answer

    def refuse(self, *args):
        """The message: one line, exit 2."""
        message = self.fail_with(2, "recommend", *args)
        self.assertEqual(message.count("\n"), 1, message)
        return message

    def test_every_format_and_every_choice(self):
        (self.folder / "bert").mkdir()
        self.write("bert/config.json", json.dumps(BERT))
        for model in (ENCODER, ARCHIVE, "bert"):
            with self.subTest(model=model):
                answer = self.answer(model, "--gpu", "H200,T4")
                self.assertEqual([choice["what"] for choice in answer["choices"]], CHOICES)
                for choice in answer["choices"]:
                    self.assertTrue(choice["why"] and choice["from"] and choice["source"], choice)
                samples = answer["figures"]["samples_per_second"]
                self.assertTrue(samples["p05"] < samples["p50"] < samples["p95"])
                self.assertEqual({row["gpu"] for row in answer["gpus"]}, {"H200", "T4"})

    def test_each_goal(self):
        for goal in ("throughput", "cost", "energy", "sharing"):
            with self.subTest(goal=goal):
                answer = self.answer(ENCODER, "--for", goal, "--gpu", "H200,A100", "--price", "H200=4,A100=1.5")
                self.assertEqual(answer["goal"], goal)
                self.assertIsNotNone(answer["figures"]["cost_per_million_samples"])
                self.assertIsNotNone(answer["batches"][f"best_for_{goal}"])

    def test_all_gpus_of_the_catalogue_are_tried(self):
        answer = self.answer(ENCODER)
        self.assertGreater(len(answer["gpus"]), 20)
        self.assertEqual(answer["gpus"][0]["gpu"], answer["recommendation"]["gpu"])
        rates = [row["samples_per_second"]["p50"] for row in answer["gpus"] if row["cell"]]
        self.assertEqual(rates, sorted(rates, reverse=True))

    def test_a_price_that_is_unknown_is_null_and_says_how_to_give_it(self):
        answer = self.answer(ENCODER, "--for", "cost", "--gpu", "A100,H200")
        self.assertIsNone(answer["figures"]["cost_per_million_samples"])
        self.assertIsNone(answer["batches"]["best_for_cost"])
        gpu = answer["recommendation"]["gpu"]
        self.assertTrue(any(f"--price {gpu}=PRICE" in remark for remark in answer["remarks"]))

    def test_what_was_measured_comes_first(self):
        own = self.answer("tv:resnet50@224")
        self.assertEqual(own["recommendation"]["source"], "observed")
        self.assertEqual(own["measured_as"], "tv:resnet50@224")
        named = self.answer(RESNET, "--gpu", "H200", "--batch", "64", "--precision", "bf16")
        self.assertEqual(named["recommendation"]["source"], "observed")
        self.assertTrue(named["recommendation"]["from"].startswith("data/h200/"))
        alone = self.answer(RESNET, "--gpu", "H200", "--batch", "64", "--precision", "bf16", "--predicted")
        self.assertEqual(alone["recommendation"]["source"], "predicted")
        self.assertIsNone(alone["measured_as"])
        given = self.answer(RESNET, "--gpu", "H200", "--batch", "64", "--measured", str(DATA / "cores.csv"))
        self.assertEqual(given["recommendation"]["cpu_cores"], 4)
        self.assertEqual(given["recommendation"]["from"], str(DATA / "cores.csv"))

    def test_text(self):
        text = self.succeed("recommend", RESNET, "--gpu", "H200,A100")
        for words in ("for throughput", "GPU model", "loader workers", "share the GPU", "samples a second",
                      "largest that fits", "best for energy", "cost of a million samples", "unknown",
                      "Nothing was learnt on" if "A100  " in text.split("why")[0] else "were measured on H200"):
            self.assertIn(words, text)

    def test_the_same_question_has_the_same_answer(self):
        args = ("recommend", ENCODER, "--gpu", "H200", "--json")
        self.assertEqual(self.succeed(*args), self.succeed(*args))

    def test_what_cannot_be_answered(self):
        huge = self.write("huge.json", json.dumps(HUGE))
        self.assertIn("does not fit the GPU model asked for. On H200, batch 1", self.refuse(huge, "--gpu", "H200"))
        self.assertIn("a smaller --batch", self.refuse(RESNET, "--gpu", "T4", "--batch", "16777216"))
        (self.folder / "cut.onnx").write_bytes(pathlib.Path(ENCODER).read_bytes()[:2000])
        self.assertIn("cut.onnx", self.refuse("cut.onnx"))
        self.assertIn("no such file, and no workload that was measured", self.refuse("none.onnx"))
        self.assertIn("did you mean 'tv:resnet50@224'?", self.refuse("tv:resnet5@224"))
        for flags, words in ((("--for", "speed"), "'speed' is no goal; give throughput, cost, energy or sharing"),
                             (("--gpu", "H20O"), "did you mean 'H200'?"),
                             (("--batch", "0"), "--batch"), (("--batch", "-1"), "--batch"),
                             (("--batch", "99999999999"), "--batch"), (("--cpus", "0"), "--cpus"),
                             (("--workers", "x"), "--workers"), (("--price", "3"), "as H200=3.5"),
                             (("--price", "H200=x"), "--price H200"), (("--price", "H200=0"), "above 0"),
                             (("--price", "Q=1"), "unknown GPU model"), (("--core-price", "-1"), "--core-price"),
                             (("--precision", "fp8"), "--precision"), (("--optimizer", "x"), "--optimizer"),
                             (("--bind", "x"), "--bind"), (("--workload", "x"), "was not measured"),
                             (("--predicted", "--workload", "x"), "--predicted ignores"),
                             (("--measured", str(DATA / "packing.csv")), "workload")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.refuse(ENCODER, *flags))

    def test_a_precision_that_the_gpu_lacks_is_questioned(self):
        answer = self.answer(ENCODER, "--gpu", "V100", "--precision", "bf16")
        self.assertTrue(any("V100 does not compute in bf16" in remark for remark in answer["remarks"]))
        self.assertEqual(self.answer(ENCODER, "--gpu", "V100", "--batch", "256")["recommendation"]["precision"],
                         "fp16")


class Evaluate(ProgramTest):
    program = LAB

    def test_profiles_are_needed(self):
        self.assertIn("--recommend needs profiles",
                      self.fail_with(2, "evaluate", "--recommend", str(DATA / "cores.csv")))


if __name__ == "__main__":
    unittest.main()
