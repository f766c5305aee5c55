#include "control/service/jobs/place_in_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/text/words.h"

namespace sharewell::control {
namespace {

constexpr core::Seconds kFresh(1);
constexpr std::size_t kMostGroups = 4;

}  // namespace

std::string_view NameOf(JobsAhead::Why why) {
  switch (why) {
    case JobsAhead::Why::kPriority:
      return "higher priority";
    case JobsAhead::Why::kProject:
      return "project below its share";
    case JobsAhead::Why::kUsedLess:
      return "used less so far";
    case JobsAhead::Why::kOrder:
      break;
  }
  return "earlier in line";
}

std::string InWords(const JobsAhead& ahead) {
  if (ahead.jobs == 0) return "no job goes before it";
  std::string text = core::Count(ahead.jobs, "job goes before it", "jobs go before it");
  std::size_t said = 0;
  for (std::size_t i = 0; i < std::min(ahead.groups.size(), kMostGroups); ++i) {
    const JobsAhead::Group& group = ahead.groups[i];
    text += fmt::format("{} {} of {} ({})", i == 0 ? ":" : ",", group.jobs, group.user,
                        NameOf(group.why));
    said += group.jobs;
  }
  return said < ahead.jobs ? text + fmt::format(", {} of others", ahead.jobs - said) : text;
}

std::vector<PlaceInLine::Place>::const_iterator PlaceInLine::Find(core::JobId id) const {
  return std::find_if(line_.begin(), line_.end(), [&](const Place& p) { return p.id == id; });
}

void PlaceInLine::Read(const policy::Policy& policy, const core::Snapshot& snapshot,
                       std::int64_t decided) {
  const policy::Policy::Turns turns = policy.InTurn(snapshot);
  by_user_ = turns.by_user;
  line_.clear();
  used_.clear();
  for (const core::JobId id : turns.jobs) {
    const core::Job& job = snapshot.job(id).job;
    const std::size_t project = job.project.index();
    const bool has_share = project < turns.has_share.size() && turns.has_share[project];
    line_.push_back({id, job.user, job.priority, has_share});
    used_.try_emplace(job.user, snapshot.usage(job.user));
  }
  decided_ = decided;
  read_ = snapshot.now();
}

std::optional<JobsAhead> PlaceInLine::AheadOf(core::JobId id, const policy::Policy& policy,
                                              const core::Snapshot& snapshot, const LiveJobs& live,
                                              std::int64_t decided) {
  auto here = Find(id);
  const bool old = decided_ != decided && snapshot.now() - read_ >= kFresh;
  if (here == line_.end() || old) {
    Read(policy, snapshot, decided);
    here = Find(id);
  }
  if (here == line_.end()) return std::nullopt;
  using Why = JobsAhead::Why;
  std::map<std::pair<core::UserId, Why>, std::size_t> counts;
  for (auto before = line_.begin(); before != here; ++before) {
    const bool used_less = by_user_ && used_[before->user] < used_[here->user];
    ++counts[{before->user, before->priority > here->priority       ? Why::kPriority
                            : here->has_share && !before->has_share ? Why::kProject
                            : used_less                             ? Why::kUsedLess
                                                                    : Why::kOrder}];
  }
  JobsAhead ahead;
  for (const auto& [who, jobs] : counts) {
    ahead.jobs += jobs;
    ahead.groups.push_back({live.NameOfUser(who.first), who.second, jobs});
  }
  std::stable_sort(ahead.groups.begin(), ahead.groups.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.jobs, a.user) < std::tuple(a.jobs, b.user);
  });
  return ahead;
}

}  // namespace sharewell::control
