// timm's public training benchmark: hundreds of image models on one GPU that is not ours, to see
// that arithmetic plus a learned residual tells the step time of families never seen, from counts
// alone. Wightman's pytorch-image-models, results/; third-party data, not part of this repository.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::research {

struct TimmModel {
  std::string name;    // without its tag: "resnet50" of "resnet50.a1_in1k"
  std::string family;  // letters before the first digit or '_'
  double batch = 0, image_size = 0;
  double gmacs = 0, mega_activations = 0, mega_params = 0;  // forward, a sample
  double step_ms = 0;
};

// The two files that belong together: times come from training, counts from inference (measured
// inference times are not read). Counts of another image size are scaled by its square. Models that
// only one file has are left out.
core::Result<std::vector<TimmModel>> ReadTimm(const std::string& train_path,
                                              const std::string& infer_path);
// The same, by the names the files have in timm's repository.
core::Result<std::vector<TimmModel>> ReadTimmFolder(const std::string& folder);

struct TimmOptions {
  std::size_t folds = 5;  // whole families held out
  std::size_t seeds = 3;  // ways to deal families into folds
};

// Mean absolute percentage errors of the step time, as ratios.
struct TimmErrors {
  std::size_t models = 0, families = 0;
  double base = 0;              // arithmetic alone, mean over the seeds
  double learned = 0;           // with the residual, likewise
  std::vector<double> by_seed;  // of the latter
};

// Base: a, b, c, d >= 0 in a MACs + b activations + c parameters + d, a step, fitted to the
// relative error of the models learnt from. Residual: extra-trees on logarithms of the counts and
// their ratios. An error where there are fewer families than folds.
core::Result<TimmErrors> EvaluateTimm(const std::vector<TimmModel>& models,
                                      const TimmOptions& options = {});

}  // namespace sharewell::research
