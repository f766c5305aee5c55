#include "core/job/most_lose.h"

#include <algorithm>
#include <vector>

namespace sharewell::core {

std::map<std::string, std::size_t> MostLose(const std::map<std::string, std::size_t>& by_user,
                                            std::size_t most) {
  std::size_t all = 0;
  for (const auto& [user, count] : by_user) all += count;
  if (all <= most) return {};
  // The level to which those above it come down: the highest at which all have room.
  std::vector<std::size_t> counts;
  for (const auto& [user, count] : by_user) counts.push_back(count);
  std::sort(counts.begin(), counts.end());
  std::size_t room = most, level = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    level = room / (counts.size() - i);
    if (counts[i] > level) break;
    room -= counts[i];
  }
  std::size_t kept = 0;
  for (const auto& [user, count] : by_user) kept += std::min(count, level);
  std::map<std::string, std::size_t> lose;
  for (const auto& [user, count] : by_user) {
    if (count <= level) continue;
    const std::size_t spare = kept < most ? 1 : 0;  // what the level does not divide evenly
    kept += spare;
    if (count > level + spare) lose[user] = count - level - spare;
  }
  return lose;
}

}  // namespace sharewell::core
