#include "server/live/usage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "platform/clock/wall_clock.h"
#include "report/jobs/usage_json.h"
#include "report/jobs/usage_rows.h"
#include "simulation/usage/gpu_time.h"
#include "simulation/usage/savings.h"
#include "store/job_store.h"
#include "store/store.h"

namespace sharewell::server {
namespace {

using core::Result;
using std::chrono::steady_clock;

constexpr std::size_t kBins = 168;         // hours of a week
constexpr std::size_t kMostSampled = 128;  // GPUs whose samples are read
constexpr std::size_t kMostKept = 8;
constexpr int kRest = 19;                            // so many times what it took
constexpr auto kMovesOn = std::chrono::seconds(30);  // what runs goes on without any event

struct JobsRead {
  std::vector<core::JobRecord> jobs;
  bool cut = false;  // there are more
};

// Those that lived since, the newest first.
Result<JobsRead> ReadJobsSince(store::JobStore& store, core::UnixMillis since) {
  store::JobFilter filter;
  filter.ended_since = since;
  filter.most = 20'000;
  filter.most_bytes = std::size_t{64} << 20;  // of memory about three times that
  auto records = store.Jobs(filter);
  RETURN_IF_ERROR(records);
  JobsRead read{std::move(*records)};
  if (read.jobs.empty()) return read;
  // Whether there are more, the next one tells.
  filter.below = read.jobs.back().number;
  filter.most = 1;
  const auto more = store.Jobs(filter);
  RETURN_IF_ERROR(more);
  read.cut = !more->empty();
  return read;
}

// Who had which of the server's GPUs when.
simulation::GpuTime WorldOf(const std::vector<core::JobRecord>& jobs,
                            const control::ServiceView& view, simulation::TimeSpan time) {
  std::vector<const core::JobRecord*> pointers;
  for (const core::JobRecord& job : jobs) pointers.push_back(&job);
  std::vector<core::GivenGpu> gpus;
  for (const control::GpuView& gpu : view.gpus) gpus.push_back(gpu.gpu);
  const core::Cluster none;
  return simulation::GpuTimeOf(pointers, view.cluster ? *view.cluster : none, gpus, time);
}

// Mean of the GPUs that were sampled, by bin.
Result<void> ReadBusy(const std::string& where, const std::string& node,
                      const std::vector<core::GivenGpu>& gpus, simulation::TimeSpan time,
                      std::vector<report::UsageBin>& bins) {
  if (gpus.size() > kMostSampled) return {};
  auto store = store::Open(where);
  RETURN_IF_ERROR(store);
  store::SeriesFilter filter;
  filter.metric = "gpu_busy_ratio";
  if (!node.empty()) filter.node = node;
  const auto listed = (*store)->List(filter);
  RETURN_IF_ERROR(listed);
  std::vector<double> sum(bins.size()), readings(bins.size());
  std::size_t read = 0;
  for (const store::SeriesInfo& info : *listed) {
    if (!info.key.job.empty() || info.last < time.from || info.first >= time.to) continue;
    if (++read > kMostSampled) break;
    const auto buckets = (*store)->Chart(info.key, {time.from, time.to}, bins.size());
    RETURN_IF_ERROR(buckets);
    for (const store::Bucket& bucket : *buckets) {
      const auto after = std::upper_bound(
          bins.begin(), bins.end(), bucket.time,
          [](core::UnixMillis at, const report::UsageBin& bin) { return at < bin.from; });
      if (after == bins.begin() || bucket.samples == 0) continue;
      const auto bin = static_cast<std::size_t>(after - bins.begin() - 1);
      sum[bin] += std::clamp(bucket.mean, 0.0, 1.0);
      ++readings[bin];
    }
  }
  for (std::size_t b = 0; b < bins.size(); ++b) {
    if (readings[b] > 0) bins[b].busy = sum[b] / readings[b];
  }
  return {};
}

std::vector<report::UsageBin> BinsOf(const simulation::GpuTime& world, simulation::TimeSpan time) {
  const auto totals = simulation::OverTime(world, time, kBins);
  std::vector<report::UsageBin> bins;
  for (std::size_t b = 0; b < totals.size(); ++b) {
    const auto begin = [&](std::size_t bin) {
      return time.from + (time.to - time.from) * static_cast<core::UnixMillis>(bin) /
                             static_cast<core::UnixMillis>(kBins);
    };
    const double all = static_cast<double>(begin(b + 1) - begin(b)) *
                       static_cast<double>(std::max<std::size_t>(world.gpus.size(), 1));
    bins.push_back({begin(b), static_cast<double>(totals[b].held) / std::max(all, 1.0),
                    static_cast<double>(totals[b].shared) / std::max(all, 1.0), std::nullopt});
  }
  return bins;
}

}  // namespace

UsageKeeper::UsageKeeper(std::string store, std::function<control::ServiceView()> view,
                         bool cluster)
    : store_(std::move(store)), view_(std::move(view)), cluster_(cluster) {}

bool UsageKeeper::IsGood(const Kept& kept) const {
  const auto age = steady_clock::now() - kept.made;
  if (age < kept.cost * kRest) return true;
  if (age >= kMovesOn) return false;
  const auto jobs = store::OpenJobs(store_);
  if (!jobs) return false;
  const auto last = (*jobs)->LastEvent();
  return last && *last == kept.event;
}

Result<UsageKeeper::Kept> UsageKeeper::Make(std::int64_t seconds) const {
  const auto began = steady_clock::now();
  Kept kept;
  auto jobs = store::OpenJobs(store_);
  RETURN_IF_ERROR(jobs);
  const auto last = (*jobs)->LastEvent();
  RETURN_IF_ERROR(last);
  kept.event = *last;
  report::WeekParts parts;
  parts.to = platform::UnixNow();
  parts.from = parts.to - seconds * 1000;
  auto read = ReadJobsSince(**jobs, parts.from);
  RETURN_IF_ERROR(read);
  parts.cut = read->cut;
  parts.jobs = std::move(read->jobs);
  const control::ServiceView view = view_();
  std::vector<core::GivenGpu> gpus;
  for (const control::GpuView& gpu : view.gpus) {
    gpus.push_back(gpu.gpu);
    parts.gpus.emplace_back().gpu = gpu.gpu;
  }
  const simulation::TimeSpan time{parts.from, parts.to};
  const simulation::GpuTime world = WorldOf(parts.jobs, view, time);
  auto bins = BinsOf(world, time);
  RETURN_IF_ERROR(ReadBusy(store_, cluster_ ? "" : view.node, gpus, time, bins));
  kept.answer = report::UsageJson(parts, bins, simulation::SavingsOf(world, time));
  kept.made = steady_clock::now();
  kept.cost = kept.made - began;
  return kept;
}

Result<std::string> UsageTableText(const std::string& store, const control::ServiceView& view,
                                   const api::UsageAsked& asked, const core::Prices& prices) {
  const auto jobs = store::OpenJobs(store);
  // Whoever asks is not to blame for it, whatever kind it is.
  if (!jobs) return core::FailedError("{}", jobs.error().message);
  const auto read = ReadJobsSince(**jobs, asked.from);
  if (!read) return core::FailedError("{}", read.error().message);
  // What runs has run until now, and not longer.
  const simulation::TimeSpan time{asked.from, std::min(asked.to, platform::UnixNow())};
  auto table =
      report::UsageTableOf(read->jobs, WorldOf(read->jobs, view, time), time, asked.by, prices);
  RETURN_IF_ERROR(table);
  table->cut = table->cut || read->cut;
  return asked.csv ? report::UsageTableCsv(*table) : report::UsageTableJson(*table);
}

Result<std::string> UsageKeeper::Answer(std::int64_t seconds) {
  const platform::MutexLock lock(mutex_);
  const auto found = kept_.find(seconds);
  if (found != kept_.end() && IsGood(found->second)) return found->second.answer;
  auto made = Make(seconds);
  RETURN_IF_ERROR(made);
  if (found == kept_.end() && kept_.size() >= kMostKept) {
    kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return a.second.made < b.second.made;
    }));
  }
  return (kept_[seconds] = std::move(*made)).answer;
}

}  // namespace sharewell::server
