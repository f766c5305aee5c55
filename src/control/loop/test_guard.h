// A small world for the tests of the guard: jobs that step at rates of their own, slowed as the
// test says, told in lots, with pauses; and what their GPU's SMs are seen to do.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "control/loop/guard.h"

namespace sharewell::control {

struct PlayedJob {
  Standing standing;
  double alone = 10;  // steps a second
  double speed = 1;   // now
  double lot = 0;     // steps are told in lots of so many; 0: at once
  double done = 0;
  bool tells = true;
  double told_of = 1;              // of its steps, what it tells: less is a lie
  std::optional<double> sm_alone;  // what it keeps active alone; absent: SMs are not read
  std::function<double(double)> own = [](double) { return 1.0; };  // its own pace at a time
};

class GuardWorld {
 public:
  core::JobId Add(const std::vector<std::size_t>& gpus, double alone = 10) {
    PlayedJob loop;
    const core::JobId id(next_++);
    loop.standing.job = id;
    for (const std::size_t gpu : gpus) loop.standing.gpus.emplace_back(gpu);
    loop.standing.started = now;
    loop.alone = alone;
    jobs.emplace(id, loop);
    return id;
  }
  PlayedJob& At(core::JobId id) { return jobs.at(id); }

  // Looks once a second; what was said over all of it.
  Verdict Run(double seconds) {
    Verdict all;
    for (const core::Seconds end = now + core::Seconds(seconds); now < end;) {
      const Verdict verdict = Second();
      if (!verdict.leave.empty() && all.leave.empty()) left_at = now;
      all.leave.insert(all.leave.end(), verdict.leave.begin(), verdict.leave.end());
      all.stay.insert(all.stay.end(), verdict.stay.begin(), verdict.stay.end());
      all.pairs.insert(all.pairs.end(), verdict.pairs.begin(), verdict.pairs.end());
    }
    return all;
  }

  Verdict Second() {
    constexpr int kFine = 5;  // a pause may begin within a second
    const double before = now.value;
    now += core::Seconds(1);
    std::vector<Standing> running;
    std::map<std::size_t, double> active;  // by GPU
    for (auto& [id, loop] : jobs) {
      double pace = 0;
      for (int i = 0; i < kFine; ++i) {
        const double at = before + (i + 0.5) / kFine;
        pace += loop.own(at) * noise(at) / kFine;
      }
      loop.done += loop.alone * loop.speed * pace;
      if (loop.sm_alone && loop.standing.gpus.size() == 1) {
        active[loop.standing.gpus[0].index()] += *loop.sm_alone * loop.speed * pace;
      }
      if (!loop.tells) continue;
      const double told = loop.done * loop.told_of;
      loop.standing.steps = loop.lot > 0 ? std::floor(told / loop.lot) * loop.lot : told;
    }
    for (auto& [id, loop] : jobs) {
      if (loop.sm_alone) loop.standing.sm = std::min(1.0, active[loop.standing.gpus[0].index()]);
      running.push_back(loop.standing);
    }
    guard.KeepOnly(running);
    return guard.Look(now, running);
  }

  void Renumber(const std::vector<bool>& stays) {
    const core::Renumbering ids(stays);
    guard.Renumber(ids);
    for (auto& [id, loop] : std::exchange(jobs, {})) {
      loop.standing.job = ids.Of(id);
      if (loop.standing.job.valid()) jobs.emplace(loop.standing.job, loop);
    }
    next_ = ids.staying();
  }

  Guard guard;
  std::map<core::JobId, PlayedJob> jobs;
  std::function<double(double)> noise = [](double) { return 1.0; };
  core::Seconds now{100}, left_at;

 private:
  std::size_t next_ = 0;
};

inline std::vector<core::JobId> JobsOf(const std::vector<Eviction>& evictions) {
  std::vector<core::JobId> jobs;
  for (const Eviction& eviction : evictions) jobs.push_back(eviction.job);
  return jobs;
}

}  // namespace sharewell::control
