// Yeung et al.'s predictor beside ours, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "study/prediction/evaluate/beside_yeung.h"

namespace sharewell::report {

std::string BesideYeungTable(const study::BesideYeung& in);
std::string BesideYeungJson(const study::BesideYeung& in, const std::vector<std::string>& profiles);

}  // namespace sharewell::report
