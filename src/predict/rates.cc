#include "predict/rates.h"

#include <cmath>

namespace sharewell::predict {
namespace {

constexpr double kBackAndForth = 2.5;  // a recurrent layer's time step, backward included

Rates MakeBuiltIn() {
  Rates out;
  out.of = {{
      {.60, .0186, .37, .401, 6.2e-6},   // stem: weight gradients of three channels crawl
      {.976, .745, .476, .51, 3.5e-6},   // pointwise
      {.88, .122, .446, .499, 1.35e-5},  // conv: cuDNN changes the layout there and back
      {.05, .0318, .05, .053, 6.1e-6},   // depthwise
      {.60, .119, .551, .502, 5.5e-6},   // grouped
      {.719, .672, .671, .495, 4.9e-6},  // matmul
      {.631, .60, .55, .50, 5.3e-6},     // attention
      {1, .193, 1, .667, 1.75e-5},       // norm
      {1, .695, 1, .571, 1.2e-5},        // activation
      {1, .42, 1, .498, 1.5e-6},         // elementwise
      {1, .0587, 1, .545, 6.1e-6},       // softmax
      {1, .451, 1, .549, 5.8e-6},        // pool
      {1, .255, 1, .229, 5.6e-6},        // embedding
      {1, .584, 1, .481, 3.4e-6},        // move
      {.423, 1, .423, 1, 0},             // recurrent: see recurrent_step
  }};
  out.recurrent_step = kBackAndForth * 1.04e-5;
  out.recurrent_half_step = kBackAndForth * 1.34e-5;
  out.half_rate_sum = 106;
  out.half_rate_channels = 5.2;
  out.half_rate_group_sum = 16;
  out.update_bytes = 1.1;  // foreach kernels hit in L2
  out.update_kernel = 6.2e-5;
  out.table_kernel = 1e-6;
  out.host_step = 2.6e-3;
  out.host_forward = 9.6e-5;
  out.host_pointwise = .233;
  out.host_backward = 2.4e-5;
  out.host_view = 1.5e-5;
  out.host_cast = 2.2e-5;
  out.host_conv = 3.1e-5;
  out.host_norm = 1.8e-5;
  out.host_recurrent_step = 3.9e-5;
  out.host_weight = 4.9e-6;
  out.load_sample = 1.6e-5;
  out.load_float = 7.0e-9;
  out.load_other = 6.6e-9;
  out.pin_float = 1.5e-9;
  out.pin_other = 1.0e-9;
  out.overlap = 3.24;
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
  at(OpClass::kDepthwise).half_flops = at(OpClass::kDepthwise).full_flops = .05;
  bytes(OpClass::kStem, .05, .4);
  bytes(OpClass::kConv, .2, .5);
  bytes(OpClass::kDepthwise, .05, .05);
  bytes(OpClass::kGrouped, .15, .5);
  bytes(OpClass::kNorm, .25, .6);
  bytes(OpClass::kEmbedding, .25, .25);
  at(OpClass::kNorm).kernel = 1e-5;
  at(OpClass::kActivation).kernel = 8e-6;
  at(OpClass::kElementwise).kernel = 3e-6;
  at(OpClass::kMove).kernel = 4e-6;
  at(OpClass::kRecurrent) = {.4, 1, .4, 1, 0};
  out.recurrent_step = kBackAndForth * 1e-5;
  out.recurrent_half_step = kBackAndForth * 1.3e-5;
  out.half_rate_sum = 120;
  out.half_rate_channels = 16;
  out.half_rate_group_sum = 16;
  out.update_bytes = .85;
  out.update_kernel = 2e-5;
  out.table_kernel = 1e-6;
  out.host_step = 2e-3;
  out.host_forward = 60e-6;
  out.host_pointwise = .6;
  out.host_backward = 15e-6;
  out.host_view = 8e-6;
  out.host_cast = 30e-6;
  out.host_conv = 15e-6;
  out.host_norm = 15e-6;
  out.host_recurrent_step = 1e-6;
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
    const bool recurrent = c == static_cast<std::size_t>(OpClass::kRecurrent);
    if (c <= static_cast<std::size_t>(OpClass::kAttention) || recurrent) {
      out.push_back({name + "_half_flops", &of.half_flops, 1, false});
      if (!recurrent) out.push_back({name + "_full_flops", &of.full_flops, 1, false});
    }
    if (!recurrent) {
      out.push_back({name + "_half_bytes", &of.half_bytes, kCaches, false});
      out.push_back({name + "_full_bytes", &of.full_bytes, kCaches, false});
      out.push_back({name + "_kernel", &of.kernel, usual.of[c].kernel * seconds, false});
    }
    out.push_back({name + "_half_table", &of.half_table, seconds, false});
    out.push_back({name + "_full_table", &of.full_table, seconds, false});
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
