"""Small real training loops, one per workload name, to measure a GPU with. The models and their data are those of zoo/.

A workload is (name, batch, precision, workers, optimizer). `build` makes the model and its loader on the CPU; `train` runs the loop
until it is told to stop. Nothing here knows how it is measured. README.md lists the names.
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'zoo'))

import common  # noqa: E402
from common import Task, make_optimizer  # noqa: E402, F401
from families import FAMILIES, task  # noqa: E402, F401


def build(name, batch, workers):
    t = task(name, batch)
    t.loader = common.make_loader(t.data, batch, workers)
    return t


def train(name, batch, precision, workers, tell, stop, optimizer='sgd', built=None):
    """Run the loop until `stop()`. tell('steady', parameters) once it is warm, then tell('step', reserved bytes, waited for the GPU)
    after each step. `built` is what `build` gave, where it was called ahead."""
    t = built or build(name, batch, workers)
    params = sum(p.numel() for p in t.model.parameters())
    for done in common.steps(t, precision, optimizer, 'cuda'):
        if done == 8:
            torch.cuda.synchronize()
            tell('steady', params, True)
        if done > 8:
            tell('step', torch.cuda.max_memory_reserved(), done % 2 == 0)
            if stop():
                break


def preload():
    """Import what the models need, so that processes forked afterwards start at once."""
    import timm, torchvision, transformers as t  # noqa: F401
    import torchvision.models.detection.backbone_utils, torchvision.models.segmentation, torchvision.models.video, torchvision.ops  # noqa: F401
    for m in ('BertForSequenceClassification', 'DistilBertForSequenceClassification', 'GPT2ForSequenceClassification', 'GPT2LMHeadModel',
              'RobertaForSequenceClassification', 'ElectraForSequenceClassification', 'AlbertForSequenceClassification',
              'DebertaV2ForSequenceClassification', 'MobileBertForSequenceClassification',
              'Wav2Vec2ForSequenceClassification', 'LlamaForCausalLM', 'T5ForConditionalGeneration', 'BartForConditionalGeneration',
              'MixtralForCausalLM', 'Qwen2ForCausalLM', 'WhisperForConditionalGeneration', 'CLIPModel', 'HubertForSequenceClassification'):
        try:
            getattr(t, m)
        except Exception as e:
            print('no', m, repr(e)[:100])
