// Prices: what an hour of a GPU costs here, by GPU model, as an admin set it. Plain data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/gpu_model.h"

namespace sharewell::core {

struct Prices {
  std::string currency;                        // "EUR"; empty: not said
  std::map<std::string, double> per_gpu_hour;  // by FoldedGpuName; 0 or more

  bool empty() const { return per_gpu_hour.empty(); }
  // Absent: this model has no price.
  std::optional<double> Of(std::string_view gpu_model) const {
    const auto found = per_gpu_hour.find(FoldedGpuName(gpu_model));
    return found == per_gpu_hour.end() ? std::nullopt : std::optional(found->second);
  }
  friend bool operator==(const Prices&, const Prices&) = default;
};

}  // namespace sharewell::core
