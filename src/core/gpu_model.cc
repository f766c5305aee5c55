#include "core/gpu_model.h"

#include <algorithm>

#include "core/text/suggest.h"

namespace sharewell::core {

std::string FoldedGpuName(std::string_view name) {
  std::string key = LowerCase(name);
  std::erase_if(key, [](char c) {
    return c == ' ' || c == '-' || c == '_' || c == '\t' || c == '\r' || c == '\n';
  });
  for (const std::string_view prefix : {"nvidia", "geforce", "tesla"}) {
    if (key.starts_with(prefix) && key.size() > prefix.size()) key.erase(0, prefix.size());
  }
  return key;
}

bool IsNamed(const GpuModel& model, std::string_view name) {
  if (model.name == name) return true;
  const std::string wanted = FoldedGpuName(name);
  return FoldedGpuName(model.name) == wanted ||
         std::any_of(model.aliases.begin(), model.aliases.end(),
                     [&](const std::string& alias) { return FoldedGpuName(alias) == wanted; });
}

bool IsAllowed(const std::vector<std::string>& names, const GpuModel& model) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return IsNamed(model, name);
         });
}

}  // namespace sharewell::core
