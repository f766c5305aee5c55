// What the host spends on a step, and the step that comes of it (base.h).
#include <algorithm>
#include <cmath>

#include "predict/base.h"

namespace sharewell::predict {
namespace {

// Host rates are fitted to the operators of graphs. A told step has what PyTorch really dispatched:
// more calls, of which each costs less. Fitted by least squares to the 518 told steps of data/h200
// (their families held out: 0.143 RMSLE in step time with these, 0.167 without, 0.148 by the
// graphs).
struct HostFactors {
  double forward = 1, backward = 1, view = 1, conv = 1, norm = 1, step = 1, weight = 1;
};
constexpr HostFactors kOfGraph;
constexpr HostFactors kOfToldCalls{.forward = 0.84,
                                   .backward = 0.91,
                                   .view = 0.48,
                                   .conv = 0.84,
                                   .norm = 1.3,
                                   .step = 1.25,
                                   .weight = 1.92};

// A compiled loop's told calls are those of its graph: the host starts the kernels that became of
// them, from compiled code.
constexpr double kCompiledCalls = 0.5;

// Checkpointing runs Python's forward pass again, and a hook for every tensor that is kept: steps
// that wait for the host last 1.7 to 2.2 times as long (data/h200/ways.csv).
constexpr double kCheckpointedCalls = 1.8;

}  // namespace

double StepWork::Host(const Rates& rates) const {
  const HostFactors& of = told ? kOfToldCalls : kOfGraph;
  const double calls =
      (forward + pointwise * rates.host_pointwise) * rates.host_forward * of.forward +
      backward * rates.host_backward * of.backward + view_calls * rates.host_view * of.view +
      casts * rates.host_cast + convs * rates.host_conv * of.conv +
      norms * rates.host_norm * of.norm;
  return (calls * (compiled ? kCompiledCalls : 1) * (checkpointing ? kCheckpointedCalls : 1) +
          recurrent_steps * rates.host_recurrent_step + rates.host_step * of.step +
          weights * rates.host_weight * of.weight) *
         host_time;
}

double StepWork::Load(const Rates& rates) const {
  const double sample = other_inputs > 0 ? inputs * rates.load_tensor : rates.load_sample;
  const double crowd = 1 + rates.load_crowd * std::max(0, workers - 1);
  return (batch * sample + float_inputs * rates.load_float + other_inputs * rates.load_other) *
         crowd * host_time;
}

// Copies go by the memory, which is as fast on a day when launches are slow.
double StepWork::Pin(const Rates& rates) const {
  return float_inputs * rates.pin_float + other_inputs * rates.pin_other;
}

double StepWork::Step(const Rates& rates, double gpu_seconds) const {
  const double p = rates.overlap, load = Load(rates);
  double overlapping = std::pow(gpu_seconds, p) + std::pow(Host(rates), p);
  if (workers > 0) overlapping += std::pow(load / workers, p) + std::pow(Pin(rates), p);
  return std::pow(overlapping, 1 / p) + (workers > 0 ? 0 : load);
}

}  // namespace sharewell::predict
