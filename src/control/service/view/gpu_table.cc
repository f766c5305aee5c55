#include "control/service/view/gpu_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/words.h"

namespace sharewell::control {

namespace {
constexpr std::size_t kMostNamed = 3;
}

std::string InWords(const std::vector<Stranger>& strangers) {
  if (strangers.empty()) return {};
  core::Bytes memory;
  std::string who;
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    memory += strangers[i].memory;
    if (i == kMostNamed) who += fmt::format(" and {} more", strangers.size() - kMostNamed);
    if (i >= kMostNamed) continue;
    who += fmt::format(", pid {} of {}", strangers[i].pid, strangers[i].user);
  }
  return fmt::format("other processes: {}{}", core::SizeText(memory), who);
}

bool GpuView::kept_busy() const {
  return std::any_of(strangers.begin(), strangers.end(),
                     [](const Stranger& one) { return one.busy; });
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

bool GpuTable::SetStrangers(core::GpuId id, std::vector<Stranger> strangers) {
  std::vector<Stranger>& known = gpus_[id.index()].strangers;
  if (known == strangers) return false;
  known = std::move(strangers);
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
    if (gpu.drained) words += fmt::format("; GPU {} is drained", core::NameOf(gpu.gpu));
    if (gpu.kept_busy()) {
      words +=
          fmt::format("; GPU {} is kept busy by {}", core::NameOf(gpu.gpu), InWords(gpu.strangers));
    } else if (!gpu.strangers.empty()) {
      words += fmt::format("; GPU {} has {}", core::NameOf(gpu.gpu), InWords(gpu.strangers));
    }
    if (!gpu.problem.empty())
      words += fmt::format("; GPU {}: {}", core::NameOf(gpu.gpu), gpu.problem);
  }
  return words;
}

std::string GpuTable::UnusableSentence() const {
  const std::string words = UnusableText();
  return words.empty() ? words : words.substr(2);  // without "; "
}

}  // namespace sharewell::control
