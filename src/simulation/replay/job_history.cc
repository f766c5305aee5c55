#include "simulation/replay/job_history.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "catalogue/gpu_catalogue.h"
#include "estimate/needs_estimate.h"

namespace sharewell::simulation {
namespace {

using core::JobRecord;
using core::Seconds;

// A table of pairs takes the square of its workloads: so many, those that were met last.
constexpr std::size_t kMostPaired = 512;
constexpr Seconds kShortest{0.001};
constexpr Seconds kStopping{5};  // what a job that was told to end still takes

double SecondsBetween(core::UnixMillis from, core::UnixMillis to) {
  return std::max(0.0, static_cast<double>(to - from) / 1e3);
}

class HistoryBuilder {
 public:
  HistoryBuilder(const core::Cluster& cluster, const HistoryOptions& options)
      : catalogue_(catalogue::GpuCatalogue::Builtin()), options_(options) {
    out_.scenario.cluster = cluster;
  }

  void LearnPairs(std::span<const core::SharedRun> shared) {
    for (auto run = shared.rbegin(); run != shared.rend(); ++run) {
      for (const std::string& key :
           {core::OwnedKey(run->user_a, run->a), core::OwnedKey(run->user_b, run->b)}) {
        if (ids_.size() < kMostPaired) IdOf(key);
      }
    }
    const std::size_t paired = ids_.size();
    const auto& models = out_.scenario.cluster.models();
    interference::PairTable table(models.size(), paired);
    for (const core::SharedRun& run : shared) {
      const auto model = ModelNamed(run.gpu_model);
      const auto a = ids_.find(core::OwnedKey(run.user_a, run.a));
      const auto b = ids_.find(core::OwnedKey(run.user_b, run.b));
      if (!model || a == ids_.end() || b == ids_.end()) continue;
      if (!run.fits) {
        table.AddUnfit(*model, a->second, b->second);
      } else if (run.IsMeasured()) {
        table.Add(*model, a->second, b->second, run.speed_a, run.speed_b, run.sm_share_a,
                  run.sm_share_b);
      }
    }
    out_.scenario.interference = interference::Interference(std::move(table));
  }

  JobHistory Take(JobRecords records) {
    for (const JobRecord* record : records) ended_[record->number] = record->ended;
    std::vector<std::pair<core::UnixMillis, const JobRecord*>> order;
    for (const JobRecord* record : records) order.emplace_back(SubmitOf(*record), record);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second->number) < std::pair(b.first, b.second->number);
    });
    for (const auto& [submit, record] : order) Add(*record, submit);
    return std::move(out_);
  }

 private:
  core::WorkloadId IdOf(const std::string& key) {
    const auto [entry, fresh] = ids_.try_emplace(key, core::WorkloadId(ids_.size()));
    if (fresh) out_.scenario.workloads.emplace_back();
    return entry->second;
  }

  std::optional<core::GpuModelId> ModelNamed(const std::string& name) const {
    const auto& models = out_.scenario.cluster.models();
    const auto found = catalogue_.Find(name);
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (models[m].name == name || (found && models[m].name == found->name)) {
        return core::GpuModelId(m);
      }
    }
    return std::nullopt;
  }

  // When it could have begun.
  core::UnixMillis SubmitOf(const JobRecord& record) const {
    core::UnixMillis submit = record.submitted;
    for (const std::int64_t number : record.asked.after) {
      const auto other = ended_.find(number);
      if (other != ended_.end() && other->second) submit = std::max(submit, *other->second);
    }
    if (record.started) submit = std::min(submit, *record.started);
    return std::min(submit, options_.now);
  }

  // Work a second alone where it ran.
  core::Ratio RateOf(const JobRecord& record, const core::Estimate& estimate) const {
    if (record.gpus.empty()) return 1;
    const auto model = ModelNamed(record.gpus.front().model);
    const core::Ratio rate = model ? estimate.On(*model).rate : 1;
    return rate > 0 ? rate : 1;
  }

  // What was seen of one that is over.
  std::optional<Seconds> Seen(const JobRecord& record, const core::Estimate& estimate) const {
    if (record.attempt == 0 && !record.started) return std::nullopt;
    Seconds alone = record.alone_time.value_or(Seconds(0));
    if (alone.value <= 0) {
      alone = record.run_time;
      if (alone.value <= 0 && record.started && record.ended) {
        alone = Seconds(SecondsBetween(*record.started, *record.ended));
      }
      alone = alone / std::max(1.0, record.slowdown.value_or(1));
    }
    return std::max(kShortest, alone * RateOf(record, estimate));
  }

  // Of a live one: what it has done, and what is left of it.
  struct Course {
    Seconds done;
    std::optional<Seconds> believed, rest;  // of its duration; otherwise
  };
  Course CourseOf(const JobRecord& record, const core::Estimate& estimate) {
    const bool runs = record.phase != core::Phase::kWaiting;
    const auto since = record.resumed ? record.resumed : record.started;
    const Seconds elapsed(runs && since ? SecondsBetween(*since, options_.now) : 0);
    const core::Ratio rate = RateOf(record, estimate);
    Course course;
    course.done = elapsed * (rate / std::max(1.0, record.slowdown.value_or(1)));
    if (record.phase == core::Phase::kStopping) {
      course.rest = kStopping;
    } else if (estimate.duration) {
      course.believed = std::max(*estimate.duration - course.done, kShortest);
    } else if (record.asked.time_limit) {
      ++out_.by_limit;
      const Seconds left = *record.asked.time_limit + record.limit_extended - elapsed;
      course.rest = std::max(left * rate, kShortest);
    }
    return course;
  }

  std::optional<Seconds> WorkOf(const JobRecord& record, const core::Estimate& estimate) {
    if (options_.length == Length::kRest) {
      const Course course = CourseOf(record, estimate);
      out_.done.push_back(course.done);
      out_.rest.push_back(course.rest);
      return course.rest ? course.rest : course.believed;
    }
    return core::IsOver(record.phase) ? Seen(record, estimate) : estimate.duration;
  }

  void Add(const JobRecord& record, core::UnixMillis submit) {
    const core::Submission& asked = record.asked;
    if (record.phase == core::Phase::kHeld) {
      ++out_.held;
      return;
    }
    core::Estimate estimate =
        estimate::EstimateFor(record.believed, asked, out_.scenario.cluster,
                              [this](const std::string& name) { return catalogue_.Lookup(name); });
    auto work = WorkOf(record, estimate);
    if (!work) {
      if (core::IsOver(record.phase)) {
        ++out_.never_ran;
        return;
      }
      ++out_.unknown;
      if (options_.length == Length::kWhole) return;
      work = kNoEnd;
    }
    if (submit != std::min(record.submitted, options_.now)) ++out_.after;
    if (asked.gpus > 0 && !record.believed.profile.busy) ++out_.assumed;
    if (out_.job.empty()) out_.begin = submit;

    core::Job job;
    job.id = core::JobId(out_.job.size());
    job.name = fmt::format("job {}", record.number);
    job.user = UserOf(record.user.name);
    job.workload = IdOf(core::OwnedKey(record.user.name, core::WorkloadKey(asked)));
    job.gpus = asked.gpus;
    job.cores = asked.cores;
    job.host_memory = asked.memory;
    for (const std::string& model : asked.gpu_models) {
      job.allowed_models.push_back(ModelNamed(model).value_or(core::GpuModelId()));
    }
    job.exclusive = asked.exclusive;
    job.priority = asked.priority;
    job.max_slowdown = asked.max_slowdown;
    job.sm_share = asked.sm_share;
    job.submit = Seconds(SecondsBetween(out_.begin, submit));
    out_.scenario.jobs.push_back(std::move(job));
    out_.scenario.truth.push_back({*work, TruthOn(estimate), estimate.cpu_curve});
    out_.believed.push_back(std::move(estimate));
    out_.job.push_back(&record);
  }

  // It ran, so it fits. How much memory a live one really takes nobody knows yet.
  std::vector<core::ModelEstimate> TruthOn(const core::Estimate& estimate) const {
    auto on = estimate.on;
    const auto& models = out_.scenario.cluster.models();
    for (std::size_t m = 0; m < on.size() && m < models.size(); ++m) {
      core::Bytes& memory = on[m].demand.gpu_memory;
      memory =
          options_.length == Length::kRest ? core::Bytes(0) : std::min(memory, models[m].memory);
    }
    return on;
  }

  core::UserId UserOf(const std::string& name) {
    const auto [entry, fresh] = users_.try_emplace(name, core::UserId(users_.size()));
    if (fresh) out_.scenario.users.push_back(name);
    return entry->second;
  }

  catalogue::GpuCatalogue catalogue_;
  HistoryOptions options_;
  JobHistory out_;
  std::unordered_map<std::string, core::WorkloadId> ids_;
  std::unordered_map<std::string, core::UserId> users_;
  std::unordered_map<std::int64_t, std::optional<core::UnixMillis>> ended_;
};

}  // namespace

JobHistory HistoryOf(JobRecords records, const core::Cluster& cluster,
                     std::span<const core::SharedRun> shared, const HistoryOptions& options) {
  HistoryBuilder builder(cluster, options);
  builder.LearnPairs(shared);
  return builder.Take(records);
}

}  // namespace sharewell::simulation
