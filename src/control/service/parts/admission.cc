#include "control/service/parts/admission.h"

#include <utility>

#include "core/result.h"

namespace sharewell::control {

using core::FailedError;
using core::JobRecord;
using core::Phase;
using core::Result;
using core::UsageError;

Admission::Admission(const AdmissionLimits& limits, const LiveJobs& live, Advisor& advisor,
                     const JobBoard& board, store::JobStore& store)
    : limits_(limits), live_(live), advisor_(advisor), board_(board), store_(store) {}

Result<void> Admission::KeepsToLimits(std::span<const core::Submission> jobs,
                                      const core::Account& who) const {
  if (jobs.empty()) return UsageError("nothing was submitted: give at least one job");
  const LiveJobs::Share mine = live_.ShareOf(who.name);
  std::size_t bytes = mine.bytes;
  for (const core::Submission& job : jobs) bytes += BytesOf(job);
  if (bytes > limits_.most_bytes_of_one) {
    return FailedError(
        "the commands and environments of all jobs of {} would take {} MiB, more than the {} that "
        "one user may have; wait for some to end, or pass what is long in files",
        who.name, bytes >> 20, limits_.most_bytes_of_one >> 20);
  }
  if (mine.jobs + jobs.size() > limits_.most_waiting_of_one) {
    return FailedError(
        "{} has {} jobs here, and {} more would be above the {} that one user may have; "
        "wait for some to end, or cancel some",
        who.name, mine.jobs, jobs.size(), limits_.most_waiting_of_one);
  }
  if (live_.size() + jobs.size() > limits_.most_waiting) {
    return FailedError("the queue is full ({} jobs); try again later", live_.size());
  }
  return {};
}

Result<std::vector<JobRecord>> Admission::Admit(std::span<const core::Submission> jobs,
                                                const core::Account& who, std::int64_t first,
                                                core::UnixMillis now) const {
  RETURN_IF_ERROR(KeepsToLimits(jobs, who));
  std::vector<JobRecord> records;
  for (const core::Submission& job : jobs) {
    RETURN_IF_ERROR(advisor_.Check(job));
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
    if (const auto failed = FailedBefore(record, first)) {
      return UsageError("after job {}: it did not finish well, so this one would never start",
                        *failed);
    }
    record.reason = WhyHeld(record);
    for (const std::int64_t before : job.after) {
      if (before >= first) record.reason = fmt::format("comes after job {}", before);
    }
    record.phase = record.reason.empty() ? Phase::kWaiting : Phase::kHeld;
    record.believed = advisor_.NeedsOf(job);
    records.push_back(std::move(record));
  }
  return records;
}

std::string Admission::WhyHeld(const JobRecord& record) const {
  if (record.asked.held) return "held: `sharewell release` lets it go";
  for (const std::int64_t before : record.asked.after) {
    if (const LiveJob* job = live_.Find(before)) {
      return fmt::format("comes after job {}, which is {}", before,
                         core::NameOf(job->record.phase));
    }
  }
  return {};
}

std::optional<std::int64_t> Admission::FailedBefore(const JobRecord& record,
                                                    std::int64_t first) const {
  for (const std::int64_t before : record.asked.after) {
    if (live_.Find(before) != nullptr || before >= first) continue;
    std::optional<Phase> how;
    if (const JobPtr over = board_.Find(before)) how = over->phase;
    if (!how) {  // long over
      store::JobFilter filter;
      filter.number = before;
      const auto found = store_.Jobs(filter);
      if (!found) return before;  // nobody can say that it finished well
      if (!found->empty()) how = found->front().phase;
    }
    if (how && core::IsOver(*how) && *how != Phase::kFinished) return before;
  }
  return std::nullopt;
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
