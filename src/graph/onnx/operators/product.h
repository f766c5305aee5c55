// Operators made of matrix products: MatMul, Gemm, Einsum, recurrent layers, attention. Each
// multiply-accumulate is counted once; biases and softmax are not.
#pragma once

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

void MatMulShape(Node& node);  // also MatMulInteger, QLinearMatMul, FusedMatMul
void MatMulWork(const Node& node, Op& op);
void NBitMatMulShape(Node& node);  // contrib MatMulNBits: K and N are attributes
void NBitMatMulWork(const Node& node, Op& op);
void GemmShape(Node& node);
void GemmWork(const Node& node, Op& op);
void EinsumShape(Node& node);
void EinsumWork(const Node& node, Op& op);
void RecurrentShape(Node& node);  // LSTM, GRU, RNN
void RecurrentWork(const Node& node, Op& op);
void AttentionShape(Node& node);  // ONNX 23
void AttentionWork(const Node& node, Op& op);
void PackedAttentionShape(Node& node);  // contrib Attention: the projections are inside
void PackedAttentionWork(const Node& node, Op& op);
void MultiHeadShape(Node& node);  // contrib MultiHeadAttention, GroupQueryAttention
void MultiHeadWork(const Node& node, Op& op);
void EmbedNormShape(Node& node);  // contrib EmbedLayerNormalization

}  // namespace sharewell::graph::onnx
