#include "graph/pt2/aten.h"

#include <unordered_map>

namespace sharewell::graph::pt2 {
namespace {

struct Row {
  Aten what;
  std::string_view names;  // separated by spaces
};

constexpr Row kRows[] = {
    {{Rule::kConv, Kind::kConv},
     "conv1d conv2d conv3d cudnn_convolution mkldnn_convolution thnn_conv2d slow_conv3d "
     "conv_depthwise3d _conv_depthwise2d miopen_convolution torchvision.deform_conv2d"},
    {{Rule::kConvTransposed, Kind::kDeconv},
     "conv_transpose1d conv_transpose2d conv_transpose3d cudnn_convolution_transpose"},
    {{Rule::kConvolution, Kind::kConv}, "convolution _convolution convolution_overrideable"},
    {{Rule::kProduct, Kind::kMatMul},
     "linear mm bmm matmul mv dot vdot inner chain_matmul linalg_matmul cdist _cdist_forward "
     "linalg_vecdot _int_mm _weight_int8pack_mm"},
    {{Rule::kAddedProduct, Kind::kMatMul}, "addmm baddbmm addbmm addmv _addmm_activation"},
    {{Rule::kEinsum, Kind::kMatMul}, "einsum"},
    {{Rule::kAttention, Kind::kAttention},
     "scaled_dot_product_attention _scaled_dot_product_attention_math "
     "_scaled_dot_product_attention_math_for_mps _scaled_dot_product_flash_attention "
     "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
     "_scaled_dot_product_cudnn_attention _scaled_dot_product_fused_attention_overrideable "
     "higher_order.flex_attention"},
    {{Rule::kAttentionByToken, Kind::kAttention},
     "_flash_attention_forward _efficient_attention_forward _cudnn_attention_forward"},
    {{Rule::kCell, Kind::kRecurrent},
     "lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell"},
    {{Rule::kPlain, Kind::kNorm},
     "batch_norm native_batch_norm cudnn_batch_norm _native_batch_norm_legit "
     "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training "
     "_batch_norm_with_update _batch_norm_with_update_functional _batch_norm_no_update "
     "layer_norm native_layer_norm group_norm native_group_norm instance_norm rms_norm "
     "_fused_rms_norm _weight_norm _weight_norm_interface"},
    {{Rule::kPlain, Kind::kSoftmax},
     "softmax _softmax log_softmax _log_softmax _safe_softmax special_softmax "
     "special_log_softmax _masked_softmax"},
    {{Rule::kPlain, Kind::kActivation},
     "relu relu6 leaky_relu prelu _prelu_kernel rrelu rrelu_with_noise elu selu celu gelu silu "
     "mish "
     "sigmoid log_sigmoid log_sigmoid_forward hardsigmoid hardswish hardtanh hardshrink "
     "softshrink softplus softsign tanh tanhshrink glu threshold swish"},
    {{Rule::kPlain, Kind::kElementwise},
     "add sub rsub subtract mul multiply div divide true_divide floor_divide remainder fmod pow "
     "float_power square sqrt rsqrt exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 "
     "xlogy sin cos tan asin acos atan atan2 arctan2 arctan sinh cosh asinh acosh atanh erf erfc "
     "erfinv special_erf special_erfinv lgamma digamma neg negative positive abs absolute sign sgn "
     "signbit reciprocal ceil floor round trunc frac fix clamp clamp_min clamp_max clip maximum "
     "minimum fmax fmin where masked_fill addcmul addcdiv lerp hypot heaviside nan_to_num eq ne lt "
     "le gt ge equal greater greater_equal less less_equal not_equal isnan isinf isfinite "
     "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor "
     "bitwise_not "
     "__and__ __or__ __xor__ __lshift__ __rshift__ bitwise_left_shift bitwise_right_shift "
     "__ior__ __iand__ "
     "tril triu one_hot bucketize searchsorted isin deg2rad rad2deg polar complex "
     "fake_quantize_per_tensor_affine fake_quantize_per_channel_affine "
     "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams quantize_per_tensor dequantize "
     "quantized_decomposed.quantize_per_tensor quantized_decomposed.dequantize_per_tensor "
     "quantized_decomposed.quantize_per_channel quantized_decomposed.dequantize_per_channel "
     "quantized_decomposed.quantize_per_token quantized_decomposed.dequantize_per_token "
     "outer ger kron cross linalg_cross sinc i0 special_expit "
     "special_xlog1py ldexp copysign nextafter gcd lcm angle bernoulli poisson"},
    {{Rule::kPlain, Kind::kReduction},
     "sum mean nansum nanmean prod amax amin aminmax argmax argmin median nanmedian mode std var "
     "var_mean std_mean norm linalg_norm linalg_vector_norm linalg_matrix_norm frobenius_norm "
     "logsumexp all any count_nonzero cumsum cumprod cummax cummin _cummax_helper "
     "_cummin_helper logcumsumexp topk sort msort argsort kthvalue unique unique2 _unique _unique2 "
     "unique_dim unique_consecutive histc bincount diff trace dist cosine_similarity "
     "pairwise_distance mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy_loss nll_loss "
     "nll_loss_nd nll_loss_forward nll_loss2d nll_loss2d_forward binary_cross_entropy "
     "binary_cross_entropy_with_logits kl_div soft_margin_loss margin_ranking_loss "
     "cosine_embedding_loss triplet_margin_loss ctc_loss _ctc_loss hinge_embedding_loss "
     "poisson_nll_loss torchvision.nms"},
    {{Rule::kPool, Kind::kPool},
     "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices "
     "max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d "
     "fractional_max_pool2d fractional_max_pool3d quantized_max_pool2d"},
    {{Rule::kAdaptivePool, Kind::kPool},
     "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
     "_adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"},
    {{Rule::kPlain, Kind::kResample},
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
     "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
     "upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa "
     "grid_sampler grid_sampler_2d grid_sampler_3d affine_grid_generator interpolate "
     "torchvision.roi_align torchvision.roi_pool torchvision.ps_roi_align max_unpool2d"},
    {{Rule::kPlain, Kind::kEmbedding},
     "embedding embedding_bag _embedding_bag _embedding_bag_forward_only"},
    {{Rule::kPlain, Kind::kMove},
     "cat concat concatenate stack hstack vstack dstack column_stack row_stack block_diag clone "
     "copy "
     "pad constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d _pad_circular _pad_enum roll flip fliplr flipud rot90 "
     "repeat repeat_interleave tile gather take take_along_dim index _unsafe_index "
     "_unsafe_masked_index index_select index_put _unsafe_index_put _index_put_impl index_add "
     "index_copy index_fill index_reduce scatter scatter_add scatter_reduce masked_select "
     "masked_scatter slice_scatter select_scatter diagonal_scatter as_strided_scatter nonzero "
     "nonzero_numpy nonzero_static argwhere im2col col2im pixel_shuffle pixel_unshuffle "
     "channel_shuffle native_channel_shuffle diag_embed diag cartesian_prod combinations "
     "_pack_padded_sequence _pad_packed_sequence view_copy expand_copy permute_copy select_copy "
     "slice_copy split_copy split_with_sizes_copy squeeze_copy transpose_copy t_copy unfold_copy "
     "unsqueeze_copy unbind_copy as_strided_copy alias_copy fold"},
    {{Rule::kLayout, Kind::kMove}, "contiguous reshape flatten reshape_as"},
    {{Rule::kPlain, Kind::kView},
     "view _unsafe_view view_as unflatten permute transpose swapaxes swapdims movedim moveaxis t "
     "numpy_T matrix_H mT adjoint squeeze unsqueeze expand expand_as broadcast_to "
     "broadcast_tensors atleast_1d atleast_2d atleast_3d slice select split split_with_sizes "
     "chunk unsafe_chunk unsafe_split unsafe_split_with_sizes tensor_split hsplit vsplit dsplit "
     "unbind narrow diagonal unfold as_strided alias detach detach_ lift_fresh real imag "
     "view_as_real view_as_complex meshgrid ravel conj _conj resolve_conj resolve_neg "
     "is_nonzero getitem set resize requires_grad"},
    {{Rule::kDropout, Kind::kDropout},
     "dropout native_dropout feature_dropout alpha_dropout feature_alpha_dropout dropout2d "
     "_fused_dropout"},
    {{Rule::kCast, Kind::kElementwise},
     "to _to_copy type_as float half double long int bool _autocast_to_reduced_precision "
     "_autocast_to_full_precision to_dense"},
    {{Rule::kFill, Kind::kElementwise},
     "arange full full_like zeros zeros_like ones ones_like empty empty_like empty_strided "
     "empty_permuted new_empty new_empty_strided new_full new_zeros new_ones rand rand_like randn "
     "randn_like randint randint_like randperm normal uniform normal_functional eye linspace "
     "logspace range fill zero scalar_tensor tril_indices triu_indices hann_window "
     "hamming_window lift_fresh_copy multinomial exponential random vander"},
    {{Rule::kPlain, Kind::kHost},
     "sym_size sym_stride sym_numel sym_storage_offset sym_constrain_range "
     "sym_constrain_range_for_size _local_scalar_dense item _assert_async _assert_scalar "
     "_assert_tensor_metadata _functional_assert_async _functional_assert_scalar size numel "
     "_print dim is_floating_point is_complex profiler._record_function_enter_new "
     "profiler._record_function_exit"},
};

// Names whose overloads are different things.
std::optional<Aten> ByOverload(std::string_view op, std::string_view overload) {
  if (op == "max" || op == "min") {
    return Aten{Rule::kPlain, overload == "other" ? Kind::kElementwise : Kind::kReduction};
  }
  if (op == "lstm" || op == "gru" || op == "rnn_tanh" || op == "rnn_relu") {
    return Aten{overload == "data" ? Rule::kPackedSequence : Rule::kSequence, Kind::kRecurrent};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Aten> AtenOf(std::string_view op, std::string_view overload) {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, Aten> table;
    for (const Row& row : kRows) {
      std::string_view rest = row.names;
      while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(' '));
        table.emplace(name, row.what);
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      }
    }
    return table;
  }();
  if (const auto special = ByOverload(op, overload)) return special;
  const auto found = kTable.find(op);
  if (found == kTable.end()) return std::nullopt;
  return found->second;
}

}  // namespace sharewell::graph::pt2
