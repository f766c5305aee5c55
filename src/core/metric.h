// Metric: one thing that a collector can say. Each is a constant in the header of its collector
// (collect/*_metrics.h); collect/metrics/metrics.h lists them all, and docs/metrics.md, /metrics
// and the names in the store come from that list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::core {

enum class MetricKind {
  kGauge,    // as it is now, or the mean since the reading before
  kCounter,  // a total that only rises; it starts again where its source does
};

// Whether a job's figure was read for that job, or is its part of a figure of the whole GPU.
enum class Basis { kMeasured, kApportioned };

struct Metric {
  std::string_view name;  // "gpu_sm_ratio": unit last, base units, ratios 0..1
  std::string_view unit;  // "ratio", "bytes", "bytes_per_second", "joules", "celsius", "1" ...
  MetricKind kind = MetricKind::kGauge;
  std::string_view instance;  // what Reading::instance is: "gpu", "cpu", "disk"; empty: one a node
  std::string_view help;      // meaning, window and basis, in one sentence
  // The name by which dcgm-exporter or node_exporter gives it, and what our value is multiplied by
  // to be theirs. Empty: sharewell_NAME.
  std::string_view exported = {};
  double export_scale = 1;
  // Labels of that exported series which are always the same: `mode="user"`; may be empty.
  std::string_view export_labels = {};
  Basis basis = Basis::kMeasured;
};

// One value of one metric. What is not known is left out: there is no reading for it.
struct Reading {
  const Metric* metric = nullptr;  // never null; lives forever
  std::string instance;            // "0", "GPU-1f..", "nvme0n1"; empty where the metric has none
  std::string job;                 // whose it is; empty: the machine's
  double value = 0;                // finite

  friend bool operator==(const Reading&, const Reading&) = default;
};

using UnixMillis = std::int64_t;  // milliseconds since 1970, UTC

// What one collector read at one moment.
struct Batch {
  UnixMillis time = 0;
  std::vector<Reading> readings;
};

// One value of a series.
struct Point {
  UnixMillis time = 0;
  double value = 0;

  friend bool operator==(const Point&, const Point&) = default;
};

}  // namespace sharewell::core
