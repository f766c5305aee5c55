// Reads all collectors of a watch at one moment, and keeps what they said. For
// cli/commands/predict/watch.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "measure/profile_series.h"
#include "measure/watch.h"
#include "measure/watch_job.h"
#include "measure/watch_world.h"

namespace sharewell::measure {

// Which jobs run, for the collectors.
class StartedJobs : public collect::JobSource {
 public:
  const std::vector<collect::RunningJob>& Running() override { return running_; }
  void Look(const std::vector<std::unique_ptr<WatchJob>>& jobs);

 private:
  std::vector<collect::RunningJob> running_;
};

class WatchSampler {
 public:
  // Collectors that are absent on this machine are left out.
  WatchSampler(const WatchOptions& options, collect::JobSource& jobs, WatchWorld& world);

  // A collector that must not be asked yet (its floor) is not. One that fails is asked again the
  // next time, and stops nobody else.
  void Sample(core::Seconds now);
  const ProfileSeries& series() const { return series_; }
  // A note for each collector that failed: how often, and what it said first.
  std::vector<std::string> Notes() const;

 private:
  struct Source {
    std::unique_ptr<collect::Collector> collector;
    core::Seconds read{-1e18};  // when it was asked last
    int asked = 0, failed = 0;
    std::string error;
  };

  const WatchOptions& options_;
  WatchWorld& world_;
  std::vector<Source> sources_;
  ProfileSeries series_;
};

}  // namespace sharewell::measure
