// How well speeds beside others are told for workloads and pairs that were held out. Pure: the
// measurements are arguments, folds follow from names and a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/colocation/colocation.h"
#include "predict/colocation/colocation_by_name.h"

namespace sharewell::research {

struct PairOptions {
  std::size_t folds = 5;
  std::uint64_t seed = 1;
};

struct SpeedErrors {
  std::size_t speeds = 0;
  double mean_absolute = 0;
  double bias = 0;      // predicted - measured, mean
  double coverage = 0;  // share of measured speeds from p05 to p95
  double width = 0;     // of that interval, mean
};

// How well groups are told of which no workload was fitted, by name.
struct UnseenEvaluation {
  std::size_t groups = 0;
  SpeedErrors measured;     // with measured demands
  SpeedErrors from_graphs;  // with demands predicted without their families, where those are there
  double constant = 0;      // mean absolute error of the median of the other groups' speeds
  // Rank correlation of the sum of speeds over groups of two, predicted and measured.
  double spearman = 0, spearman_from_graphs = 0;
};

struct PairEvaluation {
  SpeedErrors model;  // the shipped interference model alone; it was fitted to these
  SpeedErrors seen;   // the group held out, its workloads seen in others
  UnseenEvaluation unseen;
  // Groups that were measured more than once: how far a speed is from the mean of its repeats, as a
  // single measurement. Nobody can be asked to be better on average than about this.
  std::size_t repeated = 0;
  double repeat_noise = 0;
};

// `told`: what predict::PredictUnseen tells of each of them.
UnseenEvaluation EvaluateUnseen(std::span<const predict::Colocation> groups,
                                std::span<const predict::UnseenSpeeds> told);

core::Result<PairEvaluation> EvaluatePairs(std::span<const predict::Colocation> groups,
                                           const PairOptions& options = {});

// Two jobs of a table of throughputs, of one GPU model.
struct NamedPair {
  std::string gpu;
  predict::NamedJob a, b;
  core::Ratio speed_a = 1, speed_b = 1;
};

// Gavel's pairs as CSV (gpu, job_a, scale_a, job_b, scale_b, iso_a, iso_b, norm_a, norm_b), those
// of two one-GPU jobs that fit together, each once though the file has both orders;
// "ResNet-18 (batch size 16)" becomes a model and a batch. GPUs that end in _unconsolidated repeat
// the others for such jobs and are left out.
core::Result<std::vector<NamedPair>> ReadNamedPairs(const std::string& path);

// Mean absolute error over pairs held out in folds, each GPU model for itself.
core::Result<SpeedErrors> EvaluateNamedPairs(std::span<const NamedPair> pairs,
                                             const PairOptions& options = {});

}  // namespace sharewell::research
