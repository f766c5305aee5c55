// Yeung et al.'s predictor beside ours, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "research/evaluate/beside_yeung.h"

namespace sharewell::research {

std::string BesideYeungTable(const BesideYeung& in);
std::string BesideYeungJson(const BesideYeung& in, const std::vector<std::string>& profiles);

}  // namespace sharewell::research
