#include "control/service/parts/outbox.h"

#include <algorithm>
#include <iterator>

#include "core/result.h"

namespace sharewell::control {
namespace {

template <class T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool Empty(const store::JobChanges& changes) {
  return changes.jobs.empty() && changes.events.empty() && changes.shared.empty() &&
         changes.kept.empty();
}

}  // namespace

Outbox::Outbox(store::JobStore& store, LiveJobs& live, JobBoard& board, EventHub& hub, Say say)
    : store_(store), live_(live), board_(board), hub_(hub), say_(std::move(say)) {}

void Outbox::Touch(const LiveJob& job) {
  dirty_.insert(job.record.number);
  board_.Put(job.record);
}

void Outbox::AddEvent(core::UnixMillis at, std::string kind, std::int64_t job, std::string text) {
  owed_.events.push_back({0, at, std::move(kind), job, std::move(text)});
}

void Outbox::AddShared(core::SharedRun run) { owed_.shared.push_back(std::move(run)); }

void Outbox::AddEnded(engine::RunId run) { ended_.push_back(run); }

core::Result<void> Outbox::Write(const store::JobChanges& all) {
  if (auto written = store_.Write(all); !written) {
    if (problem_.empty() && say_) {
      say_("nothing can be stored, so nothing new is started: " + written.error().message);
    }
    problem_ = written.error().message;
    return written;
  }
  if (!problem_.empty() && say_) say_("the store can be written again");
  problem_.clear();
  return {};
}

core::Result<Outbox::Stored> Outbox::Commit(store::JobChanges changes) {
  store::JobChanges all = owed_;
  for (const std::int64_t number : dirty_) {
    const bool newer = std::any_of(changes.jobs.begin(), changes.jobs.end(),
                                   [&](const core::JobRecord& r) { return r.number == number; });
    const LiveJob* job = live_.Find(number);
    if (!newer && job != nullptr) all.jobs.push_back(job->record);
  }
  Append(all.jobs, changes.jobs);
  Append(all.events, changes.events);  // what is owed happened first
  Append(all.shared, changes.shared);
  Append(all.kept, changes.kept);
  std::int64_t next = next_event_;
  for (core::Event& event : all.events) event.id = next++;
  Stored stored;
  if (!Empty(all)) {
    RETURN_IF_ERROR(Write(all));
  }
  owed_ = {};
  dirty_.clear();
  next_event_ = next;
  for (core::JobRecord& record : changes.jobs) {
    board_.Put(record);
    if (LiveJob* job = live_.Find(record.number)) job->record = std::move(record);
  }
  for (const core::JobRecord& record : all.jobs) {
    if (core::IsOver(record.phase) && live_.Find(record.number) != nullptr) {
      stored.over.emplace_back(record.number, record.phase);
    }
  }
  for (core::Event& event : all.events) hub_.Publish(std::move(event));
  stored.ended = std::exchange(ended_, {});
  return stored;
}

}  // namespace sharewell::control
