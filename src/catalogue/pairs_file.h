// Pairs: two workloads measured together on one GPU. Our CSV, or Gavel's throughput JSON (which has
// the rates alone too); the format is told from the contents. Format: docs/formats/pairs.md.
#pragma once

#include <string>
#include <string_view>

#include "core/job/profile.h"
#include "core/result.h"

namespace sharewell::catalogue {

core::Result<core::Measurements> ReadPairs(const std::string& path);
core::Result<core::Measurements> ReadPairsText(std::string_view text, const std::string& name);

}  // namespace sharewell::catalogue
