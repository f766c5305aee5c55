#!/usr/bin/env python3
"""Language models: encoders, decoders and translators, over random tokens.

  python3 zoo/language.py --model transformer --batch 32 --precision bf16 --workers 1

enc, gpt and s2s need PyTorch alone; hf, bart, t5, llama and gpt2lm take their layers from the package transformers, with random weights.
"""
import common
import feeds
import torch
import torch.nn as nn
from common import Logits, Task


class Encoder(nn.Module):
    def __init__(self, d=512, layers=6, heads=8, vocab=10000):
        super().__init__()
        self.e = nn.Embedding(vocab, d)
        self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True), layers, enable_nested_tensor=False)
        self.o = nn.Linear(d, 2)

    def forward(self, x):
        return self.o(self.t(self.e(x)).mean(1))


class Decoder(nn.Module):
    """GPT-like: causal self-attention with learnt positions, and the next token."""

    def __init__(self, d=768, layers=12, length=256, vocab=32000):
        super().__init__()
        self.e, self.p = nn.Embedding(vocab, d), nn.Embedding(length, d)
        layer = nn.TransformerEncoderLayer(d, max(1, d // 64), 4 * d, dropout=0.1, activation='gelu', batch_first=True, norm_first=True)
        self.t = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.o = nn.Linear(d, vocab, bias=False)
        self.register_buffer('mask', torch.full((length, length), float('-inf')).triu(1))

    def forward(self, x):
        at = torch.arange(x.shape[1], device=x.device)
        return self.o(self.t(self.e(x) + self.p(at), mask=self.mask, is_causal=True))


class Translator(nn.Module):
    """Encoder and decoder of nn.Transformer."""

    def __init__(self, d=256, layers=3, heads=8, length=64, vocab=10000):
        super().__init__()
        self.s, self.t = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.m = nn.Transformer(d, heads, layers, layers, 4 * d, batch_first=True)
        self.o = nn.Linear(d, vocab)
        self.register_buffer('mask', torch.full((length, length), float('-inf')).triu(1))

    def forward(self, src, tgt):
        return self.o(self.m(self.s(src), self.t(tgt), tgt_mask=self.mask))


class Logits2(nn.Module):
    """An encoder-decoder of Hugging Face as a function of both ids."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, src, tgt):
        return self.m(input_ids=src, decoder_input_ids=tgt, use_cache=False).logits


def classifier(kind):
    import transformers as t
    base = dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, num_labels=2)
    if kind == 'bert':
        return t.BertForSequenceClassification(t.BertConfig(num_labels=2))
    if kind == 'distilbert':
        return t.DistilBertForSequenceClassification(t.DistilBertConfig(num_labels=2))
    if kind == 'gpt2':
        return t.GPT2ForSequenceClassification(t.GPT2Config(num_labels=2, pad_token_id=0))
    if kind == 'roberta':
        return t.RobertaForSequenceClassification(t.RobertaConfig(num_labels=2))
    if kind == 'electra':
        return t.ElectraForSequenceClassification(t.ElectraConfig(num_labels=2))
    if kind == 'albert':
        return t.AlbertForSequenceClassification(t.AlbertConfig(**base))
    if kind == 'deberta':
        return t.DebertaV2ForSequenceClassification(t.DebertaV2Config(vocab_size=50265, relative_attention=True, pos_att_type=['p2c', 'c2p'], **base))
    if kind == 'mobilebert':
        return t.MobileBertForSequenceClassification(t.MobileBertConfig(num_labels=2))
    raise SystemExit(f'unknown classifier {kind}')


def task(kind, rest, batch):
    ids = lambda n: torch.ones(batch, n, dtype=torch.long)
    if kind == 'enc':
        d, l = common.two(rest)
        return Task(Encoder(d, l), (torch.zeros(batch, 200, dtype=torch.long),), feeds.Tokens(200), common.classify)
    if kind == 'gpt':
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(Decoder(d, l, length=int(n)), (ids(int(n)),), feeds.NextTokens(int(n), 32000), common.tokenwise)
    if kind == 's2s':
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(Translator(d, l, length=int(n)), (ids(int(n)), ids(int(n))), feeds.Translations(int(n)), common.tokenwise)
    if kind == 'hf':
        m, _, n = rest.partition('@')
        n = int(n or 128)
        return Task(Logits(classifier(m)), (ids(n),), feeds.Tokens(n), common.classify)
    if kind in ('t5', 'bart'):
        import transformers as t
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        if kind == 't5':
            m = t.T5ForConditionalGeneration(t.T5Config(d_model=d, d_kv=64, d_ff=4 * d, num_layers=l, num_heads=d // 64, decoder_start_token_id=0))
        else:
            m = t.BartForConditionalGeneration(t.BartConfig(d_model=d, encoder_layers=l, decoder_layers=l, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d,
                                                            encoder_attention_heads=d // 64, decoder_attention_heads=d // 64))
        return Task(Logits2(m), (ids(int(n)), ids(int(n))), feeds.Translations(int(n)), common.tokenwise)
    if kind in ('llama', 'gpt2lm'):
        import transformers as t
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        if kind == 'llama':
            m = t.LlamaForCausalLM(t.LlamaConfig(hidden_size=d, intermediate_size=d * 8 // 3 // 64 * 64, num_hidden_layers=l, num_attention_heads=d // 64,
                                                 num_key_value_heads=max(1, d // 128), vocab_size=32000, max_position_embeddings=2048))
        else:
            m = t.GPT2LMHeadModel(t.GPT2Config(n_embd=d, n_layer=l, n_head=d // 64))
        return Task(Logits(m, use_cache=False), (ids(int(n)),), feeds.NextTokens(int(n)), common.tokenwise)
    raise AssertionError(kind)


KINDS = ('enc', 'gpt', 's2s', 'hf', 't5', 'bart', 'llama', 'gpt2lm')
MODELS = {
    'transformer': ('enc:512x6', 32), 'bert-like': ('enc:768x12', 32), 'gpt-like': ('gpt:768x12@256', 8),
    'translator': ('s2s:256x3@64', 32), 'bert': ('hf:bert@128', 16), 'distilbert': ('hf:distilbert@128', 16),
    'gpt2': ('hf:gpt2@128', 32), 'llama': ('llama:512x8@256', 8)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
