#include "server/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/text/words.h"

namespace sharewell::server {
namespace {

using core::Profile;

constexpr std::size_t kRuns = 8;           // of one key that are remembered
constexpr core::Ratio kOnceMemory = 1.13;  // bound over what a single run took
constexpr core::Ratio kOnceCores = 1.25;
constexpr core::Ratio kOftenMemory = 1.05;  // over the most of several
constexpr core::Ratio kOftenCores = 1.1;
constexpr core::Ratio kSame = 0.02;  // a profile that moved by less is not stored again
constexpr double kLeastCompared = 3;

// A figure of a profile as a plain number, both ways.
struct RunFigure {
  const char* metric;
  const char* unit;
  std::optional<double> (*get)(const Profile&);
  void (*set)(Profile&, double);
};

template <class T>
std::optional<double> Plain(const std::optional<T>& figure) {
  return figure ? std::optional(figure->value) : std::nullopt;
}

enum RunFigureIndex : std::size_t {
  kBusyFigure,
  kSmFigure,
  kDramFigure,
  kMemoryFigure,
  kPcieFigure,
  kCoresFigure
};

constexpr std::array<RunFigure, 10> kRunFigures{{
    {"busy", "ratio", [](const Profile& p) { return p.busy; },
     [](Profile& p, double v) { p.busy = v; }},
    {"sm", "ratio", [](const Profile& p) { return p.sm; }, [](Profile& p, double v) { p.sm = v; }},
    {"dram", "ratio", [](const Profile& p) { return p.dram; },
     [](Profile& p, double v) { p.dram = v; }},
    {"gpu_memory", "bytes", [](const Profile& p) { return Plain(p.gpu_memory); },
     [](Profile& p, double v) { p.gpu_memory = core::Bytes(v); }},
    {"pcie", "bytes_per_second", [](const Profile& p) { return Plain(p.pcie); },
     [](Profile& p, double v) { p.pcie = core::BytesPerSecond(v); }},
    {"cpu_cores", "1", [](const Profile& p) { return p.cpu_cores; },
     [](Profile& p, double v) { p.cpu_cores = v; }},
    {"host_memory", "bytes", [](const Profile& p) { return Plain(p.host_memory); },
     [](Profile& p, double v) { p.host_memory = core::Bytes(v); }},
    {"power", "watts", [](const Profile& p) { return Plain(p.power); },
     [](Profile& p, double v) { p.power = core::Watts(v); }},
    {"steps", "1/s", [](const Profile& p) { return p.steps_per_second; },
     [](Profile& p, double v) { p.steps_per_second = v; }},
    {"host_bandwidth", "bytes_per_second", [](const Profile& p) { return Plain(p.host_bandwidth); },
     [](Profile& p, double v) { p.host_bandwidth = core::BytesPerSecond(v); }},
}};

double MostOf(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }

}  // namespace

KeyDigest DigestOf(const std::string& key) {
  KeyDigest digest{0xcbf29ce484222325ULL, 0x9ae16a3b2f90404fULL};
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    digest.a = (digest.a ^ byte) * 0x100000001b3ULL;
    digest.b = core::Mix(digest.b ^ byte);
  }
  return digest;
}

std::string TextOf(const KeyDigest& digest) {
  return fmt::format("{:016x}{:016x}", digest.a, digest.b);
}

std::optional<KeyDigest> DigestFrom(const std::string& text) {
  KeyDigest digest;
  if (text.size() != 32) return std::nullopt;
  const char* middle = text.data() + 16;
  const char* end = text.data() + 32;
  if (std::from_chars(text.data(), middle, digest.a, 16).ptr != middle ||
      std::from_chars(middle, end, digest.b, 16).ptr != end) {
    return std::nullopt;
  }
  return digest;
}

RunMemory::Runs& RunMemory::At(const KeyDigest& key) {
  if (!runs_.contains(key) && runs_.size() >= most_keys_) {
    // A tenth at a time, so that this is rare.
    std::vector<std::uint64_t> met;
    for (const auto& [other, runs] : runs_) met.push_back(runs.met);
    const auto tenth = met.begin() + static_cast<std::ptrdiff_t>(met.size() / 10);
    std::nth_element(met.begin(), tenth, met.end());
    std::erase_if(runs_, [&](const auto& entry) { return entry.second.met <= *tenth; });
    std::erase_if(errors_, [&](const auto& entry) { return !runs_.contains(entry.first); });
    sums_ = {};
    for (const auto& [other, errors] : errors_) Sum(errors, +1);
  }
  Runs& runs = runs_[key];
  runs.met = ++clock_;
  return runs;
}

void RunMemory::Add(const KeyDigest& key, std::int64_t job, const Profile& seen,
                    std::optional<core::Seconds> alone) {
  Run run;
  for (std::size_t f = 0; f < kFigures; ++f) run.figures[f] = kRunFigures[f].get(seen);
  if (alone && alone->value > 0) run.alone = alone->value;
  Runs& runs = At(key);
  if (runs.gpu != seen.gpu && !seen.gpu.empty()) {
    runs.last.clear();
    runs.gpu = seen.gpu;
  }
  if (!seen.workload.name.empty()) runs.workload = seen.workload;
  if (runs.last.size() >= kRuns) runs.last.erase(runs.last.begin());
  runs.last.push_back(run);
  runs.job = std::max(runs.job, job);
  ++runs.count;
}

void RunMemory::Restore(const KeyDigest& key, const core::ProfileRecord& record) {
  Runs& runs = At(key);
  runs.record = record.id;
  runs.gpu = record.profile.gpu;
  runs.workload = record.profile.workload;
  runs.count = std::max(runs.count, std::int64_t{record.repeats});
  // Its runs are gone but for their middle and their most; how long they took is known already.
  const std::size_t least = record.repeats > 1 ? 3 : 1;
  if (runs.last.size() < least) runs.last.resize(least);
  for (std::size_t f = 0; f < kFigures; ++f) {
    for (std::size_t i = 0; i < least; ++i) {
      runs.last[i].figures[f] = kRunFigures[f].get(record.profile);
    }
    for (const core::Figure& figure : record.figures) {
      const bool most = least > 1 && figure.metric == kRunFigures[f].metric;
      if (most) runs.last.back().figures[f] = figure.most;
    }
  }
}

std::vector<double> RunMemory::Row(const Runs& runs, std::size_t figure) {
  std::vector<double> row;
  for (const Run& run : runs.last) {
    if (run.figures[figure]) row.push_back(*run.figures[figure]);
  }
  return row;
}

std::optional<core::Needs> RunMemory::NeedsOf(const KeyDigest& key) const {
  const auto it = runs_.find(key);
  if (it == runs_.end()) return std::nullopt;
  const Runs& runs = it->second;
  core::Needs needs;
  needs.profile.workload = runs.workload;
  needs.profile.gpu = runs.gpu;
  bool any = false;
  for (std::size_t f = 0; f < kFigures; ++f) {
    const std::vector<double> row = Row(runs, f);
    if (row.empty()) continue;
    any = true;
    kRunFigures[f].set(needs.profile, *core::Quantile(row, 0.5));
    const bool once = row.size() == 1;
    if (f == kMemoryFigure) {
      needs.gpu_memory_upper = core::Bytes(MostOf(row) * (once ? kOnceMemory : kOftenMemory));
    } else if (f == kCoresFigure) {
      needs.cores_upper = MostOf(row) * (once ? kOnceCores : kOftenCores);
    }
  }
  std::vector<double> alone;
  for (const Run& run : runs.last) {
    if (run.alone) alone.push_back(*run.alone);
  }
  needs.sources = core::Sources::All(any ? core::Source::kObserved : core::Source::kAssumed);
  if (const auto median = core::Quantile(alone, 0.5)) {
    needs.duration = core::Seconds(*median);
    needs.sources.duration = core::Source::kObserved;
  }
  needs.from = runs.count == 1
                   ? fmt::format("job {}", runs.job)
                   : fmt::format("{} runs of the same, the last as job {}", runs.count, runs.job);
  if (runs.job == 0)
    needs.from = fmt::format("{} of the same",
                             core::Count(static_cast<std::uint64_t>(runs.count), "earlier run"));
  return needs;
}

std::optional<core::ProfileRecord> RunMemory::RecordOf(const KeyDigest& key) {
  const auto it = runs_.find(key);
  const auto needs = NeedsOf(key);
  if (!needs || needs->sources.busy != core::Source::kObserved) return std::nullopt;
  core::ProfileRecord record;
  record.id = it->second.record;
  record.source = "job";
  record.profile = needs->profile;
  record.repeats = static_cast<int>(std::min<std::int64_t>(it->second.count, 1'000'000));
  std::vector<double> now;
  for (std::size_t f = 0; f < kFigures; ++f) {
    const std::vector<double> row = Row(it->second, f);
    now.push_back(row.empty() ? -1 : *core::Quantile(row, 0.5));
    if (row.empty()) continue;
    core::Figure figure;
    figure.metric = kRunFigures[f].metric;
    figure.unit = kRunFigures[f].unit;
    figure.mean = *core::Mean(row);
    figure.least = *std::min_element(row.begin(), row.end());
    figure.most = MostOf(row);
    figure.median = now.back();
    figure.p95 = *core::Quantile(row, 0.95);
    double squares = 0;
    for (const double value : row) squares += (value - figure.mean) * (value - figure.mean);
    figure.deviation = std::sqrt(squares / static_cast<double>(row.size()));
    figure.readings = static_cast<std::int64_t>(row.size());
    record.figures.push_back(figure);
  }
  const auto& kept = it->second.kept;
  const bool same =
      std::equal(now.begin(), now.end(), kept.begin(), kept.end(),
                 [](double a, double b) { return std::abs(a - b) <= kSame * std::abs(b); });
  if (same && it->second.count > 2) return std::nullopt;
  it->second.kept = std::move(now);
  return record;
}

void RunMemory::Kept(const KeyDigest& key, std::int64_t id) {
  if (const auto it = runs_.find(key); it != runs_.end()) it->second.record = id;
}

void RunMemory::Sum(const Errors& errors, double sign) {
  sums_.busy += sign * errors.busy;
  sums_.memory += sign * errors.memory;
  sums_.cores += sign * errors.cores;
}

void RunMemory::Compare(const KeyDigest& key, const Profile& predicted, const Profile& seen) {
  const auto log_ratio = [&](std::size_t f) {
    const auto said = kRunFigures[f].get(predicted);
    const auto was = kRunFigures[f].get(seen);
    // One that is off by more is another program, not an error.
    return said && was && *said > 0 && *was > 0 ? std::log(std::clamp(*was / *said, 0.1, 10.0)) : 0;
  };
  if (!seen.busy || !runs_.contains(key)) return;
  Errors& errors = errors_[key];
  Sum(errors, -1);
  errors = {log_ratio(kBusyFigure), log_ratio(kMemoryFigure), log_ratio(kCoresFigure)};
  Sum(errors, +1);
}

void RunMemory::Correct(core::Needs& predicted) const {
  const auto compared = static_cast<double>(errors_.size());
  if (compared < kLeastCompared) return;
  const auto by = [&](double log_sum) { return std::exp(log_sum / compared); };
  Profile& p = predicted.profile;
  for (auto* share : {&p.busy, &p.sm, &p.dram}) {
    if (*share) *share = std::min(1.0, **share * by(sums_.busy));
  }
  for (auto* bytes : {&p.gpu_memory, &predicted.gpu_memory_upper}) {
    if (*bytes) *bytes = **bytes * by(sums_.memory);
  }
  for (auto* figure : {&p.cpu_cores, &predicted.cores_upper}) {
    if (*figure) *figure = **figure * by(sums_.cores);
  }
  predicted.from +=
      fmt::format(", corrected by {} measured here", core::Count(errors_.size(), "workload"));
}

}  // namespace sharewell::server
