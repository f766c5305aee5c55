#include "server/live/stranger_track.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "collect/metrics/gpu_metrics.h"
#include "platform/process/user_account.h"

namespace sharewell::server {
namespace {

constexpr int kLooks = 2;
constexpr core::UnixMillis kLeastAge = 3000;
constexpr core::Ratio kBusyFrom = 0.05;
constexpr core::Ratio kBusyUntil = 0.02;
constexpr core::Ratio kNewest = 0.3;  // the newest look's part in what is remembered
constexpr double kTellMemory = 16.0 * (1 << 20);

// 0: it is a job's.
int PidOf(std::string_view name) {
  int pid = 0;
  if (name.starts_with("pid ")) std::from_chars(name.data() + 4, name.data() + name.size(), pid);
  return std::max(pid, 0);
}

}  // namespace

std::string UserOfProcess(int pid) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) return {};
  return platform::UserName(status.st_uid);
}

bool StrangerTrack::Follow(Seen& seen, std::optional<core::Ratio> active) {
  if (active) {
    seen.active = seen.active ? *seen.active * (1 - kNewest) + *active * kNewest : *active;
  }
  const bool before = seen.busy;
  if (seen.active) seen.busy = *seen.active >= (before ? kBusyUntil : kBusyFrom);
  return seen.busy != before;
}

bool StrangerTrack::Handle(const core::Batch& batch, const std::set<std::string>& with_jobs) {
  std::map<std::pair<std::string, int>, core::Ratio> active;
  std::map<std::string, core::Ratio> gpu_busy;
  std::map<std::pair<std::string, int>, core::Bytes> memory;
  for (const core::Reading& reading : batch.readings) {
    if (reading.metric == &collect::kGpuBusy && reading.job.empty()) {
      gpu_busy[reading.instance] = reading.value;
    }
    const int pid = PidOf(reading.job);
    if (pid == 0) continue;
    if (reading.metric == &collect::kJobGpuMemory) {
      memory[{reading.instance, pid}] = core::Bytes(reading.value);
    }
    if (reading.metric == &collect::kJobGpuSm || reading.metric == &collect::kJobGpuSmApportioned) {
      active[{reading.instance, pid}] = reading.value;
    }
  }
  bool changed = false;
  for (const auto& [where, bytes] : memory) {
    const auto [at, fresh] = seen_.try_emplace(where);
    Seen& seen = at->second;
    if (fresh) seen.since = batch.time;
    seen.now = true;
    seen.since = std::min(seen.since, batch.time);  // a clock that was set back
    ++seen.looks;
    if (std::abs((bytes - seen.memory).value) > kTellMemory || !seen.told) {
      changed = changed || seen.told;
      seen.memory = bytes;
    }
    auto its = active.find(where) == active.end() ? std::optional<core::Ratio>() : active[where];
    // The driver samples no processes: the GPU is at work, and no job of ours is on it.
    const auto busy = gpu_busy.find(where.first);
    if (!its && !seen.active && busy != gpu_busy.end() && !with_jobs.contains(where.first)) {
      changed = (seen.busy != (busy->second >= kBusyFrom) && seen.told) || changed;
      seen.busy = busy->second >= kBusyFrom;
    }
    if (Follow(seen, its)) changed = changed || seen.told;
    if (!seen.told && seen.looks >= kLooks && batch.time - seen.since >= kLeastAge) {
      seen.user = user_of_(where.second);
      seen.told = changed = true;
    }
  }
  for (auto at = seen_.begin(); at != seen_.end();) {
    if (at->second.now) {
      (at++)->second.now = false;
      continue;
    }
    changed = changed || at->second.told;
    at = seen_.erase(at);
  }
  return changed;
}

std::vector<control::Stranger> StrangerTrack::On(const std::string& instance) const {
  std::vector<control::Stranger> strangers;
  for (const auto& [where, seen] : seen_) {
    if (where.first != instance || !seen.told) continue;
    strangers.push_back({where.second, seen.user, seen.memory, seen.busy});
  }
  return strangers;
}

}  // namespace sharewell::server
