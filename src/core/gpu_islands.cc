#include "core/gpu_islands.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"

namespace sharewell::core {
namespace {

// Takes the text up to `divider` off the front, or all of it; absent: there is no more.
std::optional<std::string_view> TakePart(std::optional<std::string_view>& rest, char divider) {
  if (!rest) return std::nullopt;
  const auto at = rest->find(divider);
  const std::string_view part = rest->substr(0, at);
  rest = at == std::string_view::npos ? std::nullopt : std::optional(rest->substr(at + 1));
  return part;
}

// "3" or "0-3".
Result<std::pair<int, int>> ParseRange(std::string_view text, int gpus) {
  const auto dash = text.find('-');
  const auto most = static_cast<std::uint64_t>(gpus - 1);
  const auto first = ParseWhole("a GPU of an island", text.substr(0, dash), 0, most);
  RETURN_IF_ERROR(first);
  if (dash == std::string_view::npos) {
    return std::pair(static_cast<int>(*first), static_cast<int>(*first));
  }
  const auto last = ParseWhole("a GPU of an island", text.substr(dash + 1), *first, most);
  RETURN_IF_ERROR(last);
  return std::pair(static_cast<int>(*first), static_cast<int>(*last));
}

std::vector<int> EachForItself(int gpus) {
  std::vector<int> level(static_cast<std::size_t>(gpus));
  std::iota(level.begin(), level.end(), 0);
  return level;
}

// "0,1|2,3": islands as lists of GPUs.
Result<std::vector<int>> ParseLevel(std::string_view text, int gpus) {
  std::vector<int> level = EachForItself(gpus);
  std::vector<bool> named(level.size(), false);
  std::optional<std::string_view> islands = text;
  while (const auto island = TakePart(islands, '|')) {
    std::vector<std::size_t> members;
    std::optional<std::string_view> ranges = *island;
    while (const auto range = TakePart(ranges, ',')) {
      const auto ends = ParseRange(*range, gpus);
      RETURN_IF_ERROR(ends);
      for (int gpu = ends->first; gpu <= ends->second; ++gpu) {
        const auto at = static_cast<std::size_t>(gpu);
        if (named[at]) return UsageError("GPU {} is in two islands of one level", gpu);
        named[at] = true;
        members.push_back(at);
      }
    }
    const auto lowest = static_cast<int>(*std::min_element(members.begin(), members.end()));
    for (const std::size_t gpu : members) level[gpu] = lowest;
  }
  return level;
}

// Everything that is one island of `inner` is in one island of `outer`.
bool Within(const std::vector<int>& inner, const std::vector<int>& outer) {
  for (std::size_t gpu = 0; gpu < inner.size(); ++gpu) {
    if (outer[gpu] != outer[static_cast<std::size_t>(inner[gpu])]) return false;
  }
  return true;
}

// "0-3" or "0,2": one island.
std::string IslandText(const std::vector<int>& members) {
  std::string text;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t last = i;
    while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
    if (last - i < 2) last = i;  // two are written one by one
    text += (text.empty() ? "" : ",") + (last > i ? fmt::format("{}-{}", members[i], members[last])
                                                  : fmt::format("{}", members[i]));
    i = last + 1;
  }
  return text;
}

}  // namespace

Result<GpuIslands> GpuIslands::Parse(std::string_view text, int gpus) {
  const auto wrong = [&](std::string_view why) {
    return UsageError(
        "islands of GPUs {}: {}; write them as in 0,1|2,3 or, in larger islands, "
        "0,1|2,3|4,5|6,7/0-3|4-7",
        Quoted(text), why);
  };
  if (gpus < 1 || gpus > kMostGpus) {
    return wrong(
        fmt::format("they can be told of a node of 1 to {} GPUs, and it has {}", kMostGpus, gpus));
  }
  GpuIslands islands;
  std::optional<std::string_view> levels = text;
  std::optional<Level> before;
  while (const auto part = TakePart(levels, '/')) {
    auto level = ParseLevel(*part, gpus);
    if (!level) return wrong(level.error().message);
    if (before && !Within(*before, *level)) {
      return wrong("an island does not lie within one island of the level behind it");
    }
    islands.AddUnlessPlain(*level);
    before = *std::move(level);
  }
  return islands;
}

GpuIslands GpuIslands::FromDistances(const std::vector<std::vector<int>>& distances) {
  GpuIslands islands;
  std::vector<int> steps;
  for (const auto& row : distances) steps.insert(steps.end(), row.begin(), row.end());
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (const int step : steps) {
    // Chains count: whoever is near one that is near is in the island too.
    Level level = EachForItself(static_cast<int>(distances.size()));
    for (std::size_t a = 0; a < distances.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (distances[a][b] > step || level[a] == level[b]) continue;
        const int low = std::min(level[a], level[b]), high = std::max(level[a], level[b]);
        std::replace(level.begin(), level.end(), high, low);
      }
    }
    islands.AddUnlessPlain(level);
  }
  return islands;
}

GpuIslands GpuIslands::Of(const std::vector<int>& gpus) const {
  GpuIslands some;
  for (const Level& all : levels_) {
    Level level = EachForItself(static_cast<int>(gpus.size()));
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < i && level[i] == static_cast<int>(i); ++j) {
        if (all[static_cast<std::size_t>(gpus[i])] == all[static_cast<std::size_t>(gpus[j])]) {
          level[i] = level[j];
        }
      }
    }
    some.AddUnlessPlain(level);
  }
  return some;
}

int GpuIslands::Distance(int a, int b) const {
  return static_cast<int>(std::count_if(levels_.begin(), levels_.end(), [&](const Level& level) {
    return level[static_cast<std::size_t>(a)] != level[static_cast<std::size_t>(b)];
  }));
}

std::string GpuIslands::Text() const {
  std::string text;
  for (const Level& level : levels_) {
    if (!text.empty()) text += '/';
    bool first = true;
    for (std::size_t lowest = 0; lowest < level.size(); ++lowest) {
      std::vector<int> members;
      for (std::size_t gpu = lowest; gpu < level.size(); ++gpu) {
        if (level[gpu] == static_cast<int>(lowest)) members.push_back(static_cast<int>(gpu));
      }
      if (members.empty()) continue;
      if (!std::exchange(first, false)) text += '|';
      text += IslandText(members);
    }
  }
  return text;
}

void GpuIslands::AddUnlessPlain(const Level& level) {
  const bool apart = level == EachForItself(static_cast<int>(level.size()));
  const bool together =
      std::all_of(level.begin(), level.end(), [&](int island) { return island == level.front(); });
  if (apart || together || (known() && levels_.back() == level)) return;
  levels_.push_back(level);
}

}  // namespace sharewell::core
