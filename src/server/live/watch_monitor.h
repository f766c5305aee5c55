// WatchMonitor: what the service is told of jobs on this machine. Tells the watch which processes
// are whose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/service/service.h"
#include "engine/local/linux_runner.h"
#include "server/live/job_watch.h"

namespace sharewell::server {

class WatchMonitor final : public control::JobMonitor {
 public:
  WatchMonitor(const engine::LinuxRunner& runner, JobWatch& watch)
      : runner_(runner), watch_(watch) {}

  void Began(const core::JobRecord& job) override {
    const engine::RunId run{job.number, job.attempt};
    const auto pid = runner_.PidOf(run);
    if (!pid) return;  // it is over already
    std::vector<std::string> gpus;
    for (const core::GivenGpu& gpu : job.gpus) gpus.push_back(gpu.uuid);
    watch_.Add(job.number, *pid, runner_.CgroupOf(run), gpus);
  }
  void Ended(std::int64_t number) override { watch_.Remove(number); }
  void Stepped(std::int64_t number) override { watch_.Step(number); }
  core::Profile Seen(std::int64_t number) override { return watch_.Seen(number); }
  control::JobReading Now(std::int64_t number, const std::string& gpu) override {
    return {watch_.Now(gpu).sm, watch_.GpuMemoryOf(number)};
  }
  std::vector<control::Stranger> StrangersOn(const std::string& gpu) override {
    return watch_.StrangersOn(gpu);
  }

 private:
  const engine::LinuxRunner& runner_;
  JobWatch& watch_;
};

}  // namespace sharewell::server
