// What each part of the predictor is worth (research/evaluate/worth.h), as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "research/evaluate/worth.h"

namespace sharewell::research {

std::string WorthText(const Worth& in);
std::string WorthJson(const Worth& in, const std::vector<std::string>& profiles);

}  // namespace sharewell::research
