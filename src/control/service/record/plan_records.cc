#include "control/service/record/plan_records.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "control/service/view/eviction_words.h"
#include "core/sm_share.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

constexpr const char* kEvicted = "job.evicted";

class Changes {
 public:
  Changes(const core::Snapshot& snapshot, const LiveJobs& live, const GpuTable& gpus,
          const core::Plan& plan, core::UnixMillis now)
      : snapshot_(snapshot), live_(live), gpus_(gpus), now_(now) {
    for (const auto& stop : plan.stops) leave_.insert(stop.job);
    for (const auto& move : plan.moves) leave_.insert(move.job);
    const auto comes = [&](core::JobId job, const core::Allocation& to) {
      for (const core::GpuId gpu : to.gpus) come_.emplace(gpu, job);
    };
    for (const auto& move : plan.moves) comes(move.job, move.to);
    for (const auto& start : plan.starts) comes(start.job, start.to);
  }

  // Null: it is nobody's, it keeps a GPU from being used.
  JobRecord* Change(core::JobId id, const core::Reason& reason, const char* kind) {
    const LiveJob* job = live_.Find(id);
    if (job == nullptr) return nullptr;
    kinds_.push_back(kind);
    changes_.jobs.push_back(job->record);
    JobRecord& record = changes_.jobs.back();
    record.reason = core::InWords(reason, live_.NameOf(core::OtherJob(reason)));
    return &record;
  }

  // A server that is killed before it acts on it must know that it asked.
  void Evict(core::JobId id, const core::reason::Evicted& why) {
    JobRecord* record = Change(id, why, kEvicted);
    if (record == nullptr) return;
    ++record->evicted;
    record->phase = Phase::kStopping;
    const auto& on = snapshot_.job(id).allocation.gpus;
    const EvictionWords words = WhyEvicted(id, why, JobsOn(on, id, snapshot_, live_),
                                           record->evicted >= core::kEvictionsAlone, live_);
    record->reason = words.reason;
    record->note = words.note;
  }

  void Hold(core::JobId id) {
    JobRecord* record = Change(id, core::reason::Infeasible{}, "job.held");
    if (record == nullptr) return;
    record->asked.held = true;
    core::SetHold(*record, core::hold::NoNodes{record->reason});
  }

  void Place(core::JobId id, const core::Reason& reason, const char* kind,
             const core::Allocation& to) {
    JobRecord* record = Change(id, reason, kind);
    if (record == nullptr) return;
    record->phase = Phase::kStarting;
    record->beside = Beside(id, to);
    if (record->paused) return;  // it goes on where it was, as the same attempt
    record->attempt = live_.Find(id)->attempts() + 1;
    record->gpu_gone = false;
    const std::string model = record->gpus.empty() ? "" : record->gpus.front().model;
    record->gpus.clear();
    for (const core::GpuId gpu : to.gpus) record->gpus.push_back(gpus_.gpu(gpu));
    if (!record->gpus.empty() && record->gpus.front().model != model) record->alone.reset();
    record->cores = to.cores;
    record->sm_share = to.sm_share;
    record->guest_memory = to.guest_memory;
    if (const std::string share = ShareInWords(id, reason, to); !share.empty()) {
      record->reason += "; " + share;
    }
    record->resumed.reset();
    record->limit_extended = {};
  }

  store::JobChanges Take() && {
    for (std::size_t i = 0; i < changes_.jobs.size(); ++i) {
      const JobRecord& record = changes_.jobs[i];
      std::string place;
      for (const auto& gpu : record.gpus) place += fmt::format(" GPU {}", core::NameOf(gpu));
      const bool evicted = kinds_[i] == kEvicted;
      changes_.events.push_back({0, now_, kinds_[i], record.number,
                                 evicted ? fmt::format("job {}: {}", record.number, record.note)
                                         : fmt::format("job {}:{}{} {}", record.number, place,
                                                       place.empty() ? "" : ":", record.reason)});
    }
    return std::move(changes_);
  }

 private:
  std::string ShareInWords(core::JobId id, const core::Reason& reason,
                           const core::Allocation& to) const {
    // The reason why a guest has less than all is that it is one.
    if (to.guest()) return to.sm_share < 1 ? core::ShareInWords(to.sm_share) : "";
    const bool insisted = core::InsistedShare(snapshot_.job(id)).has_value();
    return core::ShareInWords(to.sm_share, insisted, live_.NameOf(core::OtherJob(reason)));
  }
  // Who is there, and who comes there with this plan.
  std::vector<std::int64_t> Beside(core::JobId id, const core::Allocation& to) const {
    std::set<std::int64_t> numbers;
    const auto add = [&](core::JobId other) {
      const LiveJob* job = other == id ? nullptr : live_.Find(other);
      if (job != nullptr) numbers.insert(job->record.number);
    };
    for (const core::GpuId gpu : to.gpus) {
      for (const core::JobId other : snapshot_.residents(gpu).jobs()) {
        if (!leave_.contains(other)) add(other);
      }
      const auto [first, last] = come_.equal_range(gpu);
      for (auto comes = first; comes != last; ++comes) add(comes->second);
    }
    return {numbers.begin(), numbers.end()};
  }

  const core::Snapshot& snapshot_;
  const LiveJobs& live_;
  const GpuTable& gpus_;
  const core::UnixMillis now_;
  // By this plan, so that a plan of thousands is not gone through for each of them.
  std::set<core::JobId> leave_;
  std::multimap<core::GpuId, core::JobId> come_;
  store::JobChanges changes_;
  std::vector<const char*> kinds_;  // of the events, in the records' order
};

}  // namespace

std::vector<std::int64_t> JobsOn(const std::vector<core::GpuId>& gpus, core::JobId but,
                                 const core::Snapshot& snapshot, const LiveJobs& live) {
  std::set<std::int64_t> numbers;
  for (const core::GpuId gpu : gpus) {
    for (const core::JobId other : snapshot.residents(gpu).jobs()) {
      const LiveJob* job = other == but ? nullptr : live.Find(other);
      if (job != nullptr) numbers.insert(job->record.number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

store::JobChanges RecordsOf(const core::Plan& plan, const core::Snapshot& snapshot,
                            const LiveJobs& live, const GpuTable& gpus, core::UnixMillis now,
                            bool managed) {
  Changes changes(snapshot, live, gpus, plan, now);
  for (const auto& stop : plan.stops) {
    if (const auto* evicted = std::get_if<core::reason::Evicted>(&stop.reason)) {
      changes.Evict(stop.job, *evicted);
    } else if (JobRecord* record = changes.Change(stop.job, stop.reason, "job.stopped")) {
      record->phase = Phase::kStopping;
      record->paused = stop.pause;
      record->reason +=
          stop.pause ? "; it is paused, and goes on later" : "; it goes back into the queue";
      // Its user asks later, when it waits for another reason.
      const bool reclaimed = std::holds_alternative<core::reason::Reclaimed>(stop.reason);
      if (reclaimed) record->note = "it " + record->reason;
    }
  }
  for (const auto& move : plan.moves) changes.Place(move.job, move.reason, "job.moved", move.to);
  for (const auto& resize : plan.resizes) {
    JobRecord* record = changes.Change(resize.job, resize.reason, "job.resized");
    if (record != nullptr) record->cores = resize.cores;
  }
  for (const auto& throttle : plan.throttles) {
    JobRecord* record = changes.Change(throttle.job, throttle.reason, "job.throttled");
    if (record == nullptr || throttle.share >= 1) continue;
    record->reason += fmt::format("; it has {:.0f} % of its CPU time", throttle.share * 100);
  }
  for (const auto& start : plan.starts) {
    changes.Place(start.job, start.reason, "job.placed", start.to);
  }
  for (const core::JobId id : plan.infeasible) {
    if (managed) {
      changes.Hold(id);
      continue;
    }
    if (JobRecord* record = changes.Change(id, core::reason::Infeasible{}, "job.failed")) {
      record->phase = Phase::kFailed;
      record->note = "it could never run here: " + record->reason;
      record->ended = now;
    }
  }
  return std::move(changes).Take();
}

}  // namespace sharewell::control
