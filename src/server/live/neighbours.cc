#include "server/live/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "collect/metrics/job_metrics.h"
#include "core/job/job_label.h"
#include "core/numbers/statistics.h"
#include "core/text/parse_number.h"
#include "platform/clock/wall_clock.h"
#include "report/html/job_report.h"
#include "report/text/json.h"

namespace sharewell::server {
namespace {

using core::UnixMillis;

constexpr std::size_t kMostBuckets = 2000;
constexpr double kReadingsAtOnce = 100;  // above that it looks less often
constexpr core::Seconds kLongestPause{60};
constexpr double kGapSteps = 3;  // so many usual steps without a sample: nobody looked

// What was known at one sample's time.
struct Slot {
  std::vector<std::int64_t> jobs;
  std::optional<double> speed;
};

double Length(UnixMillis from, UnixMillis to) { return static_cast<double>(to - from) / 1e3; }

// The usual time from one slot to the next.
UnixMillis StepOf(const std::map<UnixMillis, Slot>& slots) {
  std::vector<double> steps;
  for (auto next = slots.begin(); next != slots.end(); ++next) {
    if (next != slots.begin()) {
      steps.push_back(static_cast<double>(next->first - std::prev(next)->first));
    }
  }
  return static_cast<UnixMillis>(core::Quantile(steps, 0.5).value_or(0));
}

void WriteSpan(json::Writer& out, const NeighbourSpan& span) {
  std::optional<double> lost;
  if (span.speed && !span.jobs.empty()) lost = span.measured.value * (1 - *span.speed);
  out.Object([&] {
    out.Field("from_ms", span.from);
    out.Field("to_ms", span.to);
    out.Field("jobs", span.jobs);
    out.Field("speed", span.speed);
    out.Field("measured_seconds", span.measured);
    out.Field("lost_seconds", lost);
  });
}

}  // namespace

core::Batch NeighboursNow(const control::ServiceView& view, const control::JobBoard& board,
                          UnixMillis now) {
  std::map<std::int64_t, std::set<std::int64_t>> beside;
  for (const control::GpuView& gpu : view.gpus) {
    for (const std::int64_t job : gpu.jobs) {
      auto& others = beside[job];
      others.insert(gpu.jobs.begin(), gpu.jobs.end());
    }
  }
  core::Batch batch;
  batch.time = now;
  for (const auto& [number, others] : beside) {
    const control::JobPtr job = board.Find(number);
    if (job == nullptr || job->phase != core::Phase::kRunning) continue;
    const std::string name = core::JobLabel(number);
    if (job->slowdown && *job->slowdown > 0) {
      batch.readings.push_back({&collect::kJobSpeed, {}, name, 1 / *job->slowdown});
    }
    for (const std::int64_t other : others) {
      if (other == number) continue;
      batch.readings.push_back({&collect::kJobBeside, fmt::format("{}", other), name, 1});
    }
  }
  return batch;
}

NeighbourSampler::NeighbourSampler(const control::JobService& service, Put put, core::Seconds every)
    : service_(service), put_(std::move(put)), every_(every), thread_([this] { Work(); }) {}

NeighbourSampler::~NeighbourSampler() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void NeighbourSampler::Work() {
  core::Seconds pause = every_;
  for (;;) {
    {
      platform::MutexLock lock(mutex_);
      wake_.wait_for(lock, std::chrono::duration<double>(pause.value),
                     [this]() SHAREWELL_REQUIRES(mutex_) { return stop_; });
      if (stop_) return;
    }
    auto batch = std::make_shared<core::Batch>(
        NeighboursNow(service_.View(), service_.board(), platform::UnixNow()));
    const double often = static_cast<double>(batch->readings.size()) / kReadingsAtOnce;
    pause = std::min(every_ * std::max(1.0, often), std::max(kLongestPause, every_));
    if (!batch->readings.empty()) put_(batch);
  }
}

std::vector<NeighbourSpan> NeighbourSpans(const NeighbourBuckets& buckets, UnixMillis end) {
  std::map<UnixMillis, Slot> slots;
  for (const store::Bucket& bucket : buckets.speed) slots[bucket.time].speed = bucket.mean;
  for (const auto& [job, seen] : buckets.beside) {
    for (const store::Bucket& bucket : seen) slots[bucket.time].jobs.push_back(job);
  }
  const UnixMillis step = StepOf(slots);
  const auto most = static_cast<UnixMillis>(kGapSteps * static_cast<double>(step));
  std::vector<NeighbourSpan> spans;
  double speeds = 0;  // of the last span: its speed by time
  for (auto at = slots.begin(); at != slots.end(); ++at) {
    const auto& [time, slot] = *at;
    const auto next = std::next(at);
    const bool gap = next == slots.end() || next->first - time > most;
    const UnixMillis to = std::min(gap ? time + step : next->first, std::max(end, time));
    if (spans.empty() || spans.back().jobs != slot.jobs || spans.back().to != time) {
      spans.push_back({time, time, slot.jobs, {}, {}});
      speeds = 0;
    }
    NeighbourSpan& span = spans.back();
    span.to = to;
    if (!slot.speed || to <= time) continue;
    span.measured += core::Seconds(Length(time, to));
    speeds += *slot.speed * Length(time, to);
    span.speed = speeds / span.measured.value;
  }
  return spans;
}

core::Result<std::string> NeighboursJson(const std::string& place, const core::JobRecord& job) {
  auto store = store::Open(place);
  RETURN_IF_ERROR(store);
  const store::TimeRange range = report::JobRange(job, platform::UnixNow());
  store::SeriesFilter filter;
  filter.job = core::JobLabel(job.number);
  const auto listed = (*store)->List(filter);
  RETURN_IF_ERROR(listed);
  NeighbourBuckets buckets;
  for (const store::SeriesInfo& info : *listed) {
    const bool speed = info.key.metric == collect::kJobSpeed.name;
    if (!speed && info.key.metric != collect::kJobBeside.name) continue;
    auto read = (*store)->Chart(info.key, range, kMostBuckets);
    RETURN_IF_ERROR(read);
    if (speed) {
      buckets.speed = std::move(*read);
      continue;
    }
    const auto other = core::ParseWhole("a neighbour", info.key.instance, 1, 1e15);
    if (other) buckets.beside[static_cast<std::int64_t>(*other)] = std::move(*read);
  }
  const std::vector<NeighbourSpan> spans = NeighbourSpans(buckets, range.to);
  double shared = 0, measured = 0, lost = 0;
  for (const NeighbourSpan& span : spans) {
    if (span.jobs.empty()) continue;
    shared += Length(span.from, span.to);
    measured += span.measured.value;
    if (span.speed) lost += span.measured.value * (1 - *span.speed);
  }
  return report::JsonLine([&](json::Writer& out) {
    out.Field("number", job.number);
    out.Field("from_ms", range.from);
    out.Field("to_ms", range.to);
    out.List("spans", spans, [&](const NeighbourSpan& span) { WriteSpan(out, span); });
    out.Field("shared_seconds", shared);
    out.Field("measured_seconds", measured);
    out.Field("lost_seconds", measured > 0 ? std::optional(lost) : std::nullopt);
  });
}

}  // namespace sharewell::server
