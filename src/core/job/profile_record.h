// ProfileRecord: a profile as it is kept: the figures that scheduler and predictor read, all the
// others beside them, and under which circumstances they were measured (Takayama et al.'s tables
// II, IV and VII).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/profile.h"
#include "core/metric.h"

namespace sharewell::core {

// One metric over the steady window. Of a counter: its rate a second.
struct Figure {
  std::string metric;    // Metric::name
  std::string instance;  // empty where the metric has none
  std::string unit;      // of the figures here; of a counter "joules/s"
  double mean = 0, least = 0, most = 0, median = 0, p95 = 0;
  double deviation = 0;  // standard deviation of the single readings
  std::int64_t readings = 0;

  friend bool operator==(const Figure&, const Figure&) = default;
};

// What one kernel does to the GPU, by Nsight Compute or Kineto (Ryu and Chun's table 1). Shares of
// the GPU's peak, 0..1.
struct KernelFigure {
  std::string name;
  std::int64_t launches = 0;
  Seconds time;  // of all launches together
  std::optional<Ratio> sm, memory, l2, dram, occupancy;
  std::optional<BytesPerSecond> dram_read, dram_write;
  std::optional<Ratio> dram_read_share, dram_write_share;  // of the DRAM's peak

  friend bool operator==(const KernelFigure&, const KernelFigure&) = default;
};

struct ProfileRecord {
  std::int64_t id = 0;  // given by the store; 0: not stored yet
  std::string name;     // the user's, or made from the command
  UnixMillis created = 0;
  std::string source;  // "profile", "sweep", "colocate", "import ncu" ...; "job": a job left it
  // Whose job left it, and whether that user was an admin then. Empty: somebody who may write the
  // store measured it, or it is older than this field.
  std::string user;
  bool by_admin = false;
  Profile profile;
  std::vector<std::string> command;
  // In the order they are shown in: node, os, kernel, cpu, cores, memory, gpu, driver, framework
  // ...; a fact that could not be found is not among them.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Figure> figures;        // by metric, then instance
  std::vector<KernelFigure> kernels;  // by time, longest first

  std::string throughput_source;  // "progress file", "output", "none"
  Seconds warmup, window;         // left out, and looked at
  int repeats = 1;
  bool settled = false;              // the figures had stopped moving when the window ended
  std::optional<Ratio> uncertainty;  // half the 95 % interval of the rate (or busy) over its mean
  std::optional<int> exit_code;      // none: it was stopped by us, or still runs
  std::string bound_by;              // "gpu", "cpu", "memory bandwidth" ... and why; may be empty
  std::vector<std::string> notes;    // what could not be measured, and why

  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

}  // namespace sharewell::core
