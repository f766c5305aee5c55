// Rates: the numbers that the base (base.h) turns counts into seconds with: what share of the GPU's
// peaks each class of operators reaches, and what the host spends. They are data: fitted to
// measured rows (fit_rates.h) and kept in the trained model.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "predict/op_class.h"

namespace sharewell::predict {

// Shares of the peak rates, in mixed precision and in full, and what a kernel costs however small.
struct ClassRates {
  double half_flops = 1, half_bytes = 1;
  double full_flops = 1, full_bytes = 1;
  double kernel = 0;  // seconds
  // Where the operator table tells: how long it takes in a loop, over what it takes alone.
  double half_table = 1, full_table = 1;
};

struct Rates {
  std::array<ClassRates, kOpClasses> of;
  double recurrent_step = 0, recurrent_half_step = 0;  // seconds a time step, forward and back
  // Matrix units fill slowly: at this length of sums, and this many outputs, half the rate is lost.
  double half_rate_sum = 0, half_rate_channels = 0, half_rate_group_sum = 0;
  double update_bytes = 1, update_kernel = 0;
  double table_kernel = 0;                   // seconds between kernels, where the table tells
  double norm_walk = 1, depthwise_walk = 1;  // over what walk.h says
  double copy_bytes = 45e9;                  // a second, from the host
  double loss_bytes = .6;                    // share of the bandwidth
  double gpu_step = 5e-5;                    // seconds of kernels that no graph has

  // What the host spends, in seconds on our reference host (16 cores of a Xeon, PyTorch 2.11).
  double host_step = 0;
  double host_forward = 0;    // a module's call and its kernels
  double host_pointwise = 0;  // over host_forward
  double host_backward = 0, host_view = 0, host_cast = 0, host_conv = 0, host_norm = 0;
  double host_recurrent_step = 0;
  double host_weight = 0;  // the optimizer's walk over the weights
  double load_sample = 0;  // of numbers, which are scaled or the like
  double load_tensor = 0;  // of a sample that has whole numbers among its inputs: looked up as is
  double load_float = 0;   // crop, flip, scale: an element
  double load_other = 0, pin_float = 0, pin_other = 0;
  double load_crowd = 0;  // by how much each further loader process slows the others
  double overlap = 3;     // the norm that joins what overlaps: 1 adds, infinity hides all
};

// Fitted to all profiles of data/h200 without an operator table, by FitRates().
const Rates& BuiltInRates();

// What one would guess who knows the hardware and has measured nothing: where a fit starts from.
const Rates& PlausibleRates();

// Every number of it that can be fitted, by name, with the largest value that it may have.
struct Rate {
  std::string name;
  double* value;
  double most;
  bool host;
  OpClass of = OpClass::kNone;  // whose operators' seconds it changes; kNone: of several
};
std::vector<Rate> RatesOf(Rates& rates);

}  // namespace sharewell::predict
