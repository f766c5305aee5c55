// GpuTime: who had which GPU when, from a server's own records, within a stretch of time; and what
// a set of such stays comes to: GPU hours held, shared, and energy. Pure; times are Unix
// milliseconds.
//
// Of each job its last run is known (JobRecord::resumed to ended, or to now), with its GPUs.
// Earlier runs are not: where and when they were is not recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"

namespace sharewell::simulation {

using UsageRecords = std::span<const core::JobRecord* const>;  // none is null

struct TimeSpan {
  core::UnixMillis from = 0, to = 0;
};

// A GPU of the server, or one that only its history knows.
struct UsedGpu {
  std::string uuid, model;
  std::size_t node = 0;
  std::optional<core::Watts> idle, limit;
};

// One job on its GPUs, cut to the time that is looked at.
struct Stay {
  const core::JobRecord* job = nullptr;
  std::vector<std::size_t> gpus;  // of GpuTime::gpus, rising
  core::UnixMillis from = 0, to = 0;
  double speed = 1;  // against alone
  bool shared = false;
  bool speed_known = true;  // of one that shared: it was measured or believed
  // Board power alone, a GPU; of one that was neither measured nor predicted absent.
  std::optional<core::Watts> power;
};

struct GpuTime {
  std::vector<UsedGpu> gpus;
  std::vector<Stay> stays;       // by real start, then by number
  std::size_t earlier_runs = 0;  // jobs that had runs before the one that is known
  std::size_t without_gpus = 0;  // jobs that asked for none
};

// `gpus` by GpuId, as the server has them now.
GpuTime GpuTimeOf(UsageRecords records, const core::Cluster& cluster,
                  std::span<const core::GivenGpu> gpus, TimeSpan time);

struct GpuTotals {
  core::UnixMillis held = 0;    // GPU milliseconds in which some job had the GPU
  core::UnixMillis shared = 0;  // of them, in which several had it
  // Joules while held: the GPU's idle power, and of each job what it takes above that alone, times
  // its speed; no more than the GPU's limit. Absent: some power is not known.
  std::optional<double> joules;
};

// The same stays give the same bytes.
GpuTotals TotalsOf(const GpuTime& world, std::span<const Stay> stays);

// By stay: which part of the time on its GPUs is its own, where a time that n jobs share counts as
// an nth for each. Sums of parts are hours of GPUs, then, and not of jobs.
std::vector<double> OwnParts(const GpuTime& world);

// `held` and `shared` for each of `bins` equal parts of the time.
std::vector<GpuTotals> OverTime(const GpuTime& world, TimeSpan time, std::size_t bins);

}  // namespace sharewell::simulation
