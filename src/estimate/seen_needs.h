// What is believed of a job once it was watched: what was seen of it stands before what was
// predicted. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/job/submission.h"

namespace sharewell::estimate {

// The cores a GPU that a job needs, by what it kept busy of what it was given in all: one that used
// (nearly) all of them may well have needed more.
double CoresNeeded(double used_a_gpu, double given, int gpus);

// `seen` alone on `seen.gpu`, with `given` cores in all. What was not seen stays as believed,
// unless that was of another GPU model. What was seen is observed, each figure for itself; without
// a busy share how it uses its GPU stays from whom it was.
core::Needs SeenNeeds(const core::Needs& believed, const core::Profile& seen, double given,
                      int gpus);

// Of a run with fewer SMs than all: how fast it was and what it kept busy is not what it is alone
// with all of them. What it holds is.
core::Profile WithoutPace(core::Profile seen);

// What a job on one GPU of `model` keeps active of its SMs alone, from when it trains, which is
// when it `held` what runs of the same did. Absent: not measured, or it still loads.
std::optional<core::Ratio> SmAlone(const core::Needs& believed, const std::string& model,
                                   std::optional<core::Bytes> held);

}  // namespace sharewell::estimate
