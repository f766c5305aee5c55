// Features: what the learners see of a workload. Device facts, never device or model names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predict/base.h"
#include "predict/figure.h"

namespace sharewell::predict {

// The columns for `figure`, in order. Memory figures get the memory's parts too; figures behind the
// busy time get what it turned out to be.
std::vector<std::string> FeatureNames(Figure figure);

// Whether the column changes with the GPU model: times of the base, and what is made from them.
bool IsOfGpu(std::string_view feature);

// `gpu_seconds`: the best that is known of busy seconds a step: measured while learning, else
// predicted.
std::vector<double> FeaturesOf(Figure figure, const Query& query, const Base& base,
                               double gpu_seconds);

// What arithmetic says of a figure, from the base and what is known of busy and step time.
double BaseFigure(Figure figure, const Query& query, const Base& base, double gpu_seconds,
                  double step_seconds);

}  // namespace sharewell::predict
