// Why a choice was made, in words: what the next smaller value would keep, what the other precision
// would gain, which GPU model is next. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advice/recommend/choose.h"
#include "advice/recommend/recommendation.h"

namespace sharewell::advice::recommend {

// "samples a second", "cost of a sample", ...
std::string_view InWords(Goal goal);

// Precision, batch, loader workers and cores, in this order. REQUIRES: `chosen` is of `cells`.
std::vector<Choice> ReasonsFor(std::span<const Cell> cells, const Chosen& chosen, Goal goal,
                               const Prices& prices);

// Of the GPU model in front of the others; `asked` is how many were looked at.
Choice ReasonForGpu(std::span<const GpuAdvice> ranked, Goal goal, const Prices& prices);

Choice ReasonForSharing(const SharingAdvice& sharing, const Cell& cell);

}  // namespace sharewell::advice::recommend
