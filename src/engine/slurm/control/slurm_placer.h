// SlurmPlacer: starts runs. A place is written (an update is not atomic), read again, and only
// where all of it holds is the job released. Until it is released it is held, and nothing can
// start it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_ends.h"
#include "engine/slurm/control/slurm_jobs.h"
#include "engine/slurm/control/slurm_nodes.h"

namespace sharewell::engine {

class SlurmPlacer {
 public:
  SlurmPlacer(SlurmBook& book, SlurmJobs& jobs, const SlurmNodes& nodes, SlurmEnds& ends)
      : book_(book), jobs_(jobs), nodes_(nodes), ends_(ends) {}

  // Of all that are to be started some, by what the look has read of them.
  core::Result<void> Place();
  // Without a look at the whole queue, which may take longer than a start may wait: those that are
  // to be placed are read, and no others.
  core::Result<void> PlaceSoon();
  void Begin() { placed_ = false; }
  bool placed() const { return placed_; }  // any, so that more of them may be waiting

 private:
  using ShardCounts = std::map<std::string, int>;  // by GPU

  // False: it was refused or has ended, and is not in the book any more; or it is on its way.
  core::Result<bool> ReadyToPlace(std::int64_t job, ShardCounts& free);
  std::optional<long> LimitBesideOthers(const RunRequest& request) const;
  bool PutPlace(SlurmRun& run, const SlurmKnown& known, ShardCounts& free);
  void PlaceOnPaper(SlurmRun& run, const std::vector<std::string>& lines);
  core::Result<void> CheckAndRelease(const std::vector<std::int64_t>& placed);
  core::Result<void> PlaceAlone(std::int64_t job);
  std::string LacksKept(const JobNote::Put& put) const;
  ShardCounts FreeShards() const;

  SlurmBook& book_;
  SlurmJobs& jobs_;
  const SlurmNodes& nodes_;
  SlurmEnds& ends_;
  bool placed_ = false;
};

}  // namespace sharewell::engine
