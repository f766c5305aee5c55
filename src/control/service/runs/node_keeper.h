// NodeKeeper: GPUs and nodes that come and go, that are drained, that others use, and what keeps
// those from being used that are not there: a reservation, which takes the place of a job. The
// loop's thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/loop/loop.h"
#include "control/service/advisor.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/record/journal.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "control/service/view/published_view.h"
#include "core/job/submission.h"
#include "core/renumbering.h"
#include "core/result.h"
#include "engine/live/live_engine.h"
#include "store/job_store.h"

namespace sharewell::control {

class NodeKeeper {
 public:
  // All must outlive it; `monitor` may be null.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PublishedView& view;
    JobQueue& queue;
    Loop& loop;
    engine::LiveEngine& engine;
    Advisor& advisor;
    store::JobStore& store;
    JobMonitor* monitor;
  };
  explicit NodeKeeper(const Parts& parts);

  core::Result<void> ReadDrained();  // as they are stored
  // `gpu`: its index or uuid. Stored before it is done.
  core::Result<void> Drain(const std::string& gpu, bool drained, const core::Account& who);
  void SetMemoryBandwidth(core::BytesPerSecond rate);  // of the whole machine

  void Hear(const engine::GpuLost& event);
  void Hear(const engine::GpuBack& event);
  void Hear(const engine::GpuTaken& event);
  void Hear(const engine::NodeCame& event);
  void Hear(const engine::NodeWent& event);
  void Hear(const engine::NodeChanged& event);
  void Hear(const engine::HostTaken& event);

  // Processes on the GPUs that are no jobs: their memory is not free, and where they keep a GPU
  // busy it takes no jobs.
  void LookAtStrangers();
  // Whatever is unusable has something on it that keeps jobs away.
  void SeatReservations();
  void Renumber(const core::Renumbering& ids);

  // Why each GPU of a node is one job's, where it might be shared.
  const std::map<core::NodeId, std::string>& not_shared() const { return not_shared_; }

 private:
  void Keep(core::NodeId id, bool reserved, bool exclusive);
  void Add(const engine::RunnerNode& node);
  void Reserve(core::JobId& by, bool unusable, int gpus_taken, const core::Allocation& where);

  const Parts parts_;
  GpuTable& gpus_;
  std::vector<core::JobId> reserved_gpus_;          // by GpuId; not valid: it may be used
  std::vector<core::JobId> reserved_nodes_;         // by NodeId, likewise: their cores
  std::vector<bool> node_is_down_;                  // by NodeId
  std::map<core::NodeId, std::string> not_shared_;  // why
};

}  // namespace sharewell::control
