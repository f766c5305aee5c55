#include "control/service/record/outbox.h"

#include <fmt/format.h>

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
         changes.kept.empty() && changes.speeds.empty();
}

std::set<std::int64_t> NumbersIn(const store::JobChanges& changes) {
  std::set<std::int64_t> numbers;
  for (const core::JobRecord& record : changes.jobs) numbers.insert(record.number);
  return numbers;
}

// Something to write where nothing is owed: whether the store takes it.
store::JobChanges Probe() {
  store::JobChanges changes;
  changes.kept.emplace_back("store_probe", "written");
  return changes;
}

bool TellsAnEnd(const core::Event& event) {
  return event.kind == "job.finished" || event.kind == "job.failed" ||
         event.kind == "job.cancelled";
}

}  // namespace

Outbox::Outbox(store::JobStore& store, LiveJobs& live, JobBoard& board, EventHub& hub, Log log)
    : store_(store), live_(live), board_(board), hub_(hub), log_(std::move(log)) {}

void Outbox::Touch(const LiveJob& job) {
  dirty_.insert(job.record.number);
  board_.Put(job.record);
}

void Outbox::AddEvent(core::UnixMillis at, std::string kind, std::int64_t job, std::string text) {
  if (owed_.events.size() >= kMostEvents) DropOldEvents();
  owed_.events.push_back({0, at, std::move(kind), job, std::move(text)});
}

// The older half of what is no end of a job.
void Outbox::DropOldEvents() {
  std::size_t left = kMostEvents / 2;
  dropped_ += std::erase_if(owed_.events, [&](const core::Event& event) {
    return left > 0 && !TellsAnEnd(event) && left-- > 0;
  });
}

void Outbox::AddShared(core::SharedRun run) {
  if (owed_.shared.size() >= kMostShared) owed_.shared.erase(owed_.shared.begin());
  owed_.shared.push_back(std::move(run));
}

void Outbox::AddKept(const std::string& name, std::string value) {
  std::erase_if(owed_.kept, [&](const auto& kept) { return kept.first == name; });
  owed_.kept.emplace_back(name, std::move(value));
}

void Outbox::AddSpeed(std::int64_t number, core::SpeedHistory history) {
  speeds_[number] = std::move(history);
}

void Outbox::AddEnded(engine::RunId run) { ended_.push_back(run); }

std::size_t Outbox::owed() const {
  return dirty_.size() + owed_.events.size() + owed_.shared.size() + owed_.kept.size() +
         ended_.size() + unsure_.size();
}

// Says it once when nothing can be stored, and once when it can again.
void Outbox::SetProblem(const std::string& problem) {
  if (log_ && problem_.empty() && !problem.empty()) {
    log_("nothing can be stored, so nothing new is started: " + problem);
  }
  if (log_ && !problem_.empty() && problem.empty()) {
    log_("the store can be written again" +
         (dropped_ == 0 ? std::string() : fmt::format("; {} events were dropped", dropped_)));
  }
  if (problem.empty()) dropped_ = 0;
  problem_ = problem;
}

core::Result<void> Outbox::Write(const store::JobChanges& all) {
  auto written = store_.Write(all);
  if (written && !problem_.empty()) {
    // An end may have taken of the reserve: that does not mean that there is room for new work.
    if (const auto health = store_.Health(); health && !*health) return written;
  }
  SetProblem(written ? std::string() : written.error().message);
  return written;
}

bool Outbox::LookAtStore() {
  const auto health = store_.Health();
  if (!health) return false;
  // What is owed is written first: that alone shows that it can be.
  if (!*health || owed() == 0) SetProblem(*health ? std::string() : health->error().message);
  return true;
}

std::vector<core::JobRecord> Outbox::OwedRecords(const store::JobChanges& changes) const {
  std::vector<core::JobRecord> records;
  const std::set<std::int64_t> anew = NumbersIn(changes);
  for (const std::int64_t number : dirty_) {
    const LiveJob* job = live_.Find(number);
    if (job != nullptr && !anew.contains(number)) records.push_back(job->record);
  }
  return records;
}

core::Result<std::vector<core::JobRecord>> Outbox::Withdrawn(const store::JobChanges& changes) {
  std::vector<core::JobRecord> records;
  const std::set<std::int64_t> anew = NumbersIn(changes);
  for (const std::int64_t number : unsure_) {
    if (live_.Find(number) != nullptr || anew.contains(number)) continue;
    store::JobFilter filter;
    filter.number = number;
    auto found = store_.Jobs(filter);
    RETURN_IF_ERROR(found);
    for (core::JobRecord& record : *found) {
      if (core::IsOver(record.phase)) continue;
      core::EndCancelled(record, core::cancelled::ByStore{}, record.submitted);
      records.push_back(std::move(record));
    }
  }
  return records;
}

void Outbox::CoverFailed(std::vector<core::Event>& events) const {
  const core::UnixMillis time = events.empty() ? failed_at_ : events.back().time;
  while (next_event_ + static_cast<std::int64_t>(events.size()) <= failed_) {
    events.push_back({0, time, "store.failed", 0, "the store failed; something was not done then"});
  }
}

core::Result<Outbox::Stored> Outbox::Commit(store::JobChanges changes) {
  store::JobChanges all = owed_;
  all.jobs = OwedRecords(changes);
  Stored stored;
  if (!unsure_.empty()) {
    auto withdrawn = Withdrawn(changes);
    if (!withdrawn) {
      problem_ = withdrawn.error().message;
      return tl::unexpected(std::move(withdrawn.error()));
    }
    for (const core::JobRecord& record : *withdrawn) stored.withdrawn.push_back(record.number);
    Append(all.jobs, *withdrawn);
  }
  Append(all.jobs, changes.jobs);
  Append(all.events, changes.events);  // what is owed happened first
  Append(all.shared, changes.shared);
  Append(all.kept, changes.kept);
  all.speeds.assign(speeds_.begin(), speeds_.end());
  // What is owed alone is what happened: ends above all.
  all.may_use_reserve = changes.may_use_reserve || Empty(changes);
  CoverFailed(all.events);
  if (Empty(all) && !problem_.empty()) all = Probe();
  std::int64_t next = next_event_;
  for (core::Event& event : all.events) event.id = next++;
  if (!Empty(all)) {
    if (auto written = Write(all); !written) {
      for (const core::JobRecord& record : changes.jobs) {
        unsure_.insert(record.number);
        dirty_.insert(record.number);
      }
      if (!all.events.empty()) failed_at_ = all.events.back().time;
      if (next > next_event_) failed_ = std::max(failed_, next - 1);
      return tl::unexpected(std::move(written.error()));
    }
  }
  owed_ = {};
  speeds_.clear();
  dirty_.clear();
  unsure_.clear();
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
