// Placement: where a job goes now, if anywhere. Asked about one job at a time, in the order's turn;
// the ledger already holds what this plan gave to those before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/options.h"
#include "policy/sizing/sizing.h"

namespace sharewell::policy {

// What a placement works out once and keeps, for speed only: part of the policy's memo.
class Scratch {
 public:
  virtual ~Scratch() = default;
};

struct Context {
  const core::Snapshot& snapshot;
  const Ledger& ledger;
  const Sizing& sizing;
  const Options& options;
  std::span<const core::GpuId> changed;  // GPUs somebody came to or left now, in this plan included
  Scratch* scratch = nullptr;            // what NewScratch gave
  std::uint64_t decision = 0;            // counts the decisions with that scratch; 0: not told
  // Nodes that are opened for the job that is tried: it has just been refused without them. Empty:
  // it has not.
  std::span<const core::NodeId> opened = {};
  core::GpuId kept_gpu = {};  // kept for a guest: nobody comes there to share
};

struct Chosen {
  core::Allocation to;
  core::Reason reason;
  std::optional<core::Seconds> profile;
};

// A place, or why there is none.
using Choice = std::variant<Chosen, core::Reason>;

class Placement {
 public:
  virtual ~Placement() = default;
  virtual std::unique_ptr<Scratch> NewScratch() const { return nullptr; }
  virtual Choice Place(const Context& context, const core::JobView& view) const = 0;
  // Asked before nodes are opened for a job that has just been refused. False: it would be refused
  // again. For speed only.
  virtual bool MayOpen(const Context&, const core::JobView&, std::span<const core::NodeId>) const {
    return true;
  }
  // When to decide again even if nothing happens, because somebody's patience ends.
  virtual std::optional<core::Seconds> WakeAt(const Context&) const { return std::nullopt; }
  // Where nobody else is to come to share in this decision (Context::kept_gpu).
  virtual core::GpuId KeepsForGuest(const Context&) const { return {}; }
  // Moves of running jobs, before anybody is started.
  virtual void Rearrange(const Context&, core::Plan&) const {}
};

// Idle GPUs of one model for the job, with the cores it is sized to and the share of the SMs that
// it has or insists on (else all).
std::optional<core::Allocation> OnIdleGpus(const Context& context, const core::JobView& view,
                                           core::GpuModelId model);

// Idle GPUs of any model it may use: those on the lowest-numbered node. The baseline's choice,
// blind to generations.
std::optional<core::Allocation> OnAnyIdleGpus(const Context& context, const core::JobView& view);

// Beside whoever is on that GPU, with the cores it is sized to and a share likewise; absent when
// the node lacks the cores or the host memory.
std::optional<core::Allocation> Beside(const Context& context, const core::JobView& view,
                                       core::GpuId gpu);

// No node has the cores left that it would be given, on any GPU model it may use: the fewest that
// would do. Absent: some node has them.
std::optional<double> CoresLacking(const Context& context, const core::JobView& view);

// Could it run, on this ledger (of the empty cluster, to tell what never can) and with this sizing?
bool Feasible(const Context& context, const core::JobView& view);

}  // namespace sharewell::policy
