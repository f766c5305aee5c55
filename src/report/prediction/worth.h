// What each part of the predictor is worth (study/prediction/evaluate/worth.h), as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "study/prediction/evaluate/worth.h"

namespace sharewell::report {

std::string WorthText(const study::Worth& in);
std::string WorthJson(const study::Worth& in, const std::vector<std::string>& profiles);

}  // namespace sharewell::report
