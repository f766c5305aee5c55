#include "control/service/parts/gpu_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sharewell::control {

bool GpuTable::usable(core::GpuId id) const {
  const GpuView& gpu = gpus_[id.index()];
  return !gpu.drained && gpu.problem.empty();
}

std::optional<core::GpuId> GpuTable::Named(std::string_view name) const {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const core::GivenGpu& gpu = gpus_[i].gpu;
    if (gpu.uuid == name || std::to_string(gpu.index) == name) return core::GpuId(i);
  }
  return std::nullopt;
}

std::optional<core::GpuId> GpuTable::WithUuid(std::string_view uuid) const {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].gpu.uuid == uuid) return core::GpuId(i);
  }
  return std::nullopt;
}

bool GpuTable::SetProblem(core::GpuId id, std::string problem) {
  std::string& known = gpus_[id.index()].problem;
  if (known == problem) return false;
  known = std::move(problem);
  return true;
}

std::string GpuTable::DrainedText(core::GpuId changed, bool drained) const {
  std::string text;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (i == changed.index() ? drained : gpus_[i].drained) text += gpus_[i].gpu.uuid + "\n";
  }
  return text;
}

void GpuTable::ReadDrained(std::string_view text) {
  for (GpuView& gpu : gpus_) {
    gpu.drained = text.find(gpu.gpu.uuid + "\n") != std::string_view::npos;
  }
}

std::string GpuTable::UnusableText() const {
  std::string words;
  for (const GpuView& gpu : gpus_) {
    if (gpu.drained) words += fmt::format("; GPU {} is drained", gpu.gpu.index);
    if (!gpu.problem.empty()) words += fmt::format("; GPU {}: {}", gpu.gpu.index, gpu.problem);
  }
  return words;
}

std::string GpuTable::UnusableSentence() const {
  const std::string words = UnusableText();
  return words.empty() ? words : words.substr(2);  // without "; "
}

}  // namespace sharewell::control
