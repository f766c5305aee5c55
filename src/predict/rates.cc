#include "predict/rates.h"

#include <cmath>

namespace sharewell::predict {
namespace {

Rates MakeBuiltIn() {
  Rates out;
  out.of = {{
      {0.59, 0.0443, 0.461, 0.389, 6.45e-06},  // stem: weight gradients of three channels crawl
      {1, 0.291, 0.381, 0.672, 3.88e-06},      // pointwise
      {0.555, 0.128, 0.544, 0.11, 9.59e-06},   // conv: cuDNN changes the layout there and back
      {0.6, 0.47, 0.55, 0.503, 7.51e-06},      // depthwise: see depthwise_walk
      {0.6, 0.137, 0.523, 0.129, 5.62e-06},    // grouped
      {0.792, 0.411, 0.641, 0.366, 4.41e-06},  // matmul
      {0.511, 0.663, 0.372, 0.398, 5.89e-06},  // attention
      {1, 0.522, 1, 1.1, 1.26e-05},            // norm: see norm_walk for batch norms
      {1, 0.374, 1, 0.339, 1.28e-05},          // activation
      {1, 0.455, 1, 0.578, 2.38e-06},          // elementwise
      {1, 0.138, 1, 0.518, 6.6e-06},           // softmax
      {1, 0.37, 1, 0.491, 8.42e-06},           // pool
      {1, 0.256, 1, 0.233, 5.12e-06},          // embedding
      {1, 0.401, 1, 0.294, 6.33e-06},          // move
      {0.33, 1, 0.33, 1, 0},                   // recurrent: see recurrent_step
  }};
  out.recurrent_step = 2.37e-05;
  out.recurrent_half_step = 1.86e-05;
  out.half_rate_sum = 107;
  out.half_rate_channels = 2.1;
  out.half_rate_group_sum = 16;
  out.update_bytes = 0.852;
  out.update_kernel = 6.19e-06;
  out.table_kernel = 1e-06;
  out.norm_walk = 0.804;
  out.depthwise_walk = 0.992;
  out.copy_bytes = 3.68e+10;
  out.loss_bytes = 0.728;
  out.gpu_step = 0.000106;
  out.host_step = 0.00233;
  out.host_forward = 8.26e-05;
  out.host_pointwise = 0.194;
  out.host_backward = 3.85e-05;
  out.host_view = 2.16e-05;
  out.host_cast = 6.75e-06;
  out.host_conv = 2.4e-05;
  out.host_norm = 5.7e-05;
  out.host_recurrent_step = 4.16e-05;
  out.host_weight = 3.28e-06;
  out.load_sample = 3.28e-05;
  out.load_tensor = 7.63e-06;
  out.load_crowd = 0.0222;
  out.load_float = 6.58e-09;
  out.load_other = 3.24e-09;
  out.pin_float = 1.29e-09;
  out.pin_other = 8.92e-10;
  out.overlap = 2.98;
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
  out.load_tensor = 8e-6;
  out.load_crowd = .05;
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
  spent("load_tensor", &Rates::load_tensor);
  spent("load_crowd", &Rates::load_crowd);
  spent("load_float", &Rates::load_float);
  spent("load_other", &Rates::load_other);
  spent("pin_float", &Rates::pin_float);
  spent("pin_other", &Rates::pin_other);
  spent("overlap", &Rates::overlap);
  return out;
}

}  // namespace sharewell::predict
