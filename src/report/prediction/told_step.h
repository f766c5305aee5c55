// What a watched command told of its step, in words and as JSON.
#pragma once

#include <string>

#include "advice/watched_step.h"

namespace sharewell::report {

// "ResNet with 25.6 M parameters, batch 64, SGD, bf16 autocast, 4 loader workers, compiled"; what
// is not known is left out.
std::string ToldInWords(const advice::WatchedStep& step);

// `out`: the file that it was written to; empty: none.
std::string WatchedStepText(const advice::WatchedStep& watched, const std::string& out);
std::string WatchedStepJson(const advice::WatchedStep& watched, const std::string& out);

}  // namespace sharewell::report
