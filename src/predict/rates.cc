#include "predict/rates.h"

#include <cmath>

namespace sharewell::predict {
namespace {

Rates MakeBuiltIn() {
  Rates out;
  out.of = {{
      {0.597, 0.0342, 0.408, 0.39, 6.53e-06},  // stem: weight gradients of three channels crawl
      {1, 0.471, 0.413, 0.473, 2.91e-06},      // pointwise
      {0.693, 0.153, 0.533, 0.0894, 1.1e-05},  // conv: cuDNN changes the layout there and back
      {0.6, 0.474, 0.55, 0.51, 8.52e-06},      // depthwise: see depthwise_walk
      {0.6, 0.122, 0.537, 0.473, 5.36e-06},    // grouped
      {0.691, 0.358, 0.702, 0.198, 5e-06},     // matmul
      {0.577, 0.569, 0.142, 0.467, 4.6e-06},   // attention
      {1, 0.407, 1, 0.892, 1.21e-05},          // norm: see norm_walk for batch norms
      {1, 0.287, 1, 0.402, 1.72e-05},          // activation
      {1, 0.449, 1, 0.556, 2.37e-06},          // elementwise
      {1, 0.108, 1, 0.566, 6.25e-06},          // softmax
      {1, 0.405, 1, 0.491, 6.96e-06},          // pool
      {1, 0.245, 1, 0.211, 4.68e-06},          // embedding
      {1, 0.532, 1, 0.357, 4.24e-06},          // move
      {0.362, 1, 0.362, 1, 0},                 // recurrent: see recurrent_step
  }};
  out.recurrent_step = 2.4e-05;
  out.recurrent_half_step = 1.96e-05;
  out.half_rate_sum = 105;
  out.half_rate_channels = 3.19;
  out.half_rate_group_sum = 16.1;
  out.update_bytes = 0.914;
  out.update_kernel = 6.18e-06;
  out.table_kernel = 1e-06;
  out.norm_walk = 0.798;
  out.depthwise_walk = 0.996;
  out.copy_bytes = 5.92e+10;
  out.loss_bytes = 0.765;
  out.gpu_step = 0.000154;
  out.host_step = 0.00299;
  out.host_forward = 7.35e-05;
  out.host_pointwise = 0.174;
  out.host_backward = 3.77e-05;
  out.host_view = 2.35e-05;
  out.host_cast = 1.42e-05;
  out.host_conv = 1.68e-05;
  out.host_norm = 7.42e-05;
  out.host_recurrent_step = 3.98e-05;
  out.host_weight = 4.49e-06;
  out.load_sample = 1.69e-05;
  out.load_float = 7.01e-09;
  out.load_other = 4.37e-09;
  out.pin_float = 1.3e-09;
  out.pin_other = 1.72e-09;
  out.overlap = 3.04;
  return out;
}

Rates MakePlausible() {
  Rates out;
  for (std::size_t c = 0; c < kOpClasses; ++c) {
    const bool product = c <= static_cast<std::size_t>(OpClass::kAttention);
    out.of[c] = {product ? .6 : 1, .5, product ? .55 : 1, .5, 6e-6};
  }
  const auto at = [&](OpClass of) -> ClassRates& { return out.of[static_cast<std::size_t>(of)]; };
  const auto bytes = [&](OpClass of, double half, double full) {
    at(of).half_bytes = half;
    at(of).full_bytes = full;
  };
  bytes(OpClass::kStem, .05, .4);
  bytes(OpClass::kConv, .2, .5);
  bytes(OpClass::kDepthwise, .5, .5);
  bytes(OpClass::kGrouped, .15, .5);
  bytes(OpClass::kNorm, .35, .8);
  bytes(OpClass::kEmbedding, .25, .25);
  at(OpClass::kNorm).kernel = 1e-5;
  at(OpClass::kActivation).kernel = 8e-6;
  at(OpClass::kElementwise).kernel = 3e-6;
  at(OpClass::kMove).kernel = 4e-6;
  at(OpClass::kRecurrent) = {.4, 1, .4, 1, 0};
  out.recurrent_step = 1.4e-5;
  out.recurrent_half_step = 1e-5;
  out.half_rate_sum = 120;
  out.half_rate_channels = 16;
  out.half_rate_group_sum = 16;
  out.update_bytes = .8;
  out.update_kernel = 6e-6;
  out.table_kernel = 1e-6;
  out.host_step = 2e-3;
  out.host_forward = 60e-6;
  out.host_pointwise = .6;
  out.host_backward = 15e-6;
  out.host_view = 8e-6;
  out.host_cast = 30e-6;
  out.host_conv = 15e-6;
  out.host_norm = 15e-6;
  out.host_recurrent_step = 1e-5;
  out.host_weight = 5e-6;
  out.load_sample = 16e-6;
  out.load_float = 6.5e-9;
  out.load_other = 8e-9;
  out.pin_float = 1.3e-9;
  out.pin_other = 1e-9;
  out.overlap = 3.5;
  return out;
}

}  // namespace

const Rates& BuiltInRates() {
  static const Rates rates = MakeBuiltIn();
  return rates;
}

const Rates& PlausibleRates() {
  static const Rates rates = MakePlausible();
  return rates;
}

std::vector<Rate> RatesOf(Rates& rates) {
  constexpr double kCaches = 1.1;  // more than the peak of the memory, where caches help
  const double seconds = std::exp(3.0), host = std::exp(6.0);
  const Rates& usual = PlausibleRates();
  std::vector<Rate> out;
  for (std::size_t c = 0; c < kOpClasses; ++c) {
    const std::string name(kOpClassNames[c]);
    ClassRates& of = rates.of[c];
    const auto put = [&](const char* what, double* value, double most) {
      out.push_back({name + what, value, most, false, static_cast<OpClass>(c)});
    };
    const bool recurrent = c == static_cast<std::size_t>(OpClass::kRecurrent);
    if (c <= static_cast<std::size_t>(OpClass::kAttention) || recurrent) {
      put("_half_flops", &of.half_flops, 1);
      if (!recurrent) put("_full_flops", &of.full_flops, 1);
    }
    if (!recurrent) {
      put("_half_bytes", &of.half_bytes, kCaches);
      put("_full_bytes", &of.full_bytes, kCaches);
      put("_kernel", &of.kernel, usual.of[c].kernel * seconds);
    }
    put("_half_table", &of.half_table, seconds);
    put("_full_table", &of.full_table, seconds);
  }
  const auto gpu = [&](const char* name, double Rates::*which, double most) {
    out.push_back({name, &(rates.*which), most > 0 ? most : usual.*which * seconds, false});
  };
  gpu("recurrent_step", &Rates::recurrent_step, 0);
  gpu("recurrent_half_step", &Rates::recurrent_half_step, 0);
  gpu("half_rate_sum", &Rates::half_rate_sum, 0);
  gpu("half_rate_channels", &Rates::half_rate_channels, 0);
  gpu("half_rate_group_sum", &Rates::half_rate_group_sum, 0);
  gpu("update_bytes", &Rates::update_bytes, kCaches);
  gpu("update_kernel", &Rates::update_kernel, 0);
  gpu("table_kernel", &Rates::table_kernel, 0);
  gpu("norm_walk", &Rates::norm_walk, 0);
  gpu("depthwise_walk", &Rates::depthwise_walk, 0);
  gpu("copy_bytes", &Rates::copy_bytes, 0);
  gpu("loss_bytes", &Rates::loss_bytes, kCaches);
  gpu("gpu_step", &Rates::gpu_step, 0);
  const auto spent = [&](const char* name, double Rates::*which) {
    out.push_back({name, &(rates.*which), usual.*which * host, true});
  };
  spent("host_step", &Rates::host_step);
  spent("host_forward", &Rates::host_forward);
  spent("host_pointwise", &Rates::host_pointwise);
  spent("host_backward", &Rates::host_backward);
  spent("host_view", &Rates::host_view);
  spent("host_cast", &Rates::host_cast);
  spent("host_conv", &Rates::host_conv);
  spent("host_norm", &Rates::host_norm);
  spent("host_recurrent_step", &Rates::host_recurrent_step);
  spent("host_weight", &Rates::host_weight);
  spent("load_sample", &Rates::load_sample);
  spent("load_float", &Rates::load_float);
  spent("load_other", &Rates::load_other);
  spent("pin_float", &Rates::pin_float);
  spent("pin_other", &Rates::pin_other);
  spent("overlap", &Rates::overlap);
  return out;
}

}  // namespace sharewell::predict
