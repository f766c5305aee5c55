// Two short ways to write a core::Metric, for the tables of metrics in this module.
#pragma once

#include <string_view>

#include "core/metric.h"

namespace sharewell::collect {

constexpr core::Metric Gauge(std::string_view name, std::string_view unit,
                             std::string_view instance, std::string_view help,
                             std::string_view exported = {}, std::string_view labels = {}) {
  return {.name = name,
          .unit = unit,
          .kind = core::MetricKind::kGauge,
          .instance = instance,
          .help = help,
          .exported = exported,
          .export_labels = labels};
}

constexpr core::Metric Counter(std::string_view name, std::string_view unit,
                               std::string_view instance, std::string_view help,
                               std::string_view exported = {}, std::string_view labels = {}) {
  core::Metric metric = Gauge(name, unit, instance, help, exported, labels);
  metric.kind = core::MetricKind::kCounter;
  return metric;
}

}  // namespace sharewell::collect
