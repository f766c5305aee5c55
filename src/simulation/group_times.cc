#include "simulation/group_times.h"

#include <algorithm>
#include <tuple>

#include "core/numbers/statistics.h"

namespace sharewell::simulation {

std::size_t SizeOf(int gpus) {
  constexpr std::size_t kCpuOnly = kSizes.size() - 1;
  if (gpus <= 0) return kCpuOnly;
  for (std::size_t s = 0; s < kCpuOnly; ++s) {
    if (gpus <= kSizes[s].most) return s;
  }
  return kCpuOnly - 1;
}

std::string_view SizeInWords(std::string_view name) {
  for (const JobSize& size : kSizes) {
    if (size.name == name) return size.in_words;
  }
  return name;
}

void GroupedTimes::Add(std::size_t user, int gpus, std::optional<double> wait,
                       std::optional<double> jct) {
  if (user >= users_.size()) users_.resize(user + 1);
  for (Group* group : {&sizes_[SizeOf(gpus)], &users_[user]}) {
    ++group->jobs;
    if (wait) group->waits.push_back(*wait);
    if (jct) group->completions.push_back(*jct);
  }
}

GroupTimes GroupedTimes::TimesOf(std::string_view name, const Group& group) {
  return {std::string(name),
          group.jobs,
          core::Mean(group.waits),
          core::Quantile(group.waits, 0.99),
          core::Mean(group.completions),
          core::Quantile(group.completions, 0.99)};
}

std::vector<GroupTimes> GroupedTimes::BySize() const {
  std::vector<GroupTimes> out;
  for (std::size_t s = 0; s < kSizes.size(); ++s) {
    if (sizes_[s].jobs > 0) out.push_back(TimesOf(kSizes[s].name, sizes_[s]));
  }
  return out;
}

std::vector<GroupTimes> GroupedTimes::ByUser(const std::vector<std::string>& names) const {
  std::vector<GroupTimes> out;
  for (std::size_t u = 0; u < users_.size(); ++u) {
    if (users_[u].jobs > 0) out.push_back(TimesOf(names[u], users_[u]));
  }
  // Who has not started yet has no mean, and stands last.
  std::sort(out.begin(), out.end(), [](const GroupTimes& a, const GroupTimes& b) {
    return std::tuple(-a.wait_mean.value_or(-1), std::string_view(a.name)) <
           std::tuple(-b.wait_mean.value_or(-1), std::string_view(b.name));
  });
  return out;
}

}  // namespace sharewell::simulation
