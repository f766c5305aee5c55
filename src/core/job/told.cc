#include "core/job/told.h"

#include <fmt/format.h>

#include <vector>

#include "core/text/words.h"

namespace sharewell::core {
namespace {

std::string Parameters(double number) {
  if (number >= 1e9) return fmt::format("{:.1f} G parameters", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f} M parameters", number / 1e6);
  return Count(static_cast<std::uint64_t>(number < 0 ? 0 : number), "parameter");
}

}  // namespace

std::string InWords(const Told& told) {
  std::vector<std::string> parts;
  if (!told.modules.empty()) parts.push_back(told.modules);
  if (told.parameters) {
    const std::string size = Parameters(*told.parameters);
    parts.empty() ? parts.push_back(size) : static_cast<void>(parts.back() += " with " + size);
  }
  if (told.parameters && told.trainable && *told.trainable < *told.parameters) {
    parts.push_back(
        fmt::format("{:.3g} % of them trained", 100 * *told.trainable / *told.parameters));
  }
  if (told.batch) parts.push_back(fmt::format("batch {:.0f}", *told.batch));
  if (told.accumulation && *told.accumulation > 1) {
    parts.push_back(fmt::format("{:.0f} backward passes a step", *told.accumulation));
  }
  if (!told.optimizer.empty()) {
    const bool plain = told.optimizer_style.empty() || told.optimizer_style == "foreach";
    parts.push_back(plain ? told.optimizer
                          : fmt::format("{} ({})", told.optimizer, told.optimizer_style));
  }
  if (!told.autocast.empty()) {
    parts.push_back(told.autocast + " autocast");
  } else if (!told.precision.empty()) {
    parts.push_back(told.precision);
  }
  if (told.workers) {
    parts.push_back(
        fmt::format("{:.0f} loader worker{}", *told.workers, *told.workers == 1 ? "" : "s"));
  }
  const auto add_if = [&](const std::optional<bool>& flag, const char* words) {
    if (flag.value_or(false)) parts.emplace_back(words);
  };
  add_if(told.compiled, "compiled");
  add_if(told.cuda_graphs, "CUDA graphs");
  add_if(told.channels_last, "channels last");
  add_if(told.checkpointing, "gradient checkpointing");
  if (told.world_size && *told.world_size > 1) {
    parts.push_back(fmt::format("{:.0f} processes{}{}", *told.world_size,
                                told.parallel.empty() ? "" : " by ", told.parallel));
  }
  if (!told.framework.empty()) parts.push_back(told.framework);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace sharewell::core
