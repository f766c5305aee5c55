#include "control/service/jobs/admission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/words.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;
using core::UsageError;

Admission::Admission(const AdmissionLimits& limits, const LiveJobs& live, Advisor& advisor,
                     const JobBoard& board, store::JobStore& store)
    : limits_(limits), live_(live), advisor_(advisor), board_(board), store_(store) {}

namespace {

// "what; the limit is ...; what to do; who can raise it".
tl::unexpected<core::Error> Above(std::string_view key, const core::Limits& limits,
                                  const std::string& what, std::string_view instead) {
  const core::LimitKey& limit = core::LimitNamed(key);
  return FailedError("{}; the limit for one user is {} (limits.{}): {}; {}", what,
                     core::LimitText(limit, core::ValueOf(limits, limit)), key, instead,
                     core::WhoRaises(key));
}

std::string SizeIn(std::string_view key, std::size_t bytes) {
  return core::LimitText(core::LimitNamed(key), static_cast<double>(bytes));
}

Result<void> KeepsToGpuLimits(const core::Submission& job, const core::Account& who,
                              const core::Limits& limits) {
  const std::string name = core::Quoted(core::DisplayName(job));
  if (job.gpus > limits.gpus) {
    return Above("gpus", limits,
                 fmt::format("{} asks for {}, and {} could never have them at once", name,
                             core::Count(static_cast<std::uint64_t>(job.gpus), "GPU"), who.name),
                 fmt::format("ask for {} at most", limits.gpus));
  }
  const core::LimitKey& time = core::LimitNamed("job_time");
  if (job.time_limit && *job.time_limit > limits.job_time) {
    return Above(
        "job_time", limits,
        fmt::format("{} asks for {} of time", name, core::LimitText(time, job.time_limit->value)),
        fmt::format("give --time {}, and let a longer job write checkpoints and go on "
                    "from them as another one",
                    core::LimitText(time, limits.job_time.value)));
  }
  return {};
}

}  // namespace

core::Limits UsualLimits(const core::Account& who) {
  return who.admin ? core::AdminLimits() : core::Limits{};
}

Result<void> Admission::IsOfItsProject(const core::Submission& job,
                                       const core::Account& who) const {
  if (limits_.of_a_manager) return {};
  const core::Projects& projects = limits_.projects;
  if (projects.empty()) {
    if (job.project.empty()) return {};
    return UsageError("project {}: this server has no projects; leave --project out",
                      core::Quoted(job.project));
  }
  std::vector<std::string> names;
  for (const core::ProjectId project : core::ProjectsOf(projects, who.name)) {
    names.push_back(projects[project.index()].name);
  }
  if (job.project.empty() && names.size() > 1) {
    return UsageError("{} is in {} projects, so say which this job counts to: --project {}",
                      who.name, names.size(), fmt::join(names, ", or --project "));
  }
  if (job.project.empty() || std::find(names.begin(), names.end(), job.project) != names.end()) {
    return {};
  }
  return UsageError(
      "{} is not in project {}, but in {}{}; an admin can change that in "
      "sharewell.toml",
      who.name, core::Quoted(job.project), fmt::join(names, ", "),
      core::DidYouMean(job.project, names));
}

Result<void> Admission::KeepsToLimits(std::span<const core::Submission> jobs,
                                      const core::Account& who) const {
  if (jobs.empty()) return UsageError("nothing was submitted: give at least one job");
  const core::Limits limits = limits_.of(who);
  const LiveJobs::Share mine = live_.ShareOf(who.name);
  std::size_t bytes = mine.bytes;
  for (const core::Submission& job : jobs) {
    const std::size_t size = BytesOf(job);
    bytes += size;
    if (static_cast<double>(size) > limits.job_bytes.value) {
      return Above("job_bytes", limits,
                   fmt::format("the command and environment of {} take {}",
                               core::Quoted(core::DisplayName(job)), SizeIn("job_bytes", size)),
                   "pass what is long in a file");
    }
    if (job.priority > limits.most_priority) {
      return Above("most_priority", limits,
                   fmt::format("priority {} is too high for {}", job.priority, who.name),
                   "a lower priority lets others go first, and needs nobody's leave");
    }
    RETURN_IF_ERROR(KeepsToGpuLimits(job, who, limits));
    RETURN_IF_ERROR(IsOfItsProject(job, who));
  }
  if (static_cast<double>(bytes) > limits.queued_bytes.value) {
    return Above(
        "queued_bytes", limits,
        fmt::format("the commands and environments of all jobs of {} that are not over "
                    "take {}, and would take {}",
                    who.name, SizeIn("queued_bytes", mine.bytes), SizeIn("queued_bytes", bytes)),
        "wait for some to end, or pass what is long in files");
  }
  if (static_cast<std::int64_t>(mine.jobs + jobs.size()) > limits.queued_jobs) {
    return Above("queued_jobs", limits,
                 fmt::format("{} has {} that are not over, and {} more would be too many", who.name,
                             core::Count(mine.jobs, "job"), jobs.size()),
                 "wait for some to end, or cancel some");
  }
  if (live_.size() + jobs.size() > limits_.most_waiting) {
    return FailedError("the queue is full ({} jobs of all users); try again later", live_.size());
  }
  return {};
}

Result<std::vector<JobRecord>> Admission::Admit(std::span<const core::Submission> jobs,
                                                const core::Account& who, std::int64_t first,
                                                core::UnixMillis now) const {
  RETURN_IF_ERROR(KeepsToLimits(jobs, who));
  const core::Seconds most_time = limits_.of(who).job_time;
  std::vector<JobRecord> records;
  Verdicts known;
  for (const core::Submission& job : jobs) {
    RETURN_IF_ERROR(advisor_.Check(who, job));
    JobRecord record;
    record.number = first + static_cast<std::int64_t>(records.size());
    record.user = who;
    record.asked = job;
    record.submitted = now;
    for (const std::int64_t before : job.after) {
      if (before <= 0 || before >= record.number) {
        return UsageError(
            "after job {}: there is no such job yet; `sharewell jobs --all` lists them", before);
      }
    }
    const auto failed = FailedBefore(record, first, known);
    RETURN_IF_ERROR(failed);
    if (*failed) {
      return UsageError("after job {}: it did not finish well, so this one would never start",
                        **failed);
    }
    core::SetHold(record, HoldOf(record, first));
    record.believed = advisor_.NeedsOf(who, job);
    if (const core::Projects& projects = limits_.projects; !projects.empty()) {
      // Who may use an account of the manager's is between it and its users.
      const auto named = limits_.of_a_manager ? core::ProjectNamed(projects, job.project)
                                              : std::optional<core::ProjectId>();
      const core::ProjectId its = named ? *named : core::ProjectOf(projects, who.name, job.project);
      record.asked.project = projects[its.index()].name;
    } else {
      record.asked.project.clear();
    }
    if (!job.time_limit && !limits_.of_a_manager && !core::IsNoLimit(most_time.value)) {
      record.asked.time_limit = most_time;
      record.note = fmt::format(
          "it ends after {} at the latest (limits.job_time), as it asked for "
          "no time",
          core::LimitText(core::LimitNamed("job_time"), most_time.value));
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::optional<core::Hold> Admission::HoldOf(const JobRecord& record) const {
  return HoldOf(record, record.number);
}

std::optional<core::Hold> Admission::HoldOf(const JobRecord& record, std::int64_t first) const {
  if (record.asked.held) return core::hold::ByUser{};
  std::optional<core::hold::AfterJob> hold;
  for (const std::int64_t before : record.asked.after) {
    if (before < first && live_.Find(before) == nullptr) continue;
    if (!hold) {
      hold = core::hold::AfterJob{before};
    } else {
      hold->others.push_back(before);
    }
  }
  return hold;
}

Result<bool> Admission::MayComeAfter(std::int64_t number) const {
  if (live_.Find(number) != nullptr) return true;
  std::optional<Phase> how = board_.PhaseOf(number);
  if (!how) {  // long over, and nobody has looked it up yet
    const auto found = store_.PhasesOf({number});
    if (!found) {
      return tl::unexpected(core::Error(found.error())
                                .Within(fmt::format("how job {} ended cannot be read", number)));
    }
    if (found->empty()) return true;
    how = found->begin()->second;
    if (core::IsOver(*how)) board_.Remember(number, *how);
  }
  return !core::IsOver(*how) || *how == Phase::kFinished;
}

Result<std::optional<std::int64_t>> Admission::FailedBefore(const JobRecord& record,
                                                            std::int64_t first,
                                                            Verdicts& known) const {
  for (const std::int64_t before : record.asked.after) {
    if (before >= first) continue;
    auto verdict = known.find(before);
    if (verdict == known.end()) {
      const auto may = MayComeAfter(before);
      RETURN_IF_ERROR(may);
      verdict = known.emplace(before, *may).first;
    }
    if (!verdict->second) return before;
  }
  return std::nullopt;
}

Result<std::optional<std::int64_t>> Admission::FailedBefore(const JobRecord& record,
                                                            std::int64_t first) const {
  Verdicts known;
  return FailedBefore(record, first, known);
}

void Admission::AddDependent(const JobRecord& record) {
  for (const std::int64_t before : record.asked.after) {
    if (live_.Find(before) != nullptr) dependents_.emplace(before, record.number);
  }
}

void Admission::RemoveDependent(const JobRecord& record) {
  for (const std::int64_t before : record.asked.after) dependents_.erase({before, record.number});
}

std::vector<std::int64_t> Admission::TakeDependents(std::int64_t number) {
  const auto begin = dependents_.lower_bound({number, 0});
  const auto end = dependents_.lower_bound({number + 1, 0});
  std::vector<std::int64_t> waiting;
  for (auto it = begin; it != end; ++it) waiting.push_back(it->second);
  dependents_.erase(begin, end);
  return waiting;
}

}  // namespace sharewell::control
