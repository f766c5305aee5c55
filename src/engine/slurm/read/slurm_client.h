// SlurmClient: what is asked of Slurm, each as one question and its answer: the driver's commands
// and the readers put together. A fake that models a cluster stands in for it in tests. Each call
// waits, no longer than its limit; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "engine/slurm/read/slurm_driver.h"
#include "engine/slurm/read/slurm_preemption.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_shares.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

class SlurmClient {
 public:
  virtual ~SlurmClient() = default;
  virtual core::Result<std::vector<SlurmQueueLine>> Queue() = 0;  // those that are not over
  // Of jobs that have nodes now, in other partitions than the client's.
  virtual core::Result<std::vector<SlurmQueueLine>> QueueElsewhere() {
    return std::vector<SlurmQueueLine>();
  }
  // Of these those that Slurm has; no ids: all that it remembers, those that are over too.
  virtual core::Result<std::vector<SlurmJob>> Jobs(const std::vector<std::int64_t>& ids) = 0;
  // The same of a few, quicker where the queue is long: no other job is read. `names`: "17", or
  // "12_3" of an array; in the same order.
  virtual core::Result<std::vector<SlurmJob>> Check(const std::vector<std::int64_t>& ids,
                                                    const std::vector<std::string>& names) = 0;
  virtual core::Result<std::vector<SlurmNode>> Nodes() = 0;
  virtual core::Result<std::vector<SlurmReservation>> Reservations() = 0;
  // How long jobs may run at most, by partition; absent: without a bound.
  virtual core::Result<std::map<std::string, core::Seconds>> PartitionLimits() = 0;
  // Empty where there is no fair share (no slurmdbd, priority/basic).
  virtual SlurmShares Shares() = 0;
  // Whose jobs take the place of whose. Empty: nobody's do, or it cannot be read.
  virtual SlurmPreemption Preemption() { return {}; }
  // Of a job that Slurm has forgotten, from its accounting. Absent: that has it neither, or there
  // is none.
  virtual core::Result<std::optional<SlurmJob>> Accounted(std::int64_t id) = 0;
  // Asks for all of them at once: what Accounted says of each next is that answer.
  virtual void AccountAll(const std::vector<std::int64_t>&) {}
  // Lines for one `scontrol`, carried out in order. What it complained of; empty: nothing. An error
  // says nothing about which of them were carried out.
  virtual core::Result<std::string> Control(const std::vector<std::string>& lines) = 0;
  // `scancel`. What it complained of; empty: nothing.
  virtual core::Result<std::string> Cancel(const std::vector<std::string>& names) = 0;
  virtual core::Result<std::string> Version() = 0;  // "slurm 22.05.8"
  // Of the whole cluster, as Nodes() read it last: the fields Extra that have words, and that of
  // the first node without any.
  virtual std::map<std::string, std::string> NodeExtras() { return {}; }
};

// `partition`: empty: all. `driver` must outlive it.
std::unique_ptr<SlurmClient> NewSlurmClient(SlurmDriver& driver, std::string partition,
                                            core::Seconds limit = core::Seconds(20));

}  // namespace sharewell::engine
