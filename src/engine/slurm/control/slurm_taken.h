// SlurmTaken: what of the nodes somebody else has: GPUs, CPUs and memory of jobs that we do not
// place, and GPUs of nodes that take no new jobs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_nodes.h"
#include "engine/slurm/control/slurm_strangers.h"

namespace sharewell::engine {

class SlurmTaken {
 public:
  SlurmTaken(SlurmBook& book, const SlurmNodes& nodes) : book_(book), nodes_(nodes) {}

  // Where the nodes were read by this look: who has GPUs there from other partitions.
  core::Result<void> ReadElsewhere();
  // What has changed of it since the last look.
  void EmitChanges();

 private:
  std::map<std::string, std::string> GpusTaken() const;
  std::string HeldBy(const SlurmJob& job) const;
  void TakeJob(const SlurmJob& job, std::map<std::string, std::string>& taken) const;
  void TakePlain(const SlurmJob& job, const SlurmNodeHere& here,
                 std::map<std::string, std::string>& taken) const;
  void EmitHostTaken();

  SlurmBook& book_;
  const SlurmNodes& nodes_;
  SlurmStrangers strangers_;
  std::map<std::int64_t, SlurmJob> elsewhere_;      // in other partitions, on our nodes
  std::map<std::string, StrangersUse> host_taken_;  // as told, by node
};

}  // namespace sharewell::engine
