// What a watched command told of its step, in words and as JSON.
#pragma once

#include <string>

#include "study/prediction/watched_step.h"

namespace sharewell::report {

// "ResNet with 25.6 M parameters, batch 64, SGD, bf16 autocast, 4 loader workers, compiled"; what
// is not known is left out.
std::string ToldInWords(const study::WatchedStep& step);

// `out`: the file that it was written to; empty: none.
std::string WatchedStepText(const study::WatchedStep& watched, const std::string& out);
std::string WatchedStepJson(const study::WatchedStep& watched, const std::string& out);

}  // namespace sharewell::report
