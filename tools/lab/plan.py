"""A plan for measure.py and export.py, in order of value: what time does not reach is missed least. data/h200/profiles-2.csv and pairs-2.csv
are as much of it as one sitting of half an hour held.

  plan.py DIR      writes DIR/plan.json, DIR/names.json (the graphs to export) and DIR/pt2.json (those also as torch.export archives)

A line is [alias =] name batch precision workers [optimizer]; a pair is two aliases.
"""
import json
import os
import sys

TORCHVISION = """
r34 = tv:resnet34@224 64 bf16 4
eb0 = tv:efficientnet_b0@224 64 bf16 4
mv3s = tv:mobilenet_v3_small@224 128 bf16 4
vgg19 = tv:vgg19@224 32 bf16 2
ry4 = tv:regnet_y_400mf@224 64 bf16 4
swt = tv:swin_t@224 32 bf16 4
r34c = tv:resnet34@32 128 fp32 2
d169 = tv:densenet169@224 32 bf16 4
wrn = tv:wide_resnet50_2@224 32 bf16 4
mnas1 = tv:mnasnet1_0@224 64 bf16 4
vb32 = tv:vit_b_32@224 128 bf16 4
sq11 = tv:squeezenet1_1@224 128 bf16 4
cns = tv:convnext_small@224 32 bf16 4
r18f = tv:resnet18@224 64 fp32 4
eb0c = tv:efficientnet_b0@32 64 fp32 2
mv3l = tv:mobilenet_v3_large@224 64 bf16 4
r152 = tv:resnet152@224 32 bf16 4
sh2 = tv:shufflenet_v2_x2_0@224 128 bf16 4
vgg11 = tv:vgg11@224 64 bf16 4
ev2s = tv:efficientnet_v2_s@224 32 bf16 4
vgg19c = tv:vgg19@32 128 fp32 2
mv2f = tv:mobilenet_v2@224 32 fp32 4
r34w1 = tv:resnet34@224 128 bf16 1
mxv = tv:maxvit_t@224 16 bf16 4
tv:resnext101_32x8d@224 16 bf16 4
tv:regnet_x_800mf@224 128 bf16 4
tv:shufflenet_v2_x1_5@224 64 bf16 4
tv:mnasnet1_3@224 32 bf16 4
tv:efficientnet_b2@224 32 bf16 4
tv:mobilenet_v3_small@32 128 fp32 2
tv:regnet_y_1_6gf@224 32 bf16 4
tv:vgg13_bn@224 32 bf16 4
tv:densenet201@224 16 bf16 4
tv:swin_v2_t@224 16 bf16 4
tv:resnet101@32 64 fp32 2
tv:alexnet@224 256 bf16 8
tv:vit_l_32@224 16 bf16 4
tv:resnet34@224 128 bf16 8
tv:googlenet@224 32 fp32 4
tv:wide_resnet50_2@32 128 fp32 2
tv:squeezenet1_1@224 64 bf16 2
tv:mnasnet1_0@32 256 fp32 2
tv:regnet_x_3_2gf@224 32 bf16 4
tv:convnext_base@224 16 bf16 4
tv:inception_v3@299 64 bf16 4
tv:resnet50@128 64 bf16 4
tv:mobilenet_v3_large@224 128 bf16 2
tv:regnet_y_400mf@32 64 fp32 2
tv:efficientnet_b0@224 128 bf16 8
tv:densenet169@32 64 fp32 2
tv:vgg19@224 64 bf16 4
tv:mobilenet_v2@224 256 bf16 8
tv:resnet18@64 128 bf16 4
tv:resnext50_32x4d@32 64 fp32 2
tv:swin_s@224 16 bf16 4
tv:efficientnet_b3@224 16 bf16 4
tv:resnet18@224 256 bf16 12
tv:shufflenet_v2_x0_5@32 256 fp32 2
tv:alexnet@224 64 fp32 4
tv:resnet50@224 16 bf16 2
tv:efficientnet_v2_s@384 8 bf16 4
tv:vgg11@32 256 fp32 2
tv:resnet34@224 32 fp32 4
tv:googlenet@224 32 bf16 1
tv:squeezenet1_0@224 32 bf16 0
tv:mobilenet_v2@224 16 tf32 4
tv:resnet50@384 16 bf16 4
tv:resnet50@224 32 tf32 4
tv:mnasnet0_75@224 128 bf16 8
tv:regnet_y_8gf@224 16 bf16 4
tv:resnet18@224 16 bf16 1
tv:vit_b_16@224 16 bf16 2
"""

TIMM = """
vitT = timm:vit_tiny_patch16_224@224 128 bf16 4
ghost = timm:ghostnet_100@224 64 bf16 4
mixer = timm:mixer_b16_224@224 32 bf16 4
rep = timm:repvgg_a0@224 64 bf16 4
pool = timm:poolformer_s12@224 64 bf16 4
timm:seresnet50@224 32 bf16 4
timm:vit_small_patch16_224@224 64 bf16 4
timm:resmlp_12_224@224 64 bf16 4
timm:convnext_atto@224 128 bf16 4
timm:mobilevit_xxs@256 64 bf16 4
timm:hrnet_w18_small@224 32 bf16 4
timm:lcnet_050@224 256 bf16 8
timm:cait_xxs24_224@224 32 bf16 4
timm:swin_tiny_patch4_window7_224@224 16 bf16 4
timm:dla34@224 64 bf16 4
timm:mixnet_s@224 64 bf16 4
timm:res2net50_26w_4s@224 32 bf16 4
timm:xcit_tiny_12_p16_224@224 32 bf16 4
timm:dpn68@224 32 bf16 4
timm:rexnet_100@224 64 bf16 4
timm:levit_128s@224 128 bf16 4
timm:gmlp_s16_224@224 32 bf16 4
timm:cspresnet50@224 32 bf16 4
timm:tf_efficientnetv2_b0@224 64 bf16 4
timm:mixer_s32_224@224 128 bf16 4
timm:ese_vovnet19b_dw@224 64 bf16 4
timm:eca_nfnet_l0@224 32 bf16 4
timm:pit_ti_224@224 64 bf16 4
timm:skresnet18@224 64 bf16 4
timm:inception_v4@299 16 bf16 4
timm:edgenext_xx_small@224 64 bf16 4
timm:fbnetc_100@224 64 bf16 4
timm:convmixer_768_32@224 8 bf16 4
timm:resnetv2_50@224 32 bf16 4
timm:mobilenetv4_conv_small@224 128 bf16 4
timm:efficientformer_l1@224 32 bf16 4
timm:gernet_s@224 64 bf16 2
timm:tinynet_a@192 64 bf16 4
timm:visformer_tiny@224 64 bf16 4
timm:darknet53@224 16 bf16 4
timm:pvt_v2_b0@224 32 bf16 4
timm:convnextv2_atto@224 64 bf16 4
timm:selecsls42b@224 64 bf16 4
timm:resnet10t@128 128 bf16 4
timm:vit_small_patch32_224@224 128 fp32 4
timm:xception41@299 16 bf16 4
"""

TEXT = """
lst1 = lstm:1024x1 32 fp32 1
enc7 = enc:768x6 16 bf16 1
bert64 = hf:bert@64 32 bf16 1
dl7 = dlrm:1e7 4096 fp32 4
w16 = wav2vec2:16000 8 bf16 2
gpt256 = hf:gpt2@256 8 bf16 1
fm6 = deepfm:2e6 1024 fp32 4
lst2 = lstm:256x2 32 fp32 1
enc4 = enc:256x4 64 bf16 1
enc10 = enc:1024x4 16 bf16 1
hf:distilbert@256 16 bf16 1
lstm:768x2 16 fp32 1
dlrm:1e6 1024 fp32 4
hf:bert@512 8 bf16 1
enc:512x12 8 bf16 1
wav2vec2:24000 16 bf16 2
deepfm:1e7 2048 fp32 4
lstm:512x3 64 fp32 1
hf:distilbert@64 64 bf16 1
enc:384x6 32 bf16 1
hf:gpt2@64 16 bf16 1
dlrm:2e6 512 fp32 2
lstm:128x2 128 fp32 1
wav2vec2:64000 4 bf16 2
enc:512x4 64 fp32 1
deepfm:5e5 4096 fp32 8
lstm:512x2 64 bf16 1
hf:bert@128 4 bf16 1
"""

NEW = """
unet = unet:32@128 32 bf16 4
llama = llama:512x8@256 8 bf16 1
dqn = dqn:atari 128 fp32 4
deeplab = seg:deeplabv3_resnet50@256 8 bf16 4
gcn = gcn:128x3@207 64 fp32 2
gan = gan:64@64 128 fp32 4
electra = hf:electra@128 32 bf16 1
ds2 = ds2:512x3@300 16 bf16 2
ddpm = ddpm:64@32 64 bf16 2
ncf = ncf:1e6 4096 fp32 4
conformer = conformer:144x8@400 16 bf16 2
det = det:resnet18@256 16 bf16 4
gru = gru:512x2 32 fp32 1
albert = hf:albert@128 16 bf16 1
bilstm = bilstm:256x2 32 fp32 1
gat = gat:128x3@207 32 fp32 2
seg:lraspp_mobilenet_v3_large@256 16 bf16 4
gpt2lm:768x6@128 8 bf16 1
hf:roberta@128 16 bf16 1
ppo:256 2048 fp32 4
sage:256x3@207 64 bf16 2
bart:512x4@64 16 bf16 1
hf:mobilebert@128 16 bf16 1
det:mobilenet_v3_large@320 16 bf16 4
seg:fcn_resnet50@256 8 bf16 4
hf:deberta@128 16 bf16 1
unet:64@256 4 fp32 2
"""

ADAMW = """
tv:resnet50@224 64 bf16 4 adamw
hf:bert@128 32 bf16 1 adamw
llama:512x8@256 16 bf16 1 adamw
tv:efficientnet_b0@224 32 bf16 4 adamw
dlrm:4e6 2048 fp32 4 adamw
enc:512x6 16 bf16 1 adamw
timm:vit_small_patch16_224@224 32 bf16 4 adamw
lstm:512x2 16 fp32 1 adamw
"""

AGAIN = """
o50 = tv:resnet50@224 32 fp32 4
obert = hf:bert@128 16 bf16 1
ovgg = tv:vgg16@224 64 bf16 4
oenc = enc:512x6 32 bf16 1
olstm = lstm:512x2 32 fp32 1
omv2 = tv:mobilenet_v2@224 64 bf16 4
ofm = deepfm:4e6 2048 fp32 4
ow2v = wav2vec2:32000 8 bf16 2
tv:densenet121@32 64 fp32 2
tv:alexnet@224 128 bf16 4
tv:resnet18@32 64 fp32 2
tv:resnet18@224 128 bf16 8
tv:mnasnet0_5@224 128 bf16 4
"""

PAIRS = """
vgg19 unet
deeplab dqn
dl7 vgg19
albert r34
r34w1 llama
r18f mv2f
cns swt
eb0 wrn
lst1 gru
fm6 eb0
mxv vb32
electra deeplab
mv3s cns
d169 mv3l
dl7 mixer
r34c vgg19c
sq11 enc7
gan ds2
lst1 vgg19
ddpm unet
ghost mixer
conformer swt
dl7 llama
ev2s mnas1
det r152
r18f w16
ncf vitT
gcn electra
bilstm wrn
eb0c unet
fm6 gpt256
vb32 sh2
mv2f gcn
enc4 conformer
rep pool
mixer vgg11
vgg19 electra
mxv ncf
dl7 lst2
r34w1 ghost
dqn bilstm
wrn bert64
ddpm gat
unet r34c
sq11 gpt256
vitT ry4
sh2 enc10
deeplab r18f
ds2 albert
mv3s sq11
dl7 fm6
gpt256 conformer
lst1 dqn
enc7 enc4
gan gan
"""

PAIRS_AGAIN = """
vgg19 unet
dl7 vgg19
r34w1 llama
deeplab dqn
albert r34
"""

PAIRS_OLD = """
ovgg ovgg
omv2 ofm
olstm oenc
ow2v obert
"""

PT2 = ['tv:resnet34@224', 'timm:mixer_s32_224@224', 'dqn:atari', 'gcn:128x3@207', 'bilstm:256x2', 'ncf:1e6']
HEAVY = ('maxvit', 'swin', 'densenet', 'cait', 'xcit', 'inception_v4', 'efficientnet_b', 'efficientnet_v2', 'deberta', 'mobilebert', 'hrnet', 'resnet152',
         'res2net', 'dpn', 'mixnet', 'edgenext', 'convnext', 'bart', 'llama', 'wav2vec2', 'bert@512', 'regnet', 'vit_l', 'pvt', 'nfnet')
HAVE = """deepfm:1e6 deepfm:4e6 dlrm:2e7 dlrm:4e6 enc:256x2 enc:512x6 enc:768x12 hf:bert@128 hf:bert@256 hf:distilbert@128 hf:gpt2@128 lstm:1024x2
lstm:256x1 lstm:512x2 tv:alexnet@224 tv:convnext_tiny@224 tv:densenet121@224 tv:densenet121@32 tv:densenet161@224 tv:googlenet@224 tv:googlenet@32
tv:inception_v3@299 tv:mnasnet0_5@224 tv:mnasnet1_0@224 tv:mobilenet_v2@224 tv:mobilenet_v2@32 tv:resnet101@224 tv:resnet18@224 tv:resnet18@32
tv:resnet34@224 tv:resnet50@224 tv:resnet50@32 tv:resnext50_32x4d@224 tv:shufflenet_v2_x0_5@224 tv:shufflenet_v2_x1_0@224 tv:shufflenet_v2_x1_0@32
tv:squeezenet1_0@224 tv:vgg16@224 tv:vgg19@224 tv:vgg19@32 tv:vit_b_16@224 wav2vec2:32000 wav2vec2:48000""".split()

ALIAS = {}


def rows(text):
    out = []
    for line in text.split('\n'):
        if not line.strip():
            continue
        alias, _, rest = line.rpartition(' = ')
        w = rest.split()
        job = [w[0], int(w[1]), w[2], int(w[3]), w[4] if len(w) > 4 else 'sgd']
        if alias:
            ALIAS[alias.strip()] = job
        out.append(job)
    return out


def weave(*lists):
    """All of them, each spread evenly over the whole."""
    spread = [((i + 0.5) / len(l), k, x) for k, l in enumerate(lists) for i, x in enumerate(l)]
    return [x for _, _, x in sorted(spread, key=lambda s: s[:2])]


def plan():
    tv, tm, tx, new, adam, again = map(rows, (TORCHVISION, TIMM, TEXT, NEW, ADAMW, AGAIN))
    alone = lambda l: [{'jobs': [j], 'mps': 0, 'pass': 1} for j in l]
    pairs = lambda text, n: [{'jobs': [ALIAS[x] for x in l.split()], 'mps': 1, 'pass': n} for l in text.strip().split('\n')]
    new_pairs = pairs(PAIRS, 1)
    old, second = pairs(PAIRS_OLD, 1), pairs(PAIRS_AGAIN, 2)
    first = weave(tv[:46], tm[:28], tx[:20], new[:22], adam[:4], again[:10])
    middle = weave(tv[46:60], tm[28:34], tx[20:24], new[22:27], adam[4:6], again[10:])
    last = weave(tv[60:], tm[34:], tx[24:], new[27:], adam[6:])
    return (alone(first[:96]) + new_pairs[:30] + alone(first[96:]) + new_pairs[30:48] + old + second + alone(middle[:14]) + new_pairs[48:]
            + alone(middle[14:]) + alone(last))


if __name__ == '__main__':
    p = plan()
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    used = {j for e in p if len(e['jobs']) == 2 for j in map(json.dumps, e['jobs'])}
    done = set()
    for e in p:                                            # a pair's two must have been alone before
        if len(e['jobs']) == 2:
            assert all(json.dumps(j) in done for j in e['jobs']), e
            assert sum(j[3] for j in e['jobs']) <= 12
        else:
            assert json.dumps(e['jobs'][0]) not in done, e
            done.add(json.dumps(e['jobs'][0]))
    names = list(dict.fromkeys(j[0] for e in p for j in e['jobs'] if j[0] not in HAVE or j[0] in PT2))
    late = {j[0] for e in p[220:] for j in e['jobs']} - {j[0] for e in p[:220] for j in e['jobs']}
    names.sort(key=lambda n: (n in late, not any(h in n for h in HEAVY)))
    json.dump(names, open(out + '/names.json', 'w'))
    json.dump(p, open(out + '/plan.json', 'w'))
    json.dump(PT2, open(out + '/pt2.json', 'w'))
    count = lambda f: sum(map(f, p))
    print('alone', count(lambda e: len(e['jobs']) == 1), 'pairs', count(lambda e: len(e['jobs']) == 2), 'workloads in pairs', len(used), 'graphs', len(names))
