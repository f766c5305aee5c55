// What is kept of a PyTorch profiler trace while it is read, and the figures that come of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/profile_record.h"
#include "import/kernel_table.h"

namespace sharewell::imports {

struct TraceSpan {
  std::int64_t begin = 0, end = 0;  // nanoseconds; end >= begin
};

// One thing that a GPU did: a kernel, a copy or a fill.
struct TraceActivity {
  TraceSpan span;
  std::int64_t correlation = -1;  // of the call that launched it; -1: not known
  int device = 0;
  bool kernel = false;
};

struct TraceCopies {
  double bytes = 0, seconds = 0;
  std::vector<double> rates;  // bytes a second of each copy that says both
  std::int64_t copies = 0;
};

inline constexpr std::array<std::string_view, 5> kCopyDirections = {"HtoD", "DtoH", "DtoD", "PtoP",
                                                                    "other"};

struct KinetoTrace {
  KernelTable kernels;
  std::vector<TraceActivity> activities;
  std::vector<std::pair<std::int64_t, std::int64_t>> launches;  // (correlation, begin of the call)
  std::vector<TraceSpan> steps;                                 // ProfilerStep#
  std::array<TraceCopies, kCopyDirections.size()> copies;       // by kCopyDirections
  double blocks_weighted = 0, blocks_seconds = 0;  // blocks a SM, by time of the kernels that say
  double covered_weighted = 0;                     // the same with at most 1 each
  TraceSpan span;  // from the first to the last thing that GPU, CUDA calls or steps did
  bool any = false;
  std::int64_t events = 0, cpu_ops = 0;
  std::int64_t broken = 0;                                 // events that are no JSON
  std::size_t broken_line = 0;                             // the first of them
  bool cut = false;                                        // the text ended before the trace did
  std::string gpu;                                         // name of the first device; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  // "cuda runtime" ...

  void Extend(TraceSpan more);
};

// Kernels, figures (trace_*), the profile's busy, steps_per_second, pcie and gpu, window, notes.
core::ProfileRecord RecordOf(KinetoTrace&& trace);

}  // namespace sharewell::imports
