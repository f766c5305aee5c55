"""Small real training loops, one per workload name, to measure a GPU with. The models and their data are those of zoo/.

A workload is (name, batch, precision, workers, optimizer); a name may end in the way the loop is written, as in "tv:resnet50@224#compile" (written.py; the
optimizer is AdamW then). `build` makes the model and its loader on the CPU; `train` runs the loop
until it is told to stop. Nothing here knows how it is measured. README.md lists the names.
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'zoo'))

import common  # noqa: E402
from common import Task, make_optimizer  # noqa: E402, F401
import written  # noqa: E402
from families import FAMILIES, task  # noqa: E402, F401


def build(name, batch, workers):
    name, _, way = name.partition('#')
    t = task(name, batch)
    if way:
        t = written.change(t, way)
    t.loader = common.make_loader(t.data, batch, workers)
    return t


def train(name, batch, precision, workers, tell, stop, optimizer='sgd', built=None):
    """Run the loop until `stop()`. tell('steady', parameters) once it is warm, then tell('step', reserved bytes, waited for the GPU)
    after each step. `built` is what `build` gave, where it was called ahead."""
    t = built or build(name, batch, workers)
    params = sum(p.numel() for p in t.model.parameters())
    way = name.partition('#')[2]
    warm = 12 if way else 8  # three optimizer steps of a loop that accumulates: the second is told
    for done in written.steps(t, way, precision) if way else common.steps(t, precision, optimizer, 'cuda'):
        if done == warm:
            torch.cuda.synchronize()
            tell('steady', params, True)
        if done > warm:
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
