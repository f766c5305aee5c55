#include "core/text/suggest.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace sharewell::core {
namespace {

constexpr std::size_t kLongestSuggested = 100;  // longer is no name: not worth the quadratic cost

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Optimal string alignment: three rows suffice.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::optional<std::string> Nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > kLongestSuggested) return std::nullopt;
  const std::string wanted = LowerCase(name);
  const std::string* nearest = nullptr;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestSuggested) continue;
    const std::size_t distance = EditDistance(wanted, LowerCase(candidate));
    const std::size_t allowed =
        std::max<std::size_t>(2, std::max(name.size(), candidate.size()) / 3);
    // A distance of all letters is no likeness ("T4" and "K8").
    if (distance > allowed || distance >= std::max(name.size(), candidate.size())) continue;
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> candidates) {
  const auto nearest = Nearest(name, candidates);
  return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
}

}  // namespace sharewell::core
