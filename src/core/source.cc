#include "core/source.h"

#include <algorithm>
#include <array>

namespace sharewell::core {
namespace {

constexpr std::array<std::string_view, 4> kSources = {"assumed", "predicted", "told", "observed"};

}  // namespace

std::string_view NameOf(Source source) { return kSources[static_cast<std::size_t>(source)]; }

std::optional<Source> SourceNamed(std::string_view name) {
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    if (kSources[i] == name) return static_cast<Source>(i);
  }
  return std::nullopt;
}

Sources SourcesByOne(Source one) {
  Sources sources = Sources::All(one);
  sources.pace = std::min(one, Source::kPredicted);
  return sources;
}

}  // namespace sharewell::core
