// ClusterMonitor: what jobs of a cluster do on its nodes, as the agents there (`sharewell monitor`)
// put it into the store that this server has too: steps, told steps and host figures by Slurm's job
// ids
// ("slurm/17") or Kubernetes' pods ("pod/UID"), GPU figures by node and index. A thread of its own
// reads the store, so that one that does not answer delays nobody.
//
// What agents tell comes some seconds late and in lots. Steps are told on as they were counted, all
// equally late: a pace can be taken from that. A job on several nodes is taken for what it does on
// the first of them, all of its pods there together.
//
// All methods from any thread; none waits for the store, except Look.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/service/service.h"
#include "core/metric.h"
#include "engine/watched_runs.h"
#include "store/store.h"

namespace sharewell::server {

struct ClusterMonitorOptions {
  std::function<core::Result<std::unique_ptr<store::Store>>()> open;  // REQUIRED
  std::function<core::UnixMillis()> wall;                             // REQUIRED
  // What goes wrong, and comes right again; each once.
  std::function<void(const std::string&)> log = [](const std::string&) {};
  core::Seconds every{2};  // the store is read; 0: by Look alone
  // So late steps are told: agents write every 5 s.
  core::Seconds behind{8};
};

class ClusterMonitor final : public control::JobMonitor {
 public:
  explicit ClusterMonitor(ClusterMonitorOptions options);
  ~ClusterMonitor() override;
  ClusterMonitor(const ClusterMonitor&) = delete;
  ClusterMonitor& operator=(const ClusterMonitor&) = delete;

  // Of all jobs that run now, those of which an agent has told steps of the present run (the most
  // that any of its nodes says), or what the watcher inside told: that once.
  std::map<std::int64_t, engine::ToldSteps> Steps(
      const std::map<std::int64_t, engine::WatchedRun>& running);

  void Began(const core::JobRecord& job) override;
  void Ended(std::int64_t number) override;
  core::Profile Seen(std::int64_t number) override;
  control::JobReading Now(std::int64_t number, const std::string& gpu) override;

  void Look();  // reads the store once; one thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::server
