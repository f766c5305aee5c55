#include "simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/numbers/random.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "interference/carry_over.h"

namespace sharewell::simulation {
namespace {

using core::Demand;
using core::GpuModelId;
using core::ModelEstimate;
using core::Profile;
using core::Result;
using core::UsageError;
using core::Workload;
using core::WorkloadId;

std::string Describe(const Workload& w) {
  std::string text = w.name;
  if (w.batch > 0) text += fmt::format(", batch {}", w.batch);
  if (!w.precision.empty()) text += ", " + w.precision;
  return text;
}

// What was measured of one workload, carried over to every GPU model of the cluster.
struct Known {
  std::vector<ModelEstimate> on;
  std::optional<double> reference_steps;  // a second, alone on the cluster's first model
  core::CpuCurve cpu_curve;
  bool drawable =
      false;  // its demand is known, so it may stand in for a job that names no workload
};

class Builder {
 public:
  Builder(core::Cluster cluster, const core::Measurements& measurements,
          const catalogue::GpuCatalogue& catalogue, const ScenarioOptions& options)
      : measurements_(measurements), catalogue_(catalogue), options_(options) {
    out_.cluster = std::move(cluster);
  }

  Result<void> LearnWorkloads() {
    std::map<Workload, std::vector<const Profile*>> by_workload;
    std::set<Workload> stand_ins;
    for (std::size_t i = 0; i < measurements_.profiles.size(); ++i) {
      const Profile& profile = measurements_.profiles[i];
      by_workload[profile.workload].push_back(&profile);
      if (i < measurements_.stand_ins) stand_ins.insert(profile.workload);
    }
    // Those that may be drawn come first: what is drawn by a workload's number then stays when the
    // catalogue grows.
    for (const bool stands_in : {true, false}) {
      for (const auto& [workload, profiles] : by_workload) {
        if (stand_ins.contains(workload) != stands_in) continue;
        auto known = Learn(profiles);
        RETURN_IF_ERROR(known);
        ids_.emplace(workload, WorkloadId(known_.size()));
        by_name_[workload.name].push_back(WorkloadId(known_.size()));
        if (known->drawable && stands_in) drawable_.push_back(WorkloadId(known_.size()));
        known_.push_back(std::move(*known));
        out_.workloads.push_back(workload);
      }
    }
    return {};
  }

  Result<void> LearnPairs() {
    interference::PairTable table(out_.cluster.models().size(), known_.size());
    for (const auto& pair : measurements_.pairs) {
      const auto a = ids_.find(pair.a);
      const auto b = ids_.find(pair.b);
      if (a == ids_.end() || b == ids_.end()) {
        const Workload& missing = a == ids_.end() ? pair.a : pair.b;
        return UsageError(
            "the pair table names workload '{}', of which there is no profile alone to compare "
            "with; "
            "add its row to the profiles (--profiles)",
            Describe(missing));
      }
      for (const Profile& profile : measurements_.profiles) {
        if (profile.workload != pair.a || !profile.steps_per_second) continue;
        if (!pair.gpu.empty() && !SameModel(pair.gpu, profile.gpu)) continue;
        const Profile* other = ProfileOf(pair.b, profile.gpu);
        const auto model = ModelOf(profile.gpu);
        if (!model || other == nullptr || !other->steps_per_second) continue;
        if (!pair.fits) {
          table.AddUnfit(*model, a->second, b->second);
        } else if (*profile.steps_per_second > 0 && *other->steps_per_second > 0) {
          table.Add(*model, a->second, b->second,
                    pair.steps_per_second_a / pair.alone_a.value_or(*profile.steps_per_second),
                    pair.steps_per_second_b / pair.alone_b.value_or(*other->steps_per_second));
        }
      }
    }
    out_.interference = interference::Interference(std::move(table));
    return {};
  }

  Result<void> AddJobs(const trace::Trace& trace, const std::string& trace_name) {
    trace_name_ = trace_name;
    out_.jobs.reserve(trace.jobs.size());
    out_.truth.reserve(trace.jobs.size());
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      if (auto ok = AddJob(trace.jobs[i], trace.format == "csv"); !ok) return ok;
    }
    out_.remarks = trace.remarks;
    const auto& models = out_.cluster.models();
    const bool in_seconds = std::any_of(trace.jobs.begin(), trace.jobs.end(), [](const auto& job) {
      return job.gpus > 0 && job.duration;
    });
    if (models.size() > 1 && in_seconds) {
      out_.remarks.push_back(
          fmt::format("durations are taken as on {}, the cluster's first GPU model, and stretched "
                      "to the others",
                      models.front().name));
    }
    if (own_busy_ > 0) {
      out_.remarks.push_back(
          fmt::format("{} of {} jobs have no profile: their GPU share is the trace's own, the rest "
                      "of their demand is assumed",
                      own_busy_, trace.jobs.size()));
    }
    if (too_large_ > 0) {
      out_.remarks.push_back(fmt::format(
          "{} jobs need more GPUs than the cluster has: reported as infeasible", too_large_));
    }
    return {};
  }

  // Which workloads stand in for those that are not named, and how likely each is.
  Result<void> LearnMix() {
    const catalogue::WorkloadMix& mix = options_.mix;
    if (mix.busy) {
      out_.told.as =
          fmt::format("as if each kept its GPU {:g} % busy (--mix {})", *mix.busy * 100, mix.given);
      return {};
    }
    for (const catalogue::MixPart& part : mix.parts) {
      const auto id = Resolve(part.workload);
      if (!id || !known_[id->index()].drawable) {
        std::vector<std::string> names;
        for (const WorkloadId one : drawable_) names.push_back(out_.workloads[one.index()].name);
        const auto nearest = core::Nearest(part.workload.name, names);
        return UsageError(
            "{}: line {}: there is no measured profile of '{}'{}; correct the row, or add the "
            "profile with --profiles",
            mix.given, part.line, Describe(part.workload),
            nearest ? ", did you mean '" + *nearest + "'?" : "");
      }
      weight_ += part.weight;
      drawn_from_.emplace_back(weight_, *id);
    }
    out_.told.as =
        mix.parts.empty()
            ? fmt::format("drawn by seed {} from the {} workloads that were measured (--mix)",
                          options_.seed, drawable_.size())
            : fmt::format("drawn by seed {} from {}'s {} workloads", options_.seed, mix.given,
                          drawn_from_.size());
    return {};
  }

  Scenario Take() { return std::move(out_); }

 private:
  std::optional<GpuModelId> ModelOf(const std::string& gpu) const {
    const auto found = catalogue_.Find(gpu);
    if (!found) return std::nullopt;
    for (std::size_t m = 0; m < out_.cluster.models().size(); ++m) {
      if (out_.cluster.models()[m].name == found->name) return GpuModelId(m);
    }
    return std::nullopt;
  }

  bool SameModel(const std::string& a, const std::string& b) const {
    if (a == b) return true;
    const auto x = catalogue_.Find(a);
    const auto y = catalogue_.Find(b);
    return x && y && x->name == y->name;
  }

  const Profile* ProfileOf(const Workload& workload, const std::string& gpu) {
    if (by_key_.empty()) {
      for (const Profile& p : measurements_.profiles)
        by_key_.emplace(std::pair(p.workload, p.gpu), &p);
    }
    const auto it = by_key_.find(std::pair(workload, gpu));
    return it == by_key_.end() ? nullptr : it->second;
  }

  Result<Known> Learn(const std::vector<const Profile*>& profiles) {
    Known known;
    const Profile& first = *profiles.front();
    auto from = catalogue_.Find(first.gpu);
    if (!from)
      return tl::unexpected(
          std::move(from.error()).Within("profile of " + Describe(first.workload)));
    const auto& models = out_.cluster.models();
    std::vector<std::optional<double>> steps(models.size());
    for (std::size_t m = 0; m < models.size(); ++m) {
      known.on.push_back(interference::CarryOver(interference::DemandOf(first), *from, models[m]));
    }
    for (const Profile* profile : profiles) {
      const auto model = ModelOf(profile->gpu);
      if (!model) continue;
      // Measured there: nothing to carry over but the rate, which is told relative to `from`.
      known.on[model->index()].demand = interference::DemandOf(*profile);
      steps[model->index()] = profile->steps_per_second;
    }
    const double reference = known.on.empty() ? 1 : known.on.front().rate;
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (steps[m] && steps[0] && *steps[0] > 0) {
        known.on[m].rate = *steps[m] / *steps[0];
      } else {
        known.on[m].rate /= reference;
      }
    }
    if (!steps.empty()) known.reference_steps = steps[0];
    known.cpu_curve = first.cpu_curve;
    known.drawable = first.busy.has_value();
    return known;
  }

  // The catalogue's workload that the trace means: all that it states must agree.
  std::optional<WorkloadId> Resolve(const Workload& wanted) const {
    if (const auto it = ids_.find(wanted); it != ids_.end()) return it->second;
    const auto it = by_name_.find(wanted.name);
    if (it == by_name_.end()) return std::nullopt;
    for (WorkloadId id : it->second) {
      const Workload& w = out_.workloads[id.index()];
      if ((wanted.batch == 0 || wanted.batch == w.batch) &&
          (wanted.precision.empty() || wanted.precision == w.precision) &&
          (wanted.workers == 0 || wanted.workers == w.workers)) {
        return id;
      }
    }
    return std::nullopt;
  }

  core::UserId UserOf(const std::string& name) {
    const auto [it, fresh] = users_.try_emplace(name, core::UserId(users_.size()));
    if (fresh) out_.users.push_back(name);
    return it->second;
  }

  tl::unexpected<core::Error> Where(const trace::TraceJob& from, core::Error error) const {
    return tl::unexpected(std::move(error).Within(
        from.line > 0 ? fmt::format("{}: line {}, job '{}'", trace_name_, from.line, from.id)
                      : fmt::format("{}: job '{}'", trace_name_, from.id)));
  }

  Result<void> AddJob(const trace::TraceJob& from, bool own_format) {
    core::Job job;
    job.id = core::JobId(out_.jobs.size());
    job.name = from.id;
    job.user = UserOf(from.user.empty() ? "-" : from.user);
    job.gpus = from.gpus;
    job.cores = from.cores;
    job.host_memory = from.host_memory;
    job.exclusive = from.exclusive;
    job.sm_share = from.sm_share;
    job.priority = from.priority;
    job.submit = from.submit;
    job.restart_cost = from.restart_cost;
    for (const std::string& name : from.gpu_models) {
      auto model = catalogue_.Find(name);
      if (!model) return Where(from, model.error());
      // A model that this cluster does not have stays in the list, so that the job is not let
      // loose.
      job.allowed_models.push_back(ModelOf(name).value_or(GpuModelId()));
    }
    if (from.gpus > static_cast<int>(out_.cluster.gpu_count())) {
      if (own_format) {
        return Where(
            from, {core::ErrorKind::kUsage,
                   fmt::format("column 'gpus': it needs {} GPUs, the cluster has {}; take a larger "
                               "cluster or leave the job out",
                               from.gpus, out_.cluster.gpu_count())});
      }
      ++too_large_;
    }
    sim::TrueJob truth;
    if (auto ok = Truth(from, own_format, job, truth); !ok) return ok;
    out_.jobs.push_back(std::move(job));
    out_.truth.push_back(std::move(truth));
    out_.waited.push_back(from.waited);
    return {};
  }

  Result<void> Truth(const trace::TraceJob& from, bool own_format, core::Job& job,
                     sim::TrueJob& truth) {
    const auto& models = out_.cluster.models();
    std::optional<WorkloadId> workload;
    if (from.workload) workload = Resolve(*from.workload);
    if (from.workload && !workload && (from.steps || (own_format && !from.busy))) {
      return UnknownWorkload(from);
    }
    std::optional<core::Ratio> busy = from.busy;
    const bool assumed = !from.workload && !from.busy && from.gpus > 0;
    if (from.gpus > 0) {
      ++out_.told.jobs;
      ++(from.workload ? out_.told.named : from.busy ? out_.told.busy : out_.told.assumed);
    }
    if (assumed && options_.mix.busy) {
      busy = options_.mix.busy;
    } else if (assumed) {
      workload = DrawFor(job);
      if (!workload) {
        return Where(
            from,
            {core::ErrorKind::kUsage,
             "it names no workload and there is no profile to draw one from; give --profiles"});
      }
    }
    if (workload) {
      job.workload = *workload;
      const Known& known = known_[workload->index()];
      truth.on = known.on;
      truth.cpu_curve = known.cpu_curve;
    } else {
      if (from.gpus > 0 && !assumed) ++own_busy_;
      if (from.workload) job.workload = Unprofiled(*from.workload);
      Demand demand;
      demand.known = busy.has_value();
      demand.busy = from.gpus > 0 ? busy.value_or(1) : 0;
      demand.sm = demand.busy;
      demand.host_bandwidth = from.host_bandwidth.value_or(core::BytesPerSecond(0));
      for (const auto& model : models) {
        truth.on.push_back(from.gpus > 0 ? interference::CarryOver(demand, models.front(), model)
                                         : ModelEstimate{1, demand});
      }
      if (models.empty()) truth.on.push_back({1, demand});
    }
    if (from.gpu_memory) {
      for (auto& on : truth.on) on.demand.gpu_memory = *from.gpu_memory;
    }
    if (from.duration) {
      truth.work = *from.duration;
    } else {
      const auto steps = workload ? known_[workload->index()].reference_steps : std::nullopt;
      if (!steps || *steps <= 0) {
        return Where(
            from,
            {core::ErrorKind::kUsage,
             fmt::format("its work is told in steps, and there is no rate of '{}' on {}; give the "
                         "throughput table with --interference, or a cluster whose first GPU "
                         "model it was measured on",
                         from.workload ? Describe(*from.workload) : "its workload",
                         models.empty() ? "a GPU" : models.front().name)});
      }
      truth.work = core::Seconds(*from.steps / *steps);
    }
    truth.work = truth.work * options_.work_scale;
    truth.startup = from.startup;
    return {};
  }

  // Absent: there is none to draw.
  std::optional<WorkloadId> DrawFor(const core::Job& job) const {
    const auto draw = core::HashOf({options_.seed, job.id.value, 0x776f726b6c6f6164ULL});
    if (!drawn_from_.empty()) {
      const double at = core::Uniform(draw) * weight_;
      const auto part =
          std::upper_bound(drawn_from_.begin(), drawn_from_.end(), at,
                           [](double value, const auto& one) { return value < one.first; });
      return part == drawn_from_.end() ? drawn_from_.back().second : part->second;
    }
    if (drawable_.empty()) return std::nullopt;
    return drawable_[draw % drawable_.size()];
  }

  tl::unexpected<core::Error> UnknownWorkload(const trace::TraceJob& from) const {
    std::vector<std::string> names;
    for (const auto& [name, ids] : by_name_) names.push_back(name);
    const auto nearest = core::Nearest(from.workload->name, names);
    return Where(
        from,
        {core::ErrorKind::kUsage,
         fmt::format(
             "column 'workload': there is no profile of '{}'{}; add one with --profiles "
             "(or its rates with --interference), or leave the column empty to have one drawn",
             Describe(*from.workload), nearest ? ", did you mean '" + *nearest + "'?" : "")});
  }

  // A workload known by name only: two jobs of it still are the same workload.
  WorkloadId Unprofiled(const Workload& workload) {
    const auto [it, fresh] = unprofiled_.try_emplace(workload, WorkloadId(out_.workloads.size()));
    if (fresh) out_.workloads.push_back(workload);
    return it->second;
  }

  const core::Measurements& measurements_;
  const catalogue::GpuCatalogue& catalogue_;
  ScenarioOptions options_;
  Scenario out_;
  std::string trace_name_;
  std::map<Workload, WorkloadId> ids_;
  std::map<std::string, std::vector<WorkloadId>> by_name_;
  std::map<std::pair<Workload, std::string>, const Profile*> by_key_;
  std::map<Workload, WorkloadId> unprofiled_;
  std::vector<Known> known_;
  std::vector<WorkloadId> drawable_;
  std::unordered_map<std::string, core::UserId> users_;
  std::vector<std::pair<double, WorkloadId>> drawn_from_;  // by sums of weights; empty: drawable_
  double weight_ = 0;
  std::size_t own_busy_ = 0;
  std::size_t too_large_ = 0;
};

}  // namespace

std::string InWords(const WorkloadsTold& told) {
  if (told.jobs == 0) return {};
  std::string text = fmt::format("{} of {} jobs name their workload", told.named, told.jobs);
  if (told.busy > 0) {
    text += fmt::format("; of {} the trace tells how busy they keep a GPU", told.busy);
  }
  if (told.assumed > 0) text += fmt::format("; {} are assumed: {}", told.assumed, told.as);
  return text;
}

Result<Scenario> BuildScenario(const trace::Trace& trace, const std::string& trace_name,
                               core::Cluster cluster, const core::Measurements& measurements,
                               const catalogue::GpuCatalogue& catalogue,
                               const ScenarioOptions& options) {
  Builder builder(std::move(cluster), measurements, catalogue, options);
  RETURN_IF_ERROR(builder.LearnWorkloads());
  RETURN_IF_ERROR(builder.LearnPairs());
  RETURN_IF_ERROR(builder.LearnMix());
  RETURN_IF_ERROR(builder.AddJobs(trace, trace_name));
  return builder.Take();
}

}  // namespace sharewell::simulation
