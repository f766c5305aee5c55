// The predictor of Yeung et al. (HotCloud 2020), to set beside ours: a learner straight from counts
// of the model's graph to GPU utilisation in percent, with no arithmetic in between. It predicts
// nothing else.
//
// The features are those that the paper's text names: FLOPs of a forward pass at the batch, the
// size of the input, and how many layers there are of each kind; an LSTM counts as two linear
// layers. The text at hand has lost the paper's tables 2 and 3, so the batch and the parameters are
// added in its favour. Neither GPU, precision nor loader is known to it: the paper had one of each.
//
// Pure and deterministic.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/learn/judge/split.h"
#include "predict/train.h"

namespace sharewell::predict {

// "yeung-forest", the paper's choice, and other learners on the same features, in the order of
// reports. "yeung-forest+run" also sees the precision and the number of loader processes, which
// differ between our rows and did not between the paper's.
std::span<const std::string_view> YeungLearners();
bool IsYeungLearner(std::string_view learner);

// `run`: with precision and loader processes.
std::vector<std::string> YeungFeatureNames(bool run);
std::vector<double> YeungFeaturesOf(const Query& query, bool run);

struct YeungOptions {
  std::string learner = "yeung-forest";
  // Choose the learner's options in every fold by 5-fold cross-validation over the rows learnt
  // from, as the paper does ("n estimators and max depth").
  bool search = false;
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // may be empty
};

// As HoldOut (train.h): learns from each split's train rows and predicts its test rows.
// Figure::kBusy alone is filled. Rows without a measured utilisation teach nothing. A usage error:
// the learner is not known, or a split leaves too few rows to learn from.
core::Result<HeldOut> HoldOutYeung(std::span<const Row> rows, std::span<const learn::Split> splits,
                                   const YeungOptions& options);

}  // namespace sharewell::predict
