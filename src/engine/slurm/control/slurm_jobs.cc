#include "engine/slurm/control/slurm_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/slurm/control/slurm_hold.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

// More new ones than that are read as JSON, of which 22.05 always prints the whole queue: a second
// for each 4,000 jobs.
constexpr std::size_t kMostNewShown = 500;
constexpr Seconds kReadKeptAgain(60);
constexpr std::size_t kMostReadAgain = 100;

}  // namespace

bool SlurmJobs::IsOurs(const SlurmJob& job) const {
  const SlurmControlOptions& options = book_.options();
  return NoteIn(job, options.admin).has_value() && (options.admin || job.uid == options.uid);
}

void SlurmJobs::Handle(SlurmKnown& known, SlurmJob job) {
  const SlurmControlOptions& options = book_.options();
  known.note = IsOurs(job) ? NoteIn(job, options.admin) : std::nullopt;
  // Where nothing holds jobs yet, a dry run decides on those that Slurm starts by itself.
  if (!known.note && options.dry_run) known.note = NoteOfRequest(job);
  // From then on these are where we put it.
  if (known.note && !known.note->put) known.note->ask.nodes = job.required_nodes;
  known.job = std::move(job);
  known.terms_version = 0;
}

void SlurmJobs::HandleLater(SlurmKnown& known, SlurmJob job) {
  if (known.line) {
    known.line->phase = job.phase;
    known.line->priority = job.priority;
    known.line->reason = job.reason;
  }
  Handle(known, std::move(job));
}

Result<std::vector<std::int64_t>> SlurmJobs::ReadLines() {
  auto lines = book_.client().Queue();
  RETURN_IF_ERROR(lines);
  // Those that are gone keep no line, and are looked at one by one.
  for (auto& [id, known] : book_.jobs()) known.line.reset();
  std::vector<std::int64_t> read;
  for (SlurmQueueLine& line : *lines) {
    SlurmKnown& known = book_.jobs()[line.id];
    const bool held = WaitsHeld(line);
    const bool settled = known.job && ((known.told && held) || book_.runs().contains(line.id));
    const bool same = known.job && known.read == line;
    // Somebody may have changed what it waits for.
    const bool kept = known.terms && !known.terms->waits_for.empty() &&
                      book_.now() >= known.read_at + kReadKeptAgain && read.size() < kMostReadAgain;
    if ((!settled && !same) || (kept && held)) read.push_back(line.id);
    known.home = line.partition;
    known.line = std::move(line);
  }
  return read;
}

Result<void> SlurmJobs::ReadJobs(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return {};
  std::vector<std::string> names;
  for (const std::int64_t id : ids) names.push_back(fmt::format("{}", id));
  SlurmClient& client = book_.client();
  auto jobs = ids.size() > kMostNewShown ? client.Jobs(ids) : client.Check(ids, names);
  RETURN_IF_ERROR(jobs);
  for (SlurmJob& job : *jobs) {
    const auto found = book_.jobs().find(job.id);
    if (found == book_.jobs().end()) continue;
    found->second.read = found->second.line;
    found->second.read_at = book_.now();
    Handle(found->second, std::move(job));
  }
  return {};
}

std::string SlurmJobs::NameOf(std::int64_t job) const {
  const auto found = book_.jobs().find(job);
  if (found != book_.jobs().end() && found->second.job) return SlurmName(*found->second.job);
  return fmt::format("{}", job);
}

const SlurmQueueLine* SlurmJobs::LineOf(std::int64_t job) const {
  const auto found = book_.jobs().find(job);
  return found == book_.jobs().end() || !found->second.line ? nullptr : &*found->second.line;
}

SlurmIsThere SlurmJobs::IsThere() const {
  return [this](std::int64_t id, std::optional<std::int64_t> task, bool pending) {
    const auto& jobs = book_.jobs();
    return std::any_of(jobs.begin(), jobs.end(), [&](const auto& one) {
      const SlurmKnown& known = one.second;
      if (!known.line || (pending && known.line->phase != SlurmPhase::kPending)) return false;
      if (one.first == id && !task) return true;
      if (!known.job || known.job->array != id) return false;
      return !task || !known.job->array_task || known.job->array_task == task;
    });
  };
}

Result<void> SlurmJobs::ShowAll(const std::vector<std::int64_t>& jobs) {
  if (jobs.size() < 2) return {};
  std::vector<std::string> names;
  for (const std::int64_t job : jobs) names.push_back(NameOf(job));
  auto read = book_.client().Check(jobs, names);
  RETURN_IF_ERROR(read);
  for (const std::int64_t job : jobs) shown_[job].reset();
  for (SlurmJob& job : *read) shown_[job.id] = std::move(job);
  return {};
}

Result<std::optional<SlurmJob>> SlurmJobs::Show(std::int64_t job) {
  if (const auto found = shown_.find(job); found != shown_.end()) {
    std::optional<SlurmJob> shown = std::move(found->second);
    shown_.erase(found);
    return shown;
  }
  auto read = book_.client().Check({job}, {NameOf(job)});
  RETURN_IF_ERROR(read);
  if (read->empty()) return std::nullopt;
  return std::move(read->front());
}

void SlurmJobs::AccountForgotten() {
  std::vector<std::int64_t> forgotten;
  for (const auto& [job, shown] : shown_) {
    if (!shown) forgotten.push_back(job);
  }
  if (forgotten.size() > 1) book_.client().AccountAll(forgotten);
}

}  // namespace sharewell::engine
