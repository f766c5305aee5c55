#!/usr/bin/env python3
"""More architectures of the package transformers, made from their configurations with random weights: nothing is downloaded.

  python3 zoo/hub.py --model opt --batch 16 --precision bf16 --workers 1

`text:TYPE@LEN` classifies tokens (base sizes), `lm:TYPE-DxL@LEN` is a decoder with the next-token loss, `tr:TYPE-DxL@LEN` an encoder and a
decoder, `wave:TYPE@N` classifies waves, `whisper:DxL@FRAMES` writes down spectra, `ast:DxL@FRAMES` classifies them, `clip:DxL@SIZE`
matches images and words, `segformer:b0@SIZE` classifies pixels.
"""
import common
import feeds
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import Logits, Task

BASE = dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072)
TEXT = {
    'convbert': ('ConvBert', {}), 'squeezebert': ('SqueezeBert', {}), 'fnet': ('FNet', {}), 'mpnet': ('MPNet', {}), 'roformer': ('RoFormer', {}),
    'nystromformer': ('Nystromformer', dict(segment_means_seq_len=256, num_landmarks=64)), 'megatronbert': ('MegatronBert', BASE),
    'xlnet': ('XLNet', dict(d_model=768, n_layer=12, n_head=12, d_inner=3072)), 'funnel': ('Funnel', {}),
    'bigbird': ('BigBird', dict(attention_type='original_full')), 'ernie': ('Ernie', {}), 'deberta1': ('Deberta', {}), 'ibert': ('IBert', {}),
    'xlm': ('XLM', dict(emb_dim=512, n_layers=6, n_heads=8)), 'layoutlm': ('LayoutLM', {}),
    'modernbert': ('ModernBert', dict(reference_compile=False, num_hidden_layers=12))}


def decoder(kind, d, l):
    """The names that each configuration has for the same sizes."""
    h, ff = max(1, d // 64), 4 * d
    usual = dict(hidden_size=d, num_hidden_layers=l, num_attention_heads=h, vocab_size=32000)
    gated = usual | dict(intermediate_size=d * 8 // 3 // 64 * 64, num_key_value_heads=max(1, h // 2))
    short = dict(n_embd=d, n_layer=l, n_head=h, vocab_size=32000)
    return {
        'opt': ('OPT', usual | dict(ffn_dim=ff, word_embed_proj_dim=d)), 'gptneox': ('GPTNeoX', usual | dict(intermediate_size=ff)),
        'bloom': ('Bloom', dict(hidden_size=d, n_layer=l, n_head=h, vocab_size=32000)), 'falcon': ('Falcon', usual),
        'phi': ('Phi', usual | dict(intermediate_size=ff)), 'qwen2': ('Qwen2', gated), 'qwen3': ('Qwen3', gated | dict(head_dim=64)),
        'mistral': ('Mistral', gated | dict(head_dim=64)), 'gemma': ('Gemma', gated | dict(head_dim=64)), 'gemma2': ('Gemma2', gated | dict(head_dim=64)),
        'olmo': ('Olmo', gated), 'stablelm': ('StableLm', gated), 'starcoder2': ('Starcoder2', usual | dict(intermediate_size=ff, num_key_value_heads=h)),
        'granite': ('Granite', gated), 'cohere': ('Cohere', gated),
        'mixtral': ('Mixtral', gated | dict(num_local_experts=4, num_experts_per_tok=2, head_dim=64)),
        'qwen2moe': ('Qwen2Moe', gated | dict(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=d, shared_expert_intermediate_size=d)),
        'gptneo': ('GPTNeo', dict(hidden_size=d, num_layers=l, num_heads=h, vocab_size=32000, attention_types=[[['global', 'local'], l // 2]])),
        'gptj': ('GPTJ', short | dict(rotary_dim=32)), 'codegen': ('CodeGen', short | dict(rotary_dim=32)),
        'mpt': ('Mpt', dict(d_model=d, n_heads=h, n_layers=l, vocab_size=32000)), 'biogpt': ('BioGpt', usual | dict(intermediate_size=ff)),
        'xglm': ('XGLM', dict(d_model=d, num_layers=l, attention_heads=h, ffn_dim=ff, vocab_size=32000)),
        'mamba': ('Mamba', dict(hidden_size=d, num_hidden_layers=l, vocab_size=32000)),
        'rwkv': ('Rwkv', dict(hidden_size=d, num_hidden_layers=l, vocab_size=32000))}[kind]


TRANSLATORS = {'pegasus': 'PegasusForConditionalGeneration', 'marian': 'MarianMTModel', 'mbart': 'MBartForConditionalGeneration',
               'm2m100': 'M2M100ForConditionalGeneration', 'blenderbot': 'BlenderbotSmallForConditionalGeneration',
               'plbart': 'PLBartForConditionalGeneration', 'mt5': 'MT5ForConditionalGeneration', 'umt5': 'UMT5ForConditionalGeneration'}
WAVES = {'hubert': 'Hubert', 'wavlm': 'WavLM', 'sew': 'SEW', 'unispeech': 'UniSpeech', 'w2vconformer': 'Wav2Vec2Conformer', 'data2vec': 'Data2VecAudio'}
CONFIGS = {'MarianMTModel': 'MarianConfig'}
SEGFORMERS = {'b0': {}, 'b1': dict(hidden_sizes=[64, 128, 320, 512]), 'b2': dict(hidden_sizes=[64, 128, 320, 512], depths=[3, 4, 6, 3], decoder_hidden_size=768)}


class Pair(nn.Module):
    """An encoder-decoder as a function of what goes in and of the words so far."""

    def __init__(self, m, into='input_ids'):
        super().__init__()
        self.m, self.into = m, into

    def forward(self, x, words):
        return self.m(**{self.into: x}, decoder_input_ids=words, use_cache=False).logits


class Match(nn.Module):
    """CLIP: every image of the batch against all words."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, words, images):
        return self.m(input_ids=words, pixel_values=images).logits_per_image


def both_ways(model, b):
    o = model(*b).float()
    want = torch.arange(len(o), device=o.device)
    return F.cross_entropy(o, want) + F.cross_entropy(o.transpose(0, 1), want)


class Pixels(nn.Module):
    """A segmentation model's classes at the size of the image."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        return F.interpolate(self.m(x).logits, scale_factor=4.0, mode='bilinear')


def translator(kind, d, l):
    import transformers as t
    name = TRANSLATORS[kind]
    config = getattr(t, CONFIGS.get(name, name.replace('ForConditionalGeneration', 'Config')))
    if kind in ('mt5', 'umt5'):
        sizes = dict(d_model=d, d_kv=64, d_ff=4 * d, num_layers=l, num_heads=max(1, d // 64), vocab_size=32000, decoder_start_token_id=0)
    else:
        h = max(1, d // 64)
        sizes = dict(d_model=d, encoder_layers=l, decoder_layers=l, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d, encoder_attention_heads=h,
                     decoder_attention_heads=h, vocab_size=32000, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    return getattr(t, name)(config(**sizes))


def task(kind, rest, batch):
    import transformers as t
    ids = lambda n: torch.ones(batch, n, dtype=torch.long)
    shape, _, n = rest.partition('@')
    if kind == 'text':
        name, extra = TEXT[shape]
        n = int(n or 128)
        model = getattr(t, name + 'ForSequenceClassification')(getattr(t, name + 'Config')(num_labels=2, **extra))
        return Task(Logits(model), (ids(n),), feeds.Tokens(n), common.classify)
    if kind == 'lm':
        what, _, sizes = shape.partition('-')
        name, extra = decoder(what, *common.two(sizes))
        model = getattr(t, name + 'ForCausalLM')(getattr(t, name + 'Config')(**extra))
        return Task(Logits(model, use_cache=False), (ids(int(n)),), feeds.NextTokens(int(n)), common.tokenwise)
    if kind == 'tr':
        what, _, sizes = shape.partition('-')
        return Task(Pair(translator(what, *common.two(sizes))), (ids(int(n)), ids(int(n))), feeds.Translations(int(n)), common.tokenwise)
    if kind == 'wave':
        name = WAVES[shape]
        config = getattr(t, name + 'Config')(num_labels=2, apply_spec_augment=False, layerdrop=0.0)
        return Task(Logits(getattr(t, name + 'ForSequenceClassification')(config)), (torch.zeros(batch, int(n)),), feeds.Waves(int(n)), common.classify)
    d, l = common.two(shape) if 'x' in shape else (0, 0)
    h = max(1, d // 64)
    if kind == 'whisper':
        config = t.WhisperConfig(d_model=d, encoder_layers=l, decoder_layers=l, encoder_attention_heads=h, decoder_attention_heads=h, encoder_ffn_dim=4 * d,
                                 decoder_ffn_dim=4 * d, num_mel_bins=80, max_source_positions=int(n) // 2, vocab_size=10000, pad_token_id=0,
                                 bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
        example = (torch.randn(batch, 80, int(n)), ids(32))
        return Task(Pair(t.WhisperForConditionalGeneration(config), 'input_features'), example, feeds.Dictation(int(n)), common.tokenwise)
    if kind == 'ast':
        config = t.ASTConfig(hidden_size=d, num_hidden_layers=l, num_attention_heads=h, intermediate_size=4 * d, max_length=int(n), num_labels=2)
        return Task(Logits(t.ASTForAudioClassification(config)), (torch.randn(batch, int(n), 128),), feeds.Bands(int(n)), common.classify)
    if kind == 'clip':
        one = dict(hidden_size=d, num_hidden_layers=l, num_attention_heads=h, intermediate_size=4 * d)
        config = t.CLIPConfig(text_config=one | dict(vocab_size=10000, max_position_embeddings=64), projection_dim=d,
                              vision_config=one | dict(image_size=int(n), patch_size=16))
        return Task(Match(t.CLIPModel(config)), (ids(32), torch.randn(batch, 3, int(n), int(n))), feeds.Captions(int(n), 32), both_ways)
    if kind == 'segformer':
        model = Pixels(t.SegformerForSemanticSegmentation(t.SegformerConfig(num_labels=21, **SEGFORMERS[shape])))
        return Task(model, (torch.randn(batch, 3, int(n), int(n)),), feeds.Masks(int(n)), common.classify)
    raise AssertionError(kind)


KINDS = ('text', 'lm', 'tr', 'wave', 'whisper', 'ast', 'clip', 'segformer')
MODELS = {
    'opt': ('lm:opt-768x12@128', 8), 'qwen2': ('lm:qwen2-512x8@256', 8), 'mixtral': ('lm:mixtral-512x4@128', 8), 'marian': ('tr:marian-512x6@64', 16),
    'hubert': ('wave:hubert@32000', 8), 'whisper': ('whisper:384x4@600', 16), 'clip': ('clip:512x6@128', 32), 'segformer': ('segformer:b0@256', 8)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
