// SlurmNodes: Slurm's nodes as ours: which can be used and with which GPUs, what is reserved, and
// whatever else a job's terms are made of. It alone changes the nodes of the book.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/read/slurm_preemption.h"
#include "engine/slurm/read/slurm_shares.h"
#include "engine/slurm/read/slurm_terms.h"

namespace sharewell::engine {

class SlurmNodes {
 public:
  explicit SlurmNodes(SlurmBook& book) : book_(book) {}

  // What there is when a server begins; nothing of it is an event.
  core::Result<void> Open() { return Read(true); }
  // The nodes, reservations and shares, where it is time to. Whether it was.
  core::Result<bool> ReadAgain();
  bool were_read_now() const { return read_ == book_.now(); }

  // Says it to the log, once; what is found before the first look is told with the nodes.
  void Remark(const std::string& words);
  // That jobs start by. Its dependencies are filled in by whoever knows the jobs.
  SlurmFacts Facts() const;
  // Is another one whenever terms may be others.
  std::uint64_t terms_version() const { return terms_version_; }
  const SlurmShares& shares() const { return shares_; }
  // By its QOS, who gives way to it and to whom it does.
  void PutRank(const SlurmJob& job, StartTerms& terms) const;
  // Of each GPU of a start; 0: it has none, or it is not known.
  core::Bytes GpuMemoryOf(const RunRequest& request) const;

 private:
  core::Result<void> Read(bool first);
  void HandleNode(SlurmNode node, bool first);
  void HandleGpus(const SlurmNode& node, SlurmNodeHere& here);
  void ReadReservations();
  void ReadShares();
  std::string ReservedBy(const std::string& node) const;
  void EmitReserved(SlurmNodeHere& here);
  void EmitWatched(SlurmNodeHere& here);
  void RemarkOnAgents();
  bool HasRuns(const std::string& node) const;

  SlurmBook& book_;
  std::map<std::string, SlurmReservation> reservations_;
  std::map<std::string, core::Seconds> partition_limits_;
  SlurmShares shares_;
  SlurmPreemption preemption_;
  std::uint64_t terms_version_ = 1;
  std::optional<core::Seconds> read_, shares_read_;
};

}  // namespace sharewell::engine
