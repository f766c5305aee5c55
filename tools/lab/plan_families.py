"""A plan for measure.py that brings every family to eight rows, new architectures first: what time does not reach is missed least.

  plan_families.py DIR [--data data/h200] [--rows N]     writes DIR/plan.json and DIR/names.json (the graphs to export)

CELLS has a line for each: name batch precision workers [optimizer]. What profiles*.csv in DATA have already is left out. The next cell is always of
the family with the fewest rows so far, so that a plan that is cut off anywhere has them spread as evenly as they can be. Loops of earlier
sittings are measured again now and then (AGAIN): they say what of a difference is the machine.
"""
import argparse
import csv
import glob
import json
import os

import plan as third
import tables

ROWS = 8                                       # that a family is to have
SLOW = 3                                       # rows that a loop whose warming up takes ten seconds and more is put back by

AGAIN = """
tv:resnet50@224 32 fp32 4
enc:512x6 32 bf16 1
tv:vgg16@224 64 bf16 4
deepfm:4e6 2048 fp32 4
hf:bert@128 16 bf16 1
lstm:512x2 32 fp32 1
tv:mobilenet_v2@224 64 bf16 4
llama:512x8@256 8 bf16 1
tv:resnet18@224 128 bf16 8
gcn:128x3@207 64 fp32 2
tv:alexnet@224 128 bf16 4
wav2vec2:32000 8 bf16 2
"""

CELLS = """
mamba2:512x8@256 16 bf16 1
s4d:256x6@512 16 bf16 1
retnet:512x8@256 16 bf16 1
mamba2:256x4@512 8 fp32 0
retnet:768x6@512 8 bf16 2 adamw
s4d:512x4@256 32 fp32 1
mamba2:768x6@256 8 bf16 1 adamw
lm:mamba-256x2@64 16 bf16 1
retnet:256x8@128 64 tf32 1
pointnet:64@1024 32 fp32 2
dgcnn:20@1024 16 bf16 4
pct:128x4@1024 16 bf16 2
pointnet2:64@1024 16 fp32 4
pointnet:32@2048 64 bf16 8
dgcnn:10@512 32 fp32 2
pct:256x4@512 32 tf32 2 adamw
pointnet2:32@2048 16 bf16 0
pointnet:128@1024 16 tf32 4
video:r3d_18@16x112 8 bf16 4
video:r2plus1d_18@16x112 4 bf16 4
video:mc3_18@16x112 8 bf16 8
video:swin3d_t@16x112 4 bf16 4
video:s3d@16x224 4 bf16 8
video:mvit_v1_b@16x224 2 bf16 4 adamw
video:r3d_18@8x112 16 tf32 4
video:swin3d_s@8x112 4 bf16 2
video:mc3_18@8x112 8 fp32 2
tcn:128x8@512 64 fp32 2
wavenet:64x20@4000 4 bf16 1
nbeats:512x8@256 256 fp32 4
tcn:256x6@1024 32 bf16 4 adamw
wavenet:32x30@8000 2 fp32 1
nbeats:1024x6@128 512 bf16 8
tcn:64x10@2000 16 tf32 2
nbeats:256x12@64 1024 fp32 4 adamw
wavenet:128x10@2000 8 tf32 1
lm:mixtral-512x4@128 8 bf16 1
lm:qwen2moe-512x4@128 8 bf16 1
lm:mixtral-256x4@256 8 fp32 1
lm:qwen2moe-256x6@256 8 bf16 1 adamw
lm:mixtral-768x2@128 16 tf32 0
lm:mixtral-512x4@256 4 bf16 2 adamw
lm:qwen2moe-768x2@128 8 fp32 1
lm:mixtral-256x8@64 16 bf16 1
whisper:384x4@600 16 bf16 2
whisper:512x6@400 8 bf16 1 adamw
whisper:256x4@1000 8 fp32 2
whisper:768x4@300 16 tf32 4
whisper:384x4@600 4 bf16 0
whisper:512x2@800 16 bf16 8
whisper:256x8@200 32 bf16 2
whisper:768x12@400 4 bf16 1 adamw
clip:512x6@128 32 bf16 4
clip:256x8@224 32 bf16 8
clip:768x6@224 16 bf16 4 adamw
clip:384x4@160 64 tf32 6
clip:512x12@224 8 bf16 2
clip:512x6@128 64 fp32 4
clip:256x4@96 128 bf16 8
clip:768x12@128 16 bf16 1
vae:32@64 128 fp32 4
vae:64@128 32 bf16 4
vae:64@64 128 tf32 8 adamw
vae:128@64 64 bf16 2
vae:32@128 64 bf16 0
vae:16@32 256 fp32 4
vae:128@128 16 fp32 4
vae:32@256 16 bf16 6 adamw
edsr:64x16@48 16 bf16 4
edsr:128x8@64 8 fp32 4
edsr:64x8@96 8 bf16 2 adamw
edsr:32x16@64 32 tf32 8
edsr:256x8@32 16 bf16 4
edsr:64x32@48 8 bf16 1
edsr:64x4@128 8 bf16 4
edsr:96x12@48 16 fp32 0
mlp:1024x4 1024 fp32 2
mlp:4096x6 1024 bf16 4
mlp:2048x8 512 tf32 4 adamw
mlp:512x16 4096 bf16 8
mlp:8192x2 256 fp32 1
mlp:256x4 2048 fp32 0
mlp:2048x3 8192 bf16 12
mlp:1024x12 1024 bf16 4 adamw
text:convbert@128 16 bf16 1
text:fnet@256 16 tf32 1
text:squeezebert@128 32 bf16 1
text:funnel@128 16 bf16 1
text:xlnet@128 16 bf16 1
text:nystromformer@256 8 bf16 1
text:fnet@128 32 fp32 0 adamw
text:squeezebert@256 8 tf32 1
text:convbert@64 32 fp32 2
boxes:retinanet_resnet50_fpn@512 4 bf16 4
boxes:ssd300_vgg16@300 8 bf16 4
boxes:fasterrcnn_mobilenet_v3_large_fpn@512 4 bf16 4
boxes:fcos_resnet50_fpn@512 4 bf16 2
boxes:ssdlite320_mobilenet_v3_large@320 8 bf16 4
boxes:fasterrcnn_resnet50_fpn@512 4 bf16 4
mask:resnet50@512 4 bf16 4
det:mobilenet_v3_large@320 16 bf16 4
det:resnet50@256 8 bf16 4
boxes:retinanet_resnet50_fpn_v2@384 4 tf32 4 adamw
boxes:fcos_resnet50_fpn@384 8 fp32 4
det:resnet34@320 8 tf32 8 adamw
mask:resnet50@512 2 fp32 4
t5e:512x6@64 16 bf16 1
gnmt:512x4@32 64 bf16 1
s2s:256x3@64 32 bf16 1
tr:marian-512x6@64 16 bf16 1
tr:pegasus-256x4@128 16 bf16 1
t5:512x6@64 16 bf16 1
tr:m2m100-512x4@64 16 fp32 1
t5e:768x4@128 8 tf32 1 adamw
s2s:512x6@128 32 bf16 1
tr:mbart-512x3@128 8 bf16 0 adamw
gnmt:1024x2@64 32 fp32 1
tr:blenderbot-256x6@64 32 bf16 1
bart:256x6@128 16 tf32 2
gin:128x3@1000 32 fp32 2
egat:128x3@1000 32 fp32 4
mpnn:128x3@1000 16 bf16 2
gin:256x5@500 32 bf16 4 adamw
egat:64x4@2000 8 tf32 1
mpnn:64x4@207 64 fp32 2
gcn:256x4@500 32 tf32 4
sage:128x6@1000 16 fp32 0
dit:384x12@64 32 bf16 4
ddpm:96@32 32 bf16 4
ddpm:64@64 16 bf16 4
dit:512x8@32 64 bf16 2 adamw
ddpm:128@32 32 tf32 4 adamw
ddpm:32@64 32 fp32 2
dit:256x6@128 8 fp32 4
dit:768x6@64 16 bf16 1
gan:64@32 256 fp32 4
gan:32@64 64 bf16 2
gan:128@64 64 tf32 4
gan:64@128 32 bf16 4 adamw
gan:96@64 128 bf16 8
gan:32@128 64 fp32 0
gan:128@32 128 bf16 1
ds2:256x5@200 32 fp32 2
ds2:768x2@300 16 bf16 2
ds2:384x4@400 8 fp32 1
ds2:512x3@150 64 tf32 4 adamw
ds2:1024x2@200 16 bf16 2
ds2:256x2@600 16 fp32 0
ds2:512x5@300 8 bf16 1
conformer:256x6@400 16 bf16 2
conformer:144x16@300 16 fp32 2
conformer:512x4@400 8 bf16 1 adamw
conformer:192x12@600 8 tf32 4
conformer:96x8@200 64 bf16 4
conformer:256x12@200 8 bf16 0
conformer:384x6@800 4 fp32 2
towers:1e6 2048 fp32 4
ncf:2e6 4096 fp32 4
towers:2e6 4096 bf16 8
ncf:2e5 8192 fp32 8 adamw
ncf:5e5 2048 fp32 2
towers:2e5 1024 tf32 2
ncf:1e6 16384 bf16 12
sac:256 256 fp32 2
impala:32 64 fp32 4
sac:1024 1024 fp32 4 adamw
impala:16 128 bf16 8
ppo:1024 4096 tf32 4
impala:64 32 tf32 2
dqn:atari 512 bf16 8
lm:qwen2-512x8@256 8 bf16 1
lm:mistral-768x4@256 8 bf16 1
lm:gemma-512x6@128 8 bf16 1 adamw
lm:phi-512x8@128 16 bf16 1
lm:stablelm-768x6@256 8 tf32 1
lm:olmo-512x8@128 16 fp32 1
lm:starcoder2-512x6@256 8 bf16 1
lm:qwen3-768x6@512 4 bf16 1
lm:granite-512x12@128 4 bf16 0
lm:opt-768x12@128 8 bf16 1
lm:gptneox-512x8@256 8 bf16 1
lm:bloom-512x6@128 16 bf16 1
lm:falcon-512x8@256 8 bf16 1 adamw
lm:gptj-512x6@256 8 fp32 1
lm:mpt-512x8@128 16 bf16 1
lm:gptneo-768x6@128 8 tf32 1
gpt:512x8@128 16 bf16 2
seg:fcn_resnet50@256 8 bf16 4
segformer:b0@256 8 bf16 4
seg:deeplabv3_mobilenet_v3_large@256 16 bf16 4
segformer:b1@256 8 fp32 4 adamw
seg:fcn_resnet101@256 4 tf32 4
seg:lraspp_mobilenet_v3_large@320 8 fp32 2
seg:deeplabv3_resnet101@256 4 bf16 4
unet:64@256 4 fp32 2
unet:48@128 16 bf16 4
unet:16@256 16 bf16 8
unet:64@128 16 tf32 4 adamw
unet:32@256 8 bf16 2
unet:96@64 32 fp32 4
unet:24@192 32 bf16 0
tv:swin_s@224 16 bf16 4
timm:swin_small_patch4_window7_224@224 16 bf16 4 adamw
timm:swinv2_tiny_window8_256@256 16 bf16 4
timm:swin_s3_tiny_224@224 32 tf32 6
tv:swin_t@224 16 fp32 4
timm:mobilenetv4_conv_small@224 128 bf16 4
timm:mobilenetv4_conv_medium@224 32 bf16 4
timm:mobilenetv4_conv_small_050@224 256 fp32 8
timm:mobilenetv4_hybrid_medium@224 32 bf16 4 adamw
timm:mobilenetv4_conv_large@224 16 bf16 2
timm:mobilenetv4_conv_small@224 32 tf32 0
timm:mobilenetv4_conv_medium@128 128 fp32 4
timm:mobilenetv4_conv_blur_medium@224 32 bf16 4
timm:darknet53@224 16 bf16 4
timm:selecsls42b@224 64 bf16 4
timm:gernet_s@224 64 bf16 2
timm:cs3darknet_m@224 32 bf16 4
timm:cspdarknet53@224 16 tf32 4
timm:gernet_m@224 32 fp32 4
timm:selecsls60@224 32 bf16 6 adamw
timm:cs3darknet_focus_s@224 64 bf16 12
timm:xception41@299 16 bf16 4
timm:xception65@224 8 bf16 4
timm:xception41p@224 16 tf32 4
timm:xception71@224 8 bf16 2
timm:xception41@224 32 fp32 4
timm:xception65p@224 16 bf16 4 adamw
timm:xception41@128 64 bf16 4
timm:xception65@128 32 fp32 4
timm:visformer_tiny@224 64 bf16 4
timm:pvt_v2_b0@224 32 bf16 4
timm:efficientformer_l1@224 32 bf16 4
timm:edgenext_xx_small@224 64 bf16 4
timm:coat_lite_tiny@224 32 bf16 4
timm:convit_tiny@224 32 bf16 4
timm:fastvit_t8@256 32 bf16 4
timm:repvit_m1@224 32 bf16 4
timm:efficientvit_b0@224 64 bf16 4
timm:focalnet_tiny_srf@224 16 bf16 4
timm:tiny_vit_5m_224@224 32 bf16 4 adamw
timm:crossvit_9_240@240 32 tf32 4
timm:tnt_s_patch16_224@224 16 bf16 4
timm:davit_tiny@224 16 bf16 4
timm:hiera_tiny_224@224 16 bf16 4
timm:mvitv2_tiny@224 16 bf16 4
timm:swiftformer_xs@224 64 fp32 4
timm:sequencer2d_s@224 16 bf16 4
timm:nest_tiny_jx@224 16 bf16 4
timm:pvt_v2_b1@224 32 fp32 4
timm:dla46_c@224 64 bf16 4
timm:dla60@224 32 bf16 4
timm:dla60x_c@224 64 tf32 4
timm:dla102@224 16 bf16 4 adamw
timm:dla34@224 32 fp32 2
timm:dla46x_c@224 128 bf16 12
timm:dla60x@224 32 bf16 4
timm:cait_xxs36_224@224 16 bf16 4
timm:cait_s24_224@224 8 bf16 4 adamw
timm:cait_xxs24_224@224 64 tf32 8
timm:cait_xxs24_384@384 8 bf16 2
timm:cait_xxs24_224@224 16 fp32 4
timm:cait_xxs36_224@224 32 bf16 0
timm:cait_s24_224@224 16 bf16 4
timm:dpn68b@224 32 bf16 4
timm:dpn48b@224 64 bf16 4
timm:dpn92@224 8 bf16 4
timm:dpn68@224 16 tf32 4 adamw
timm:dpn68@128 64 fp32 2
timm:dpn98@224 8 bf16 4
timm:dpn68b@224 64 bf16 8
timm:eca_nfnet_l1@224 16 bf16 4
timm:nfnet_l0@224 32 bf16 4
timm:dm_nfnet_f0@192 16 bf16 4
timm:nf_resnet50@224 32 tf32 4
timm:nf_regnet_b1@224 32 bf16 2
timm:eca_nfnet_l0@224 16 fp32 4 adamw
timm:nf_regnet_b0@192 64 bf16 4
timm:ese_vovnet39b@224 32 bf16 4
timm:ese_vovnet19b_dw@224 64 fp32 4
timm:ese_vovnet57b@224 16 bf16 4 adamw
timm:ese_vovnet39b@224 16 tf32 2
timm:vovnet39a@224 32 bf16 6
timm:ese_vovnet19b_dw@224 128 bf16 12
timm:vovnet57a@224 16 bf16 4
timm:ghostnet_050@224 128 bf16 4
timm:ghostnetv2_100@224 64 bf16 4
timm:ghostnet_130@224 64 fp32 4
timm:ghostnet_100@224 128 tf32 8 adamw
timm:ghostnet_050@224 256 bf16 12
timm:ghostnetv2_130@224 32 bf16 2
timm:ghostnet_130@224 64 bf16 0
timm:hrnet_w18_small_v2@224 32 bf16 4
timm:hrnet_w18_small@224 64 fp32 4
timm:hrnet_w18@224 16 bf16 4
timm:hrnet_w18_small@224 16 tf32 2 adamw
timm:hrnet_w18_small_v2@128 64 bf16 4
timm:lcnet_100@224 128 bf16 8
timm:lcnet_075@224 64 fp32 4
timm:lcnet_150@224 128 tf32 8
timm:lcnet_035@224 256 bf16 12
timm:lcnet_100@224 64 bf16 0 adamw
timm:lcnet_050@128 256 fp32 4
timm:lcnet_150@224 64 bf16 4
timm:levit_192@224 64 bf16 4
timm:levit_256@224 64 bf16 8
timm:levit_128@224 64 fp32 4
timm:levit_384@224 32 tf32 4 adamw
timm:levit_128s@224 256 bf16 12
timm:levit_192@224 32 fp32 2
timm:levit_256@224 128 bf16 4
timm:mixnet_m@224 64 bf16 4
timm:mixnet_l@224 32 bf16 4
timm:mixnet_s@224 32 fp32 2
timm:mixnet_m@224 32 tf32 4 adamw
timm:mobilevit_xs@256 32 bf16 4
timm:mobilevit_s@256 32 bf16 4 adamw
timm:mobilevitv2_050@256 64 bf16 4
timm:mobilevitv2_100@256 32 tf32 4
timm:mobilevit_xxs@256 32 fp32 4
timm:mobilevitv2_075@256 64 bf16 8
timm:mobilevitv2_050@192 64 fp32 0
timm:pit_xs_224@224 64 bf16 4
timm:pit_s_224@224 32 bf16 4
timm:pit_b_224@224 16 tf32 4
timm:pit_ti_224@224 128 bf16 12
timm:pit_s_224@224 64 fp32 4 adamw
timm:pit_xs_224@224 32 bf16 1
timm:pit_b_224@224 32 bf16 4
timm:poolformer_s24@224 32 bf16 4
timm:caformer_s18@224 16 bf16 4
timm:convformer_s18@224 16 bf16 4
timm:poolformerv2_s12@224 32 tf32 4 adamw
timm:poolformer_s12@224 32 fp32 4
timm:poolformer_s36@224 16 bf16 2
timm:caformer_s18@224 32 bf16 8
timm:repvgg_b0@224 64 bf16 4
timm:mobileone_s0@224 64 bf16 4
timm:repvgg_a2@224 32 bf16 4
timm:mobileone_s1@224 64 tf32 4
timm:repvgg_a1@224 64 fp32 4 adamw
timm:repvgg_b1g4@224 16 bf16 2
timm:repvgg_b0@128 128 bf16 8
timm:rexnet_130@224 64 bf16 4
timm:rexnet_150@224 32 bf16 4
timm:rexnetr_200@224 32 bf16 4
timm:rexnet_200@224 16 tf32 4 adamw
timm:rexnet_100@224 32 fp32 4
timm:xcit_nano_12_p16_224@224 64 bf16 4
timm:xcit_tiny_24_p16_224@224 16 bf16 4
timm:xcit_small_12_p16_224@224 16 tf32 4 adamw
timm:xcit_nano_12_p16_224@224 128 fp32 8
timm:maxvit_tiny_tf_224@224 8 bf16 4
timm:maxxvit_rmlp_nano_rw_256@256 16 bf16 4
timm:maxvit_nano_rw_256@256 16 bf16 4 adamw
timm:maxvit_rmlp_pico_rw_256@256 32 tf32 4
timm:convmixer_768_32@224 8 bf16 4
timm:convnextv2_atto@224 64 bf16 4
timm:mambaout_femto@224 64 bf16 4
timm:inception_next_atto@224 64 fp32 4
timm:fbnetc_100@224 64 bf16 4
timm:tinynet_a@192 64 bf16 4
timm:hardcorenas_a@224 64 tf32 4
timm:semnasnet_075@224 64 bf16 4 adamw
tv:mnasnet0_75@224 128 bf16 8
timm:resnetv2_50@224 32 bf16 4
timm:resnest14d@224 64 bf16 4
timm:seresnext26d_32x4d@224 32 bf16 4
timm:resnet10t@128 128 bf16 4
tv:efficientnet_v2_s@384 8 bf16 4
tv:efficientnet_b3@224 16 bf16 4
tv:regnet_y_8gf@224 16 bf16 4
timm:regnetx_002@224 128 fp32 8
timm:regnety_008@224 64 tf32 4 adamw
timm:regnetz_b16@224 32 bf16 4
timm:vit_small_patch32_224@224 128 fp32 4
timm:deit3_small_patch16_224@224 32 bf16 4 adamw
timm:beit_base_patch16_224@224 16 bf16 4
ast:384x6@512 16 bf16 2
timm:eva02_tiny_patch14_224@224 32 tf32 4
timm:mixer_b32_224@224 64 bf16 4 adamw
timm:gmlp_ti16_224@224 64 tf32 4
timm:resmlp_24_224@224 32 bf16 4
timm:gmixer_24_224@224 32 fp32 4
timm:mobilenetv3_small_050@224 256 bf16 12
timm:mobilenetv3_large_075@224 64 tf32 4
tv:mobilenet_v3_small@224 128 fp32 4 adamw
timm:mobilenetv3_rw@224 64 bf16 0
timm:mobilenetv2_140@224 32 tf32 4
tv:shufflenet_v2_x0_5@32 256 fp32 2
tv:shufflenet_v2_x1_5@224 64 tf32 4 adamw
tv:squeezenet1_0@224 32 bf16 0
tv:squeezenet1_1@224 128 fp32 12
tv:squeezenet1_0@224 64 tf32 4 adamw
tv:squeezenet1_1@224 32 bf16 4
hf:mobilebert@128 16 bf16 1
hf:deberta@128 16 bf16 1
text:mpnet@128 16 bf16 1
text:roformer@128 16 fp32 1
text:modernbert@256 8 bf16 1
text:megatronbert@256 8 tf32 1 adamw
text:ernie@64 32 bf16 0
text:xlm@128 32 bf16 1
text:ibert@128 16 bf16 1
sasrec:128x2@50 128 bf16 2
sasrec:256x4@100 64 tf32 4 adamw
dcn:1e6 2048 fp32 4
autoint:1e6 1024 fp32 4
wide:1e6 2048 fp32 8
dcn:4e6 4096 bf16 12 adamw
dlrm-host:5e6 2048 fp32 4
d2v:32000 8 bf16 2
wave:hubert@32000 8 bf16 2
wave:wavlm@24000 8 bf16 2
wave:sew@32000 8 bf16 2
wave:w2vconformer@24000 4 bf16 1
wave:unispeech@24000 8 tf32 2
wav2vec2:64000 4 bf16 2
lstm:128x2 128 fp32 1
gru:1024x1 64 tf32 2 adamw
bilstm:512x1 64 bf16 0
enc:512x4 64 fp32 1
deepfm:5e5 4096 fp32 8
tv:vgg11@32 256 fp32 2
tv:vgg13_bn@224 32 tf32 4
tv:resnet18@64 128 bf16 4
tv:resnet50@384 16 bf16 4
tv:resnext50_32x4d@32 64 fp32 2
tv:alexnet@224 64 tf32 12 adamw
tv:resnet50@224 32 tf32 4
tv:resnet18@224 256 bf16 12
tv:mobilenet_v2@224 16 tf32 4
dlrm-host:5e7 4096 fp32 4
timm:hrnet_w18_small@128 64 fp32 2
timm:hrnet_w18_small_v2@224 16 fp32 4
tv:maxvit_t@224 8 fp32 4
timm:maxvit_nano_rw_256@256 8 tf32 2
timm:maxxvit_rmlp_nano_rw_256@256 8 fp32 4
timm:mixnet_s@128 128 bf16 8
timm:mixnet_l@224 16 tf32 4
timm:mixnet_m@128 64 fp32 4
timm:rexnet_130@128 64 fp32 4
timm:rexnet_100@224 128 bf16 8
tv:shufflenet_v2_x2_0@224 32 fp32 4
tv:densenet121@224 16 bf16 2
tv:inception_v3@299 16 tf32 4
timm:xcit_tiny_12_p16_224@224 16 fp32 2
timm:xcit_nano_12_p16_224@224 32 tf32 4 adamw
timm:xcit_small_12_p16_224@224 8 bf16 4
"""

SLOW_NAMES = ('xception', 'hrnet', 'mixnet', 'dpn', 'rexnet', 'nfnet', 'nf_re', 'efficientnet', 'maxvit', 'maxxvit', 'convmixer', 'sequencer', 'video:s3d',
              'video:mvit', 'video:r2plus1d', 'ssdlite', 'boxes:retinanet_resnet50_fpn_v2', 'mobilenetv4_conv_large', 'mobilenetv4_hybrid', 'hardcorenas', 'seg:deeplabv3_resnet101', 'dlrm-host:5e7', 'davit', 'regnetz')


def lines(text):
    for line in text.strip().splitlines():
        name, batch, precision, workers, *optimizer = line.split()
        yield [name, int(batch), precision, int(workers), optimizer[0] if optimizer else 'sgd']


def measured(data):
    for path in sorted(glob.glob(f'{data}/profiles*.csv')):
        with open(path, newline='') as f:
            for r in csv.DictReader(f):
                yield [r['workload'], int(r['batch']), r['precision'], int(r['workers']), r.get('optimizer') or 'sgd']


def plan(data, every=17):
    """The cells in order, with one of AGAIN after every `every` of them."""
    have = list(measured(data))
    rows = {}
    for j in have:
        rows[tables.family(j[0])] = rows.get(tables.family(j[0]), 0) + 1
    known, done = {j[0] for j in have}, set(map(json.dumps, have))
    waiting = {}
    for j in lines(CELLS):
        if json.dumps(j) not in done:
            waiting.setdefault(tables.family(j[0]), []).append(j)
    slow = lambda j: SLOW * any(n in j[0] for n in SLOW_NAMES)
    ordered = []
    while True:
        waiting = {family: cells for family, cells in waiting.items() if cells and rows.get(family, 0) < ROWS}
        if not waiting:
            break
        # A new architecture before another row of a known one; of those, the family with the fewest rows.
        best = None
        for family, cells in waiting.items():
            for j in cells[:1]:
                key = rows.get(family, 0) + slow(j) + 3 * (j[0] in known)
                if best is None or key < best[0]:
                    best = (key, family)
        family = best[1]
        j = waiting[family].pop(0)
        rows[family] = rows.get(family, 0) + 1
        known.add(j[0])
        ordered.append(j)
    again = list(lines(AGAIN))
    out = []
    for i, j in enumerate(ordered):
        if i % every == 0 and again:
            out.append({'jobs': [again.pop(0)], 'mps': 0, 'pass': 2})
        out.append({'jobs': [j], 'mps': 0, 'pass': 1})
    return out


def main():
    a = argparse.ArgumentParser()
    a.add_argument('dir')
    a.add_argument('--data', default='data/h200')
    a.add_argument('--rows', type=int, help='no more than so many')
    a = a.parse_args()
    p = plan(a.data)[:a.rows]
    os.makedirs(a.dir, exist_ok=True)
    names = list(dict.fromkeys(e['jobs'][0][0] for e in p))
    # All of the third sitting's workloads were exported, also where the graphs are not at hand.
    exported = {j[0] for e in third.plan() for j in e['jobs']} | {j[0] for j in measured(a.data)}
    graphs = [n for n in names if n not in exported and not tables.graph(n, a.data)]
    json.dump(p, open(a.dir + '/plan.json', 'w'))
    json.dump(graphs, open(a.dir + '/names.json', 'w'))
    print(len(p), 'cells over', len(names), 'workloads,', len(graphs), 'without a graph')


if __name__ == '__main__':
    main()
