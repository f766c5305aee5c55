#include "server/learn/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
constexpr std::size_t kLeastCompared = 3;

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
  kCoresFigure,
  kHostMemoryFigure,
  kPowerFigure,
  kStepsFigure
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

// Of two in the middle the one nearer to zero: with an even number of users half of them must not
// be enough to pull the others along. REQUIRES: not empty.
double MilderMedian(std::vector<double> row) {
  std::sort(row.begin(), row.end());
  const double above = row[row.size() / 2], below = row[(row.size() - 1) / 2];
  return std::abs(above) < std::abs(below) ? above : below;
}

double MostOf(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }

}  // namespace

bool RateWasSeen(const core::ProfileRecord& record) {
  return record.source != "job" || record.window.value > 0;
}

RunMemory::Runs& RunMemory::At(const std::string& user, const KeyDigest& key) {
  if (Find(user, key) == nullptr) {
    if (keys_ >= most_keys_) MakeRoom();
    ++keys_;
    ++users_of_[key];
  }
  Runs& runs = by_user_[user].runs[key];
  runs.met = ++clock_;
  return runs;
}

const RunMemory::Runs* RunMemory::Find(const std::string& user, const KeyDigest& key) const {
  const auto taught = by_user_.find(user);
  if (taught == by_user_.end()) return nullptr;
  const auto runs = taught->second.runs.find(key);
  return runs == taught->second.runs.end() ? nullptr : &runs->second;
}

// Of the user with most, so that nobody's flood makes another's forgotten; a tenth of theirs at a
// time, so that this is rare.
void RunMemory::MakeRoom() {
  const auto largest = std::max_element(
      by_user_.begin(), by_user_.end(),
      [](const auto& a, const auto& b) { return a.second.runs.size() < b.second.runs.size(); });
  if (largest == by_user_.end() || largest->second.runs.empty()) return;
  Taught& taught = largest->second;
  std::vector<std::uint64_t> met;
  for (const auto& [key, runs] : taught.runs) met.push_back(runs.met);
  const auto tenth = met.begin() + static_cast<std::ptrdiff_t>(met.size() / 10);
  std::nth_element(met.begin(), tenth, met.end());
  std::erase_if(taught.runs, [&](const auto& entry) {
    if (entry.second.met > *tenth) return false;
    if (const auto users = users_of_.find(entry.first); --users->second == 0)
      users_of_.erase(users);
    --keys_;
    return true;
  });
  std::erase_if(taught.errors, [&](const auto& entry) {
    if (taught.runs.contains(entry.first)) return false;
    taught.Sum(entry.second, -1);
    return true;
  });
}

void RunMemory::Add(const std::string& user, const KeyDigest& key, std::int64_t job,
                    const Profile& seen, const Times& times) {
  Run run;
  bool any = false;
  for (std::size_t f = 0; f < kFigures; ++f) {
    run.figures[f] = kRunFigures[f].get(seen);
    any = any || run.figures[f];
  }
  if (times.taken && times.taken->value > 0) run.taken = times.taken->value;
  if (any) run.watched = times.watched;
  Runs& runs = At(user, key);
  if (runs.gpu != seen.gpu && !seen.gpu.empty()) {
    runs.last.clear();
    runs.gpu = seen.gpu;
  }
  if (!seen.workload.name.empty()) runs.workload = seen.workload;
  if (runs.last.size() >= kRuns) runs.last.erase(runs.last.begin());
  runs.last.push_back(run);
  runs.measured = runs.measured || any;
  runs.job = std::max(runs.job, job);
  ++runs.count;
}

void RunMemory::Restore(const std::string& user, const KeyDigest& key,
                        const core::ProfileRecord& record) {
  Runs& runs = At(user, key);
  runs.record = record.id;
  runs.measured = true;
  runs.gpu = record.profile.gpu;
  runs.workload = record.profile.workload;
  runs.count = std::max(runs.count, std::int64_t{record.repeats});
  // Its runs are gone but for their middle and their most; how long they took is known already.
  const std::size_t least = record.repeats > 1 ? 3 : 1;
  if (runs.last.size() < least) runs.last.resize(least);
  runs.last.front().watched = record.window;
  for (std::size_t f = 0; f < kFigures; ++f) {
    for (std::size_t i = 0; i < least; ++i) {
      runs.last[i].figures[f] = kRunFigures[f].get(record.profile);
      if (f == kStepsFigure && !RateWasSeen(record)) runs.last[i].figures[f].reset();
    }
    for (const core::Figure& figure : record.figures) {
      const bool most = least > 1 && figure.metric == kRunFigures[f].metric;
      if (most && runs.last.back().figures[f]) runs.last.back().figures[f] = figure.most;
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

std::optional<core::Needs> RunMemory::NeedsOf(const std::string& user, const KeyDigest& key) const {
  const Runs* runs = Find(user, key);
  return runs == nullptr ? std::nullopt : std::optional(NeedsBy(*runs));
}

core::Needs RunMemory::NeedsBy(const Runs& runs) {
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
  std::vector<double> taken;
  for (const Run& run : runs.last) {
    if (run.taken) taken.push_back(*run.taken);
  }
  needs.sources = core::Sources::All(any ? core::Source::kObserved : core::Source::kAssumed);
  if (!needs.profile.steps_per_second) needs.sources.pace = core::Source::kAssumed;
  if (const auto median = core::Quantile(taken, 0.5)) {
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

std::optional<core::Needs> RunMemory::OthersNeeds(const std::string& user,
                                                  const KeyDigest& key) const {
  const auto users = users_of_.find(key);
  if (users == users_of_.end() || users->second < kCorroborating) return std::nullopt;
  // What runs on different models of GPU say cannot be put together: the model that most users
  // have, and of equals the first by name.
  std::map<std::string, std::vector<core::Needs>> by_gpu;
  for (const auto& [other, taught] : by_user_) {
    const auto runs = other == user ? taught.runs.end() : taught.runs.find(key);
    if (runs == taught.runs.end()) continue;
    core::Needs needs = NeedsBy(runs->second);
    if (needs.sources.busy != core::Source::kObserved) continue;
    by_gpu[needs.profile.gpu].push_back(std::move(needs));
  }
  const auto most = std::max_element(
      by_gpu.begin(), by_gpu.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == by_gpu.end() || most->second.size() < kCorroborating) return std::nullopt;
  const std::vector<core::Needs>& all = most->second;
  core::Needs needs;
  needs.profile.gpu = most->first;
  needs.sources = core::Sources::All(core::Source::kObserved);
  const auto over_users = [&](auto figure) {
    std::vector<double> row;
    for (const core::Needs& one : all) {
      if (const std::optional<double> value = figure(one)) row.push_back(*value);
    }
    if (row.size() < kCorroborating) row.clear();
    return row;
  };
  for (std::size_t f = 0; f < kFigures; ++f) {
    const std::vector<double> row =
        over_users([&](const core::Needs& one) { return kRunFigures[f].get(one.profile); });
    if (row.empty()) continue;
    // Too little memory or too few cores is what harms: there one who says the truth is enough.
    const bool taken = f == kMemoryFigure || f == kCoresFigure || f == kHostMemoryFigure;
    kRunFigures[f].set(needs.profile, taken ? MostOf(row) : *core::Quantile(row, 0.5));
  }
  const auto memory =
      over_users([](const core::Needs& one) { return Plain(one.gpu_memory_upper); });
  if (!memory.empty()) needs.gpu_memory_upper = core::Bytes(MostOf(memory));
  const auto cores = over_users([](const core::Needs& one) { return one.cores_upper; });
  if (!cores.empty()) needs.cores_upper = MostOf(cores);
  const auto alone = over_users([](const core::Needs& one) { return Plain(one.duration); });
  if (!alone.empty()) needs.duration = core::Seconds(*core::Quantile(alone, 0.5));
  if (!needs.profile.steps_per_second) needs.sources.pace = core::Source::kAssumed;
  needs.from = fmt::format("runs of the same by {} other users", all.size());
  return needs;
}

std::optional<core::ProfileRecord> RunMemory::RecordOf(const std::string& user,
                                                       const KeyDigest& key) {
  if (Find(user, key) == nullptr) return std::nullopt;
  Runs& runs = by_user_[user].runs[key];
  const core::Needs needs = NeedsBy(runs);
  if (needs.sources.busy != core::Source::kObserved) return std::nullopt;
  core::ProfileRecord record;
  record.id = runs.record;
  record.user = user;
  record.source = "job";
  record.profile = needs.profile;
  for (const Run& run : runs.last) record.window += run.watched;
  record.repeats = static_cast<int>(std::min<std::int64_t>(runs.count, 1'000'000));
  std::vector<double> now;
  for (std::size_t f = 0; f < kFigures; ++f) {
    const std::vector<double> row = Row(runs, f);
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
  const auto& kept = runs.kept;
  const bool same =
      std::equal(now.begin(), now.end(), kept.begin(), kept.end(),
                 [](double a, double b) { return std::abs(a - b) <= kSame * std::abs(b); });
  if (same && runs.count > 2) return std::nullopt;
  runs.kept = std::move(now);
  return record;
}

void RunMemory::Kept(const std::string& user, const KeyDigest& key, std::int64_t id) {
  if (Find(user, key) != nullptr) by_user_[user].runs[key].record = id;
}

void RunMemory::Taught::Sum(const Errors& more, double sign) {
  sums.busy += sign * more.busy;
  sums.memory += sign * more.memory;
  sums.cores += sign * more.cores;
}

RunMemory::Errors RunMemory::Taught::Mean() const {
  const auto compared = static_cast<double>(errors.size());
  return {sums.busy / compared, sums.memory / compared, sums.cores / compared};
}

void RunMemory::Compare(const std::string& user, const KeyDigest& key, const Profile& predicted,
                        const Profile& seen) {
  const auto log_ratio = [&](std::size_t f) {
    const auto said = kRunFigures[f].get(predicted);
    const auto was = kRunFigures[f].get(seen);
    // One that is off by more is another program, not an error.
    return said && was && *said > 0 && *was > 0 ? std::log(std::clamp(*was / *said, 0.1, 10.0)) : 0;
  };
  if (!seen.busy || Find(user, key) == nullptr) return;
  Taught& taught = by_user_[user];
  Errors& errors = taught.errors[key];
  taught.Sum(errors, -1);
  errors = {log_ratio(kBusyFigure), log_ratio(kMemoryFigure), log_ratio(kCoresFigure)};
  taught.Sum(errors, +1);
}

std::optional<RunMemory::Errors> RunMemory::OthersErrors(const std::string& user,
                                                         std::size_t& users) const {
  std::vector<double> busy, memory, cores;
  for (const auto& [other, taught] : by_user_) {
    if (other == user || taught.errors.size() < kLeastCompared) continue;
    const Errors mean = taught.Mean();
    busy.push_back(mean.busy);
    memory.push_back(mean.memory);
    cores.push_back(mean.cores);
  }
  users = busy.size();
  if (users < kCorroborating) return std::nullopt;
  return Errors{MilderMedian(busy), std::max(MilderMedian(memory), 0.0), MilderMedian(cores)};
}

Lessons RunMemory::LessonsOf(const std::string& user) const {
  Lessons lessons;
  const auto known = by_user_.find(user);
  if (known == by_user_.end()) return lessons;
  const Taught& taught = known->second;
  for (const auto& [key, runs] : taught.runs) {
    lessons.workloads += runs.measured ? 1U : 0U;
  }
  lessons.compared = taught.errors.size();
  if (lessons.compared < kLeastCompared) return lessons;
  const Errors mean = taught.Mean();
  lessons.busy = std::exp(mean.busy);
  lessons.gpu_memory = std::exp(mean.memory);
  lessons.cores = std::exp(mean.cores);
  return lessons;
}

std::vector<std::string> RunMemory::Users() const {
  std::vector<std::string> users;
  for (const auto& [user, taught] : by_user_) users.push_back(user);
  return users;
}

void RunMemory::Forget(const std::string& user) {
  const auto known = by_user_.find(user);
  if (known == by_user_.end()) return;
  for (const auto& [key, runs] : known->second.runs) {
    if (const auto users = users_of_.find(key); --users->second == 0) users_of_.erase(users);
    --keys_;
  }
  by_user_.erase(known);
}

void RunMemory::Correct(const std::string& user, core::Needs& predicted) const {
  std::optional<Errors> errors;
  std::string by;
  const auto own = by_user_.find(user);
  if (own != by_user_.end() && own->second.errors.size() >= kLeastCompared) {
    errors = own->second.Mean();
    by = fmt::format("{} measured here", core::Count(own->second.errors.size(), "workload"));
  } else {
    std::size_t users = 0;
    errors = OthersErrors(user, users);
    by = fmt::format("what {} other users' jobs were measured to need", users);
  }
  if (!errors) return;
  Profile& p = predicted.profile;
  for (auto* share : {&p.busy, &p.sm, &p.dram}) {
    if (*share) *share = std::min(1.0, **share * std::exp(errors->busy));
  }
  for (auto* bytes : {&p.gpu_memory, &predicted.gpu_memory_upper}) {
    if (*bytes) *bytes = **bytes * std::exp(errors->memory);
  }
  for (auto* figure : {&p.cpu_cores, &predicted.cores_upper}) {
    if (*figure) *figure = **figure * std::exp(errors->cores);
  }
  predicted.from += ", corrected by " + by;
}

}  // namespace sharewell::server
