#!/usr/bin/env python3
"""Language models: encoders, decoders and translators, over random tokens.

  python3 zoo/language.py --model transformer --batch 32 --precision bf16 --workers 1

enc, gpt, s2s and t5e need PyTorch alone; hf, bart, t5, llama and gpt2lm take their layers from the package transformers, with random weights.
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


class TextToText(nn.Module):
    """T5's layers in PyTorch alone, so that they can be exported: learnt biases by distance, norms without a mean, no other positions."""

    class Attention(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

        def forward(self, x, seen, bias):
            q, k, v = (f(y).unflatten(2, (self.heads, -1)).transpose(1, 2) for f, y in ((self.q, x), (self.k, seen), (self.v, seen)))
            a = q @ k.transpose(2, 3)
            a = (a if bias is None else a + bias).float().softmax(3).to(v.dtype)
            return self.o((a @ v).transpose(1, 2).flatten(2))

    class Norm(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.w = nn.Parameter(torch.ones(d))

        def forward(self, x):
            return self.w * (x * torch.rsqrt(x.float().pow(2).mean(2, keepdim=True) + 1e-6)).to(x.dtype)

    class Layer(nn.Module):
        def __init__(self, d, heads, crosses):
            super().__init__()
            t = TextToText
            self.n = nn.ModuleList(t.Norm(d) for _ in range(3 if crosses else 2))
            self.s, self.c = t.Attention(d, heads), t.Attention(d, heads) if crosses else None
            self.f = nn.Sequential(nn.Linear(d, 4 * d, bias=False), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * d, d, bias=False))

        def forward(self, x, bias, seen=None):
            y = self.n[0](x)
            x = x + self.s(y, y, bias)
            if self.c is not None:
                x = x + self.c(self.n[1](x), seen, None)
            return x + self.f(self.n[-1](x))

    def __init__(self, d, layers, length, vocab=32000, buckets=32):
        super().__init__()
        heads = max(1, d // 64)
        self.e = nn.Embedding(vocab, d)
        self.encoder = nn.ModuleList(TextToText.Layer(d, heads, False) for _ in range(layers))
        self.decoder = nn.ModuleList(TextToText.Layer(d, heads, True) for _ in range(layers))
        self.near, self.before = nn.Embedding(buckets, heads), nn.Embedding(buckets, heads)
        self.n = nn.ModuleList(TextToText.Norm(d) for _ in range(2))
        self.o = nn.Linear(d, vocab, bias=False)
        away = torch.arange(length)[None] - torch.arange(length)[:, None]
        self.register_buffer('away', (away.clamp(-buckets // 2, buckets // 2 - 1) + buckets // 2))
        self.register_buffer('mask', torch.full((length, length), float('-inf')).triu(1))

    def forward(self, src, tgt):
        bias, x = self.near(self.away).permute(2, 0, 1), self.e(src)
        for layer in self.encoder:
            x = layer(x, bias)
        x = self.n[0](x)
        bias, y = self.before(self.away).permute(2, 0, 1) + self.mask, self.e(tgt)
        for layer in self.decoder:
            y = layer(y, bias, x)
        return self.o(self.n[1](y))


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
    if kind == 't5e':
        shape, _, n = rest.partition('@')
        d, l = common.two(shape)
        return Task(TextToText(d, l, int(n)), (ids(int(n)), ids(int(n))), feeds.Translations(int(n)), common.tokenwise)
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


KINDS = ('enc', 'gpt', 's2s', 't5e', 'hf', 't5', 'bart', 'llama', 'gpt2lm')
MODELS = {
    'transformer': ('enc:512x6', 32), 'bert-like': ('enc:768x12', 32), 'gpt-like': ('gpt:768x12@256', 8),
    'translator': ('s2s:256x3@64', 32), 't5-like': ('t5e:512x6@64', 16), 'bert': ('hf:bert@128', 16), 'distilbert': ('hf:distilbert@128', 16),
    'gpt2': ('hf:gpt2@128', 32), 'llama': ('llama:512x8@256', 8)}

if __name__ == '__main__':
    common.main(__doc__, KINDS, task, MODELS)
