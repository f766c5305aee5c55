// LiveTable: the jobs of the live engine, whose processes are where, and who is to begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/ids.h"
#include "core/renumbering.h"
#include "engine/live/live_job.h"

namespace sharewell::engine {

struct LiveTable {
  explicit LiveTable(std::size_t gpus) : on_gpu(gpus) {}

  JobEntry* Find(core::JobId id);  // null: it is not known
  JobEntry* OfRun(RunId id);       // null: no process of that run is there
  // Its process comes to its GPUs, or leaves them: paces of those who are there say nothing then.
  void Enter(core::JobId id, const Attempt& run);
  void Leave(core::JobId id, const Attempt& run);
  // Somebody who was stopped, or is being paused, is still on one of these.
  bool IsBeingLeft(const std::vector<core::GpuId>& gpus) const;

  // Whoever is spoken of anywhere.
  void MarkStaying(std::vector<bool>& stays) const;
  void Renumber(const core::Renumbering& ids);

  std::map<core::JobId, JobEntry> jobs = {};     // all that are not over, and those in known_over
  std::vector<core::JobId> known_over = {};      // by the loop: they go one turn later
  std::set<core::JobId> live = {};               // with a run or a start to come
  std::map<RunId, core::JobId> runs = {};        // whose process is there
  std::vector<std::vector<core::JobId>> on_gpu;  // processes, those that leave among them
  std::vector<core::JobId> starts = {};          // to come, in the order they were decided
  std::map<std::int64_t, JobEntry> parked = {};  // paused, not in the loop's queue; by job's number

 private:
  void Disturb(const std::vector<core::GpuId>& gpus);
};

}  // namespace sharewell::engine
