// Reservations: nodes kept for jobs that wait for several GPUs, while a plan is made. Small jobs
// find a place all the time; a whole node hardly ever comes free by itself. So the first few, in
// turn, that have waited half as long as they last (a day at most) have the nodes kept on which
// their GPUs are believed to be idle soonest. Nobody else is placed there, but who is believed to
// have ended by then even if he takes kSurely times as long (EASY backfilling, Lifka 1995, with
// several reservations). A job whose duration nobody knows is expected to last as long as the
// longest of such jobs that run has run so far. Nothing is remembered: each plan keeps anew.
//
// Who was overtaken by a job submitted a day later is late. The oldest goes before all others, or
// has nodes kept, of one GPU too, as long as such jobs have an eighth of the GPUs at most.
//
// Assumes that believed ends are right within a factor. Ties by node. O(GPUs of the cluster) for
// each of kMostKept.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/snapshot.h"
#include "policy/foresight.h"
#include "policy/ledger.h"

namespace sharewell::policy {

class Reservations {
 public:
  // Both must outlive it; nodes of the ledger are closed and opened, and jobs only come to it.
  Reservations(const core::Snapshot& snapshot, Ledger& ledger)
      : snapshot_(snapshot), ledger_(ledger), ends_(snapshot, ledger, true) {}
  ~Reservations() { ledger_.Reopen(snapshot_); }
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  // A job in its turn has found no place: keeps nodes for it, if it is one that waits for long.
  // `late`: in any case. For whom nodes are kept first of all; not valid: for nobody.
  core::JobId Keep(const core::JobView& view, bool late = false);
  // The oldest job, if it goes before all others; else not valid.
  core::JobId Late(std::optional<core::JobId> oldest) const;
  // Who has nodes kept in this plan, and which.
  struct KeptFor {
    core::JobId job;
    std::vector<core::NodeId> nodes;
  };
  using KeptNodes = std::vector<KeptFor>;
  KeptNodes kept() const;
  // Opens the nodes on which the job would surely have ended in time while `start` tries; what it
  // returned. False where there are none, or for several GPUs too few idle ones, or where `could`
  // says that there is nothing on them for the job.
  using Nodes = std::span<const core::NodeId>;
  template <class Could, class Start>
  bool WithKept(const core::JobView& view, Could could, Start start) {
    if (!FindNodesFor(view) || !could(Nodes(opened_))) return false;
    for (core::NodeId node : opened_) ledger_.Close(snapshot_, node, false);
    const bool started = start(Nodes(opened_));
    for (core::NodeId node : opened_) ledger_.Close(snapshot_, node);
    return started;
  }

 private:
  struct Kept {
    core::JobId job;
    double until = 0;  // seconds from now
    std::vector<core::NodeId> nodes;
  };
  bool WaitsForLong(const core::JobView& view) const;
  void KeepSoonest(const core::JobView& view);
  double LatestEnd(const core::JobView& view);
  bool FindNodesFor(const core::JobView& view);  // into opened_

  const core::Snapshot& snapshot_;
  Ledger& ledger_;
  Ends ends_;
  std::vector<Kept> kept_;
  std::vector<core::NodeId> opened_;  // for the job that is tried
  std::optional<double> unknown_;     // how long a job of unknown duration lasts, once asked
};

}  // namespace sharewell::policy
