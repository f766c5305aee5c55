#include "server/live/job_track.h"

#include <algorithm>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "core/numbers/steady.h"

namespace sharewell::server {
namespace {

constexpr std::size_t kMostKeptValues = 512;
constexpr std::size_t kLeastKeptValues = 3;  // fewer tell nothing
constexpr core::Seconds kSettledAlone{3};    // GPU figures are means of the time before
// The slowest of the loops that we measured had searched for their algorithms after some 15 s
// (data/h200/README.md), and a first step may wait for its data.
constexpr core::Seconds kSearched{60};
constexpr std::size_t kMostEarly = 1024;

void KeepMost(std::optional<double>& most, double value) {
  most = std::max(most.value_or(value), value);
}

}  // namespace

// Of a step that lasts longer than that many looks, the first ones stand for all.
void KeptFigure::Append(double value) {
  if (!since_step_) return Keep(value);
  if (since_step_->size() < kMostKeptValues) since_step_->push_back(value);
}

void KeptFigure::Step() {
  if (!since_step_) {
    *this = KeptFigure();
    since_step_.emplace();
  }
  for (const double value : std::exchange(*since_step_, {})) Keep(value);
}

void KeptFigure::Keep(double value) {
  sum_ += value;
  if (++count_ < each_) return;
  values_.push_back(sum_ / count_);
  sum_ = count_ = 0;
  if (values_.size() < kMostKeptValues) return;
  for (std::size_t i = 0; i < kMostKeptValues / 2; ++i) {
    values_[i] = (values_[2 * i] + values_[2 * i + 1]) / 2;
  }
  values_.resize(kMostKeptValues / 2);
  each_ *= 2;
}

std::optional<double> KeptFigure::Steady() const {
  std::vector<double> values = values_;
  if (values.size() > 2 * kLeastKeptValues) values.pop_back();
  if (values.size() < kLeastKeptValues) return std::nullopt;
  core::SteadyRules rules;
  rules.interval = core::Seconds(each_);
  const std::size_t from = WarmupEnd(values, rules).value_or(values.size() / 4);
  double sum = 0;
  for (std::size_t i = from; i < values.size(); ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - from);
}

JobTrack::JobTrack(std::set<std::string> gpus, std::string model, std::size_t count)
    : gpus_(std::move(gpus)), model_(std::move(model)), count_(count) {}

void JobTrack::Share(bool shares) {
  shares_ = shares;
  ever_shared_ = ever_shared_ || shares;
  if (shares) alone_since_.reset();
}

void JobTrack::Step() {
  for (KeptFigure& figure : figures_) figure.Step();
}

std::optional<JobTrack::Figure> JobTrack::DeviceFigure(const core::Reading& reading) {
  const core::Metric* metric = reading.metric;
  if (metric == &collect::kGpuBusy) return kBusy;
  if (metric == &collect::kGpuSm) return kSm;
  if (metric == &collect::kGpuDram) return kDram;
  if (metric == &collect::kGpuGpmPcieReceived || metric == &collect::kGpuPcieReceived) {
    return kReceived;
  }
  if (metric == &collect::kGpuGpmPcieSent || metric == &collect::kGpuPcieSent) return kSent;
  if (metric == &collect::kGpuPower) return kPower;
  // NVML has no busy share of MIG instances; GPM's graphics share is the same thing.
  const bool mig = reading.instance.find(':') != std::string::npos;
  if (metric == &collect::kGpuGraphics && mig) return kBusy;
  return std::nullopt;
}

// A counter that went back has started again.
void JobTrack::TakeTraffic(Figure figure, double bytes, core::Seconds now) {
  const auto before = counted_.find(figure);
  if (before != counted_.end() && bytes >= before->second.first && now > before->second.second) {
    figures_[figure].Append((bytes - before->second.first) / (now - before->second.second).value);
  }
  counted_[figure] = {bytes, now};
}

void SettledMemory::Handle(double bytes, core::Seconds now) {
  if (!first_) first_ = last_ = now;
  last_ = std::max(last_, now);
  const core::Seconds age = std::max(now - *first_, core::Seconds(0));
  if (age < kSearched && early_.size() < kMostEarly) {
    early_.emplace_back(age, bytes);
  } else {
    KeepMost(later_, bytes);
  }
}

std::optional<double> SettledMemory::Most() const {
  if (!first_) return std::nullopt;
  const core::Seconds from = std::min(kSearched, (last_ - *first_) / 2);
  std::optional<double> most = later_;
  for (const auto& [age, bytes] : early_) {
    if (age >= from) KeepMost(most, bytes);
  }
  return most;
}

void JobTrack::Handle(const core::Reading& reading, core::Seconds now) {
  const core::Metric* metric = reading.metric;
  if (!reading.job.empty()) {
    if (metric == &collect::kJobCores) figures_[kCores].Append(reading.value);
    if (metric == &collect::kJobGpuMemory) {
      KeepMost(gpu_memory_, reading.value);
      settled_.Handle(reading.value, now);
    }
    if (metric == &collect::kJobResidentBytes) KeepMost(resident_, reading.value);
    if (metric == &collect::kJobProportionalBytes) KeepMost(proportional_, reading.value);
    if (metric == &collect::kJobMemoryTrafficBytes) TakeTraffic(kTraffic, reading.value, now);
    if (metric == &collect::kJobMemoryTrafficEstimatedBytes) {
      TakeTraffic(kTrafficEstimated, reading.value, now);
    }
    return;
  }
  if (!gpus_.contains(reading.instance)) return;
  if (metric == &collect::kGpuMemoryUsed) {
    auto& [least, rest] =
        used_.try_emplace(reading.instance, reading.value, SettledMemory()).first->second;
    least = std::min(least, reading.value);
    rest.Handle(reading.value, now);
    return;
  }
  const auto figure = DeviceFigure(reading);
  if (!figure || shares_) return;
  // DCGM counts all traffic where NVML looks at 20 ms of it: the two are not mixed.
  counts_pcie_ = counts_pcie_ || metric == &collect::kGpuGpmPcieReceived;
  if (counts_pcie_ && (metric == &collect::kGpuPcieReceived || metric == &collect::kGpuPcieSent)) {
    return;
  }
  // A clock that was set back begins it anew.
  alone_since_ = std::min(alone_since_.value_or(now), now);
  if (now - *alone_since_ >= kSettledAlone) figures_[*figure].Append(reading.value);
}

core::Profile JobTrack::Needed() const {
  core::Profile profile;
  profile.gpu = model_;
  const auto parts = static_cast<double>(std::max<std::size_t>(count_, 1));
  const auto steady = [&](Figure figure) { return figures_[figure].Steady(); };
  profile.busy = steady(kBusy);
  profile.sm = steady(kSm);
  profile.dram = steady(kDram);
  const auto received = steady(kReceived);
  const auto sent = steady(kSent);
  if (received && sent) profile.pcie = core::BytesPerSecond(*received + *sent);
  if (const auto power = steady(kPower)) profile.power = core::Watts(*power);
  if (const auto cores = steady(kCores)) profile.cpu_cores = *cores / parts;
  const auto measured = steady(kTraffic);
  if (const auto traffic = measured ? measured : steady(kTrafficEstimated)) {
    profile.host_bandwidth = core::BytesPerSecond(*traffic / parts);
  }
  auto memory = settled_.Most();
  if (!memory && !ever_shared_) {
    // The driver names no processes: what the GPU held more than in the beginning.
    for (const auto& [gpu, used] : used_) {
      KeepMost(memory, used.second.Most().value_or(used.first) - used.first);
    }
  }
  if (memory && *memory > 0) profile.gpu_memory = core::Bytes(*memory);
  const auto host = proportional_ ? proportional_ : resident_;
  if (host) profile.host_memory = core::Bytes(*host / parts);
  return profile;
}

}  // namespace sharewell::server
