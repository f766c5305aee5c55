// The collector of memory traffic: of jobs by resctrl's monitoring groups (MBM), of the machine by
// those or by its memory controllers (Intel's uncore IMC, AMD's UMC and data fabric). What a
// machine does not count has no reading.
//
// For each running job it makes a monitoring group below /sys/fs/resctrl/mon_groups and puts the
// job's threads into it; the group goes with the job, or with the collector.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"
#include "collect/host/files.h"
#include "collect/host/perf/perf_counters.h"
#include "collect/jobs.h"

namespace sharewell::collect {

std::unique_ptr<Collector> NewTrafficCollector(const std::string& root, JobSource* jobs,
                                               std::unique_ptr<PerfCounters> counters);

// A counter of a memory controller: what to open on which CPUs, and the bytes of one count.
struct ControllerEvent {
  PerfCode code;
  std::vector<int> cpus;  // one of each socket
  double bytes = 64;

  friend bool operator==(const ControllerEvent&, const ControllerEvent&) = default;
};

// Those of this machine that together count all reads and writes of memory; empty: it names none.
std::vector<ControllerEvent> FindControllerEvents(HostFiles& files);

// "event=0x04,umask=0x03" as the device's formats ("config:0-7", "config:0-7,32-35") put it into
// the event's word; absent where a term is not known.
std::optional<std::uint64_t> EncodeEvent(HostFiles& files, const std::string& device,
                                         std::string_view terms);

}  // namespace sharewell::collect
