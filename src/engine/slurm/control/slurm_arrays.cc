#include "engine/slurm/control/slurm_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/slurm/control/slurm_hold.h"
#include "engine/slurm/control/slurm_submission.h"
#include "engine/slurm/read/slurm_read.h"

namespace sharewell::engine {

using core::Result;

namespace {

constexpr std::size_t kMostSplitAtOnce = 100;
constexpr core::Seconds kLimitsEvery(5);
constexpr std::size_t kMostLimitsRead = 50;
constexpr int kNoLimit = 1'000'000;

}  // namespace

void SlurmArrays::AddLines(const SlurmKnown& known, const std::vector<std::int64_t>& tasks,
                           std::vector<std::string>& lines, const std::string& note) const {
  const std::int64_t array = known.job->array.value_or(known.job->id);
  for (const std::int64_t task : tasks) {
    if (lines.size() >= kMostSplitAtOnce) break;
    lines.push_back(fmt::format("update JobId={}_{} {}={}", array, task,
                                book_.options().admin ? "AdminComment" : "Comment", note));
  }
}

Result<void> SlurmArrays::Split() {
  has_new_ = false;
  if (book_.options().dry_run) return {};
  std::vector<std::string> lines;
  for (auto& [id, known] : book_.jobs()) {
    if (!known.line || !known.job || !known.note || known.job->array_tasks.empty()) continue;
    const SlurmJob& job = *known.job;
    if (job.array_task || !WaitsHeldByUs(*known.line)) continue;
    if (!WaitsForUs(job, book_.options().wall(), jobs_.IsThere())) continue;
    const auto tasks = ExpandTasks(job.array_tasks);
    RETURN_IF_ERROR(tasks);
    if (job.array_at_once) SetLimit(job.array.value_or(id), *job.array_at_once);
    const auto note = ScontrolValue(book_.options().admin ? job.admin_comment : job.comment);
    RETURN_IF_ERROR(note);
    AddLines(known, *tasks, lines, *note);
    has_new_ = has_new_ || !known.split;
    known.split = true;
    known.job.reset();  // it is read again: which tasks are left
  }
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  return {};
}

int SlurmArrays::AtOnce(const SlurmJob& job) const {
  const auto found = job.array ? at_once_.find(*job.array) : at_once_.end();
  return found == at_once_.end() ? 0 : found->second;
}

void SlurmArrays::SetLimit(std::int64_t array, int limit) {
  const auto [at, is_new] = at_once_.try_emplace(array, limit);
  if (!is_new && at->second == limit) return;
  at->second = limit;
  for (auto& [id, known] : book_.jobs()) {
    if (known.job && known.job->array == array) known.terms_version = 0;
  }
}

// One task of each array that still waits says it for all.
Result<void> SlurmArrays::ReadLimits() {
  if (book_.now() < limits_read_ + kLimitsEvery) return {};
  limits_read_ = book_.now();
  std::vector<std::int64_t> ids;
  std::vector<std::string> names;
  std::set<std::int64_t> waiting;
  for (const auto& [id, known] : book_.jobs()) {
    if (!known.told || !known.line || !known.job || !known.job->array_task) continue;
    const std::int64_t array = known.job->array.value_or(id);
    if (!known.job->array_at_once && !at_once_.contains(array)) continue;
    if (!WaitsHeldByUs(*known.line) || !waiting.insert(array).second) continue;
    if (ids.size() == kMostLimitsRead) continue;
    ids.push_back(id);
    names.push_back(SlurmName(*known.job));
  }
  std::erase_if(at_once_, [&](const auto& one) { return !waiting.contains(one.first); });
  if (ids.empty()) return {};
  const auto read = book_.client().Check(ids, names);
  RETURN_IF_ERROR(read);
  for (const SlurmJob& job : *read) {
    if (job.array) SetLimit(*job.array, job.array_at_once.value_or(kNoLimit));
  }
  return {};
}

}  // namespace sharewell::engine
