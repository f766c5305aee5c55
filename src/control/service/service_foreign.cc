// Jobs that the users of a cluster's manager submit there: taken into the queue under the manager's
// own ids, and given up when they are cancelled there.
#include <algorithm>
#include <utility>

#include "control/service/service_impl.h"
#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;
using core::Result;

namespace {

constexpr core::Seconds kForeignAgain(1);  // where the store does not take them

}  // namespace

// A number that is over may come again: somebody put the job back into the manager's queue, or its
// ids began anew. One that was cancelled here and is still there is cancelled there again: the
// server may have been killed in between.
Result<bool> Service::Impl::IsNews(const engine::JobSubmitted& event) {
  const std::int64_t number = event.job;
  if (live.Find(number) != nullptr) return false;
  store::JobFilter filter;
  filter.number = number;
  const auto found = jobs.Jobs(filter);
  RETURN_IF_ERROR(found);
  for (const JobRecord& old : *found) {
    const bool here = old.note.starts_with(kCancelledBy);
    if (!here || event.as.submitted > old.submitted) continue;
    runner.CancelWaiting(number);
    return false;
  }
  return true;
}

JobRecord Service::Impl::ForeignRecord(const engine::JobSubmitted& event) {
  const engine::ForeignJob& job = event.as;
  auto admitted = admission.Admit({&job.asked, 1}, job.user, event.job, job.submitted);
  JobRecord record;
  if (admitted) {
    record = std::move(admitted->front());
  } else {
    // It is in the manager's queue whether we like it or not: so it is held, and says why.
    record.number = event.job;
    record.user = job.user;
    record.asked = job.asked;
    record.asked.held = true;
    record.submitted = job.submitted;
    record.phase = Phase::kHeld;
    record.reason = fmt::format(
        "held{}: {}; `sharewell release {}` tries it again, `sharewell cancel {}` ends it",
        advisor.Check(job.asked) ? "" : " until there are nodes for it", admitted.error().message,
        event.job, event.job);
  }
  record.note = job.remark;
  return record;
}

void Service::Impl::AdmitForeign() {
  if (foreign.empty()) return;
  foreign_pause = kForeignAgain;
  if (outbox.owes_records() && !CommitAll()) return;  // they stay, and are tried again
  store::JobChanges changes;
  std::vector<std::int64_t> added;
  std::vector<engine::JobSubmitted> later;
  for (engine::JobSubmitted& event : std::exchange(foreign, {})) {
    const auto news = IsNews(event);
    if (!news) later.push_back(event);
    if (!news || !*news) continue;
    JobRecord record = ForeignRecord(event);
    changes.events.push_back(
        {0, record.submitted, "job.submitted", record.number,
         fmt::format("job {} by {}: {}", record.number, core::Quoted(record.user.name),
                     core::Quoted(core::DisplayName(record.asked)))});
    added.push_back(record.number);
    live.Add(record).terms = event.as.terms;
    changes.jobs.push_back(std::move(record));
    later.push_back(std::move(event));
  }
  foreign = std::move(later);
  if (added.empty()) return;
  if (!Commit(std::move(changes))) {
    for (const std::int64_t number : added) live.Remove(number);
    Publish();  // that nothing can be stored
    return;
  }
  std::erase_if(foreign, [&](const engine::JobSubmitted& event) {
    return std::find(added.begin(), added.end(), event.job) != added.end();
  });
  for (const std::int64_t number : added) {
    next_number = std::max(next_number, number + 1);
    if (live.Find(number)->record.phase == Phase::kWaiting) Enqueue(number);
  }
}

void Service::Impl::Handle(const engine::JobWithdrawn& event) {
  std::erase_if(foreign, [&](const engine::JobSubmitted& one) { return one.job == event.job; });
  LiveJob* job = live.Find(event.job);
  if (job == nullptr || core::IsOver(job->record.phase)) return;
  job->withdrawn = true;
  JobRecord& record = job->record;
  const bool waits = record.phase == Phase::kWaiting || record.phase == Phase::kHeld;
  if (!waits) {  // how its run ended follows
    record.cancelled = true;
    record.reason = event.why;
    return outbox.Touch(*job);
  }
  record.phase = Phase::kCancelled;
  record.note = event.why;
  record.ended = Wall();
  Say("job.cancelled", record.number, fmt::format("job {}: {}", record.number, event.why));
  if (job->id.valid()) engine.Withdraw(live.TakeId(*job));
  gate.Forget(record.number);
  std::erase(enqueued, record.number);
  outbox.Touch(*job);
}

// What a job may and may not is part of what it is seated with: it is queued anew.
void Service::Impl::Handle(const engine::TermsChanged& event) {
  for (engine::JobSubmitted& one : foreign) {
    if (one.job == event.job) one.as.terms = event.terms;
  }
  LiveJob* job = live.Find(event.job);
  if (job == nullptr || job->terms == event.terms) return;
  job->terms = event.terms;
  if (job->record.phase != Phase::kWaiting) {  // it holds when it waits again
    job->queue_anew = job->id.valid();
    return;
  }
  if (job->id.valid()) engine.Withdraw(live.TakeId(*job));
  gate.Forget(event.job);
  std::erase(enqueued, event.job);
  EnqueueIfItFits(*job);
  engine.Wake();
}

void Service::Impl::PutTerms(const LiveJob& job, core::Job& to) const {
  const engine::StartTerms& terms = job.terms;
  if (terms.weight > 0) to.weight = terms.weight;
  if (terms.priority != 0) to.priority = terms.priority;
  to.preempts = terms.preempts;
  to.keeps_place = terms.keeps_place;
  if (terms.gpus_a_node > 0 && to.gpus % terms.gpus_a_node == 0) {
    to.gpus_a_node = terms.gpus_a_node;
  }
  for (std::size_t i = 0; to.gpus > 0 && i < cluster.nodes().size(); ++i) {
    const std::string& name = cluster.nodes()[i].name;
    if (std::find(terms.nodes.begin(), terms.nodes.end(), name) != terms.nodes.end()) {
      to.allowed_nodes.emplace_back(i);
    }
  }
}

void Service::Impl::Handle(const engine::GpuTaken& event) {
  const auto gpu = gpus.WithUuid(event.gpu);
  if (gpu && node_is_down[cluster.NodeOf(*gpu).index()]) return;  // it is gone with its node
  if (!gpu || !gpus.SetProblem(*gpu, event.by)) return;
  Say(event.by.empty() ? "gpu.back" : "gpu.taken", 0,
      fmt::format("GPU {}: {}", event.gpu, event.by.empty() ? "it is free" : event.by));
  engine.Wake();  // decide with it, or without
}

Result<void> Service::Impl::AdoptForeign(const std::map<engine::RunId, engine::RunRequest>& runs,
                                         std::vector<JobRecord>& records) {
  for (const auto& [id, run] : runs) {
    const std::int64_t number = id.job;
    const auto same = [&](const JobRecord& record) { return record.number == number; };
    if (std::any_of(records.begin(), records.end(), same)) continue;
    const auto over = jobs.PhasesOf({number});
    RETURN_IF_ERROR(over);
    if (!over->empty()) continue;
    JobRecord record;
    record.number = number;
    record.user = run.user;
    record.asked = run.asked;
    record.believed = advisor.NeedsOf(run.asked);
    record.attempt = id.attempt;
    record.phase = Phase::kRunning;
    record.gpus = run.gpus;
    record.cores = run.cores;
    record.sm_share = run.thread_share.value_or(1);
    record.submitted = Wall();
    record.started = record.resumed = record.submitted;
    next_number = std::max(next_number, number + 1);
    records.push_back(std::move(record));
  }
  return {};
}

}  // namespace sharewell::control
