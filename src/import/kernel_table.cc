#include "import/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sharewell::imports {
namespace {

using core::KernelFigure;

// Templates make names of tens of kilobytes; what lies beyond tells no two kernels apart that
// anyone wants apart.
constexpr std::size_t kLongestName = 4096;

std::optional<double> ValueOf(const KernelFigure& kernel, KernelMetric metric) {
  const auto rate = [](const std::optional<core::BytesPerSecond>& value) {
    return value ? std::optional<double>(value->value) : std::nullopt;
  };
  switch (metric) {
    case KernelMetric::kSm:
      return kernel.sm;
    case KernelMetric::kMemory:
      return kernel.memory;
    case KernelMetric::kL2:
      return kernel.l2;
    case KernelMetric::kDram:
      return kernel.dram;
    case KernelMetric::kOccupancy:
      return kernel.occupancy;
    case KernelMetric::kDramRead:
      return rate(kernel.dram_read);
    case KernelMetric::kDramWrite:
      return rate(kernel.dram_write);
    case KernelMetric::kDramReadShare:
      return kernel.dram_read_share;
    case KernelMetric::kDramWriteShare:
      return kernel.dram_write_share;
  }
  return std::nullopt;
}

void SetValue(KernelFigure& kernel, KernelMetric metric, double value) {
  switch (metric) {
    case KernelMetric::kSm:
      kernel.sm = value;
      break;
    case KernelMetric::kMemory:
      kernel.memory = value;
      break;
    case KernelMetric::kL2:
      kernel.l2 = value;
      break;
    case KernelMetric::kDram:
      kernel.dram = value;
      break;
    case KernelMetric::kOccupancy:
      kernel.occupancy = value;
      break;
    case KernelMetric::kDramRead:
      kernel.dram_read = core::BytesPerSecond(value);
      break;
    case KernelMetric::kDramWrite:
      kernel.dram_write = core::BytesPerSecond(value);
      break;
    case KernelMetric::kDramReadShare:
      kernel.dram_read_share = value;
      break;
    case KernelMetric::kDramWriteShare:
      kernel.dram_write_share = value;
      break;
  }
}

bool Timed(std::span<const KernelFigure> kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelFigure& k) { return k.time.value > 0; });
}

double WeightOf(const KernelFigure& kernel, bool timed) {
  return timed ? kernel.time.value : static_cast<double>(kernel.launches);
}

// (value, weight), rising by value.
using Weighted = std::vector<std::pair<double, double>>;

Weighted Sorted(std::span<const KernelFigure> kernels, KernelMetric metric) {
  const bool timed = Timed(kernels);
  Weighted out;
  for (const KernelFigure& kernel : kernels) {
    const auto value = ValueOf(kernel, metric);
    const double weight = WeightOf(kernel, timed);
    if (value && weight > 0) out.emplace_back(*value, weight);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double Total(const Weighted& values) {
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  return total;
}

double MeanOf(const Weighted& values) {
  double sum = 0;
  for (const auto& [value, weight] : values) sum += value * weight;
  return sum / Total(values);
}

double QuantileOf(const Weighted& values, double q) {
  double left = q * Total(values);
  for (const auto& [value, weight] : values) {
    left -= weight;
    if (left <= 0) return value;
  }
  return values.back().first;
}

constexpr std::pair<std::string_view, std::string_view> kFigureNames[kKernelMetrics] = {
    {"kernels_sm_ratio", "ratio"},
    {"kernels_memory_ratio", "ratio"},
    {"kernels_l2_ratio", "ratio"},
    {"kernels_dram_ratio", "ratio"},
    {"kernels_occupancy_ratio", "ratio"},
    {"kernels_dram_read_bytes_per_second", "bytes_per_second"},
    {"kernels_dram_write_bytes_per_second", "bytes_per_second"},
    {"kernels_dram_read_ratio", "ratio"},
    {"kernels_dram_write_ratio", "ratio"},
};

}  // namespace

void KernelTable::Add(std::string_view name, const Launch& launch) {
  name = name.substr(0, kLongestName);
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    found = by_name_.emplace(std::string(name), kernels_.size()).first;
    kernels_.emplace_back().name = name;
  }
  Kernel& kernel = kernels_[found->second];
  ++kernel.launches;
  ++launches_;
  const double seconds = launch.time ? launch.time->value : 0;
  if (launch.time) ++timed_;
  kernel.seconds += seconds;
  for (std::size_t m = 0; m < kKernelMetrics; ++m) {
    if (!launch.values[m]) continue;
    Sum& sum = kernel.sums[m];
    sum.weighted += *launch.values[m] * seconds;
    sum.weight += seconds;
    sum.plain += *launch.values[m];
    sum.count += 1;
  }
}

std::vector<KernelFigure> KernelTable::Take() && {
  std::vector<KernelFigure> out;
  out.reserve(kernels_.size());
  for (Kernel& kernel : kernels_) {
    KernelFigure& figure = out.emplace_back();
    figure.name = std::move(kernel.name);
    figure.launches = kernel.launches;
    figure.time = core::Seconds(kernel.seconds);
    for (std::size_t m = 0; m < kKernelMetrics; ++m) {
      const Sum& sum = kernel.sums[m];
      if (sum.count == 0) continue;
      SetValue(figure, static_cast<KernelMetric>(m),
               sum.weight > 0 ? sum.weighted / sum.weight : sum.plain / sum.count);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const KernelFigure& a, const KernelFigure& b) {
    return a.time != b.time ? a.time > b.time : a.launches > b.launches;
  });
  return out;
}

KernelFigure WholeOf(std::span<const KernelFigure> kernels) {
  KernelFigure whole;
  for (const KernelFigure& kernel : kernels) {
    whole.launches += kernel.launches;
    whole.time += kernel.time;
  }
  for (std::size_t m = 0; m < kKernelMetrics; ++m) {
    const auto metric = static_cast<KernelMetric>(m);
    const Weighted values = Sorted(kernels, metric);
    if (!values.empty()) SetValue(whole, metric, MeanOf(values));
  }
  return whole;
}

std::vector<core::Figure> FiguresOf(std::span<const KernelFigure> kernels) {
  std::vector<core::Figure> out;
  for (std::size_t m = 0; m < kKernelMetrics; ++m) {
    const Weighted values = Sorted(kernels, static_cast<KernelMetric>(m));
    if (values.empty()) continue;
    core::Figure& figure = out.emplace_back();
    figure.metric = kFigureNames[m].first;
    figure.unit = kFigureNames[m].second;
    figure.mean = MeanOf(values);
    figure.least = values.front().first;
    figure.most = values.back().first;
    figure.median = QuantileOf(values, 0.5);
    figure.p95 = QuantileOf(values, 0.95);
    double squares = 0;
    for (const auto& [value, weight] : values) {
      squares += (value - figure.mean) * (value - figure.mean) * weight;
    }
    figure.deviation = std::sqrt(squares / Total(values));
    figure.readings = static_cast<std::int64_t>(values.size());
  }
  return out;
}

}  // namespace sharewell::imports
