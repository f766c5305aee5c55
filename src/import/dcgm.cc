#include "import/dcgm.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "import/dcgm_fields.h"

namespace sharewell::imports {
namespace {

constexpr std::string_view kOwnPrefix = "sharewell_";
constexpr std::size_t kLongestInstance = 256;

// `mode="user"`, or empty.
bool HasLabels(const ExposedSample& sample, std::string_view wanted) {
  while (!wanted.empty()) {
    const auto equals = wanted.find("=\"");
    const auto end = equals == std::string_view::npos ? equals : wanted.find('"', equals + 2);
    if (end == std::string_view::npos) return false;
    const std::string* value = sample.Label(wanted.substr(0, equals));
    if (value == nullptr || *value != wanted.substr(equals + 2, end - equals - 2)) return false;
    wanted.remove_prefix(end + 1);
    wanted.remove_prefix(std::min(wanted.find_first_not_of(", "), wanted.size()));
  }
  return true;
}

// What is ours of the exported names, looked up once a name.
class MetricNames {
 public:
  explicit MetricNames(std::span<const core::Metric* const> metrics) {
    for (const core::Metric* metric : metrics) {
      if (!metric->exported.empty()) by_name_[std::string(metric->exported)].push_back(metric);
      const std::string own = std::string(kOwnPrefix) + std::string(metric->name);
      by_name_[own].push_back(metric);
      const bool counts = metric->kind == core::MetricKind::kCounter;
      if (counts && !own.ends_with("_total")) by_name_[own + "_total"].push_back(metric);
    }
  }

  const core::Metric* Find(std::string_view name, const ExposedSample& sample) const {
    const auto found = by_name_.find(std::string(name));
    if (found == by_name_.end()) return nullptr;
    for (const core::Metric* metric : found->second) {
      if (HasLabels(sample, metric->export_labels)) return metric;
    }
    return nullptr;
  }

 private:
  std::unordered_map<std::string, std::vector<const core::Metric*>> by_name_;
};

std::string Short(const std::string* label) {
  return label == nullptr ? std::string() : label->substr(0, kLongestInstance);
}

std::string NodeOf(const ExposedSample& sample, const std::string& otherwise) {
  for (const std::string_view label : {"hostname", "Hostname", "nodename"}) {
    const std::string* value = sample.Label(label);
    if (value != nullptr && !value->empty()) return Short(value);
  }
  return otherwise;
}

// The label that is named as what the metric tells apart; a part of a GPU (MIG) is "0:3".
std::string InstanceOf(const ExposedSample& sample, const core::Metric& metric) {
  if (metric.instance.empty()) return {};
  std::string instance = Short(sample.Label(metric.instance));
  const std::string* part = sample.Label("GPU_I_ID");
  if (metric.instance == "gpu" && part != nullptr && !part->empty()) instance += ":" + Short(part);
  const std::string* chip = sample.Label("chip");
  if (metric.instance == "sensor" && chip != nullptr) instance = Short(chip) + "/" + instance;
  return instance;
}

// Whether these samples of DCGM_FI_DEV_GPU_UTIL_RATIO are percentages, as 4.6 gives them.
bool RatioIsPercent(const Exposition& exposition) {
  return std::any_of(exposition.samples.begin(), exposition.samples.end(),
                     [](const ExposedSample& sample) {
                       return sample.name == "DCGM_FI_DEV_GPU_UTIL_RATIO" && sample.value > 1 &&
                              !IsDcgmBlank(sample.value);
                     });
}

}  // namespace

ImportedSamples FromSamples(const Exposition& exposition, const std::string& node,
                            core::UnixMillis now, std::span<const core::Metric* const> metrics) {
  const MetricNames names(metrics);
  const bool percent = RatioIsPercent(exposition);
  ImportedSamples out;
  std::map<std::pair<std::string, core::UnixMillis>, core::Batch> batches;
  std::set<std::tuple<std::string, core::UnixMillis, const core::Metric*, std::string, std::string>>
      seen;
  for (const ExposedSample& sample : exposition.samples) {
    const DcgmField* field = FindDcgmField(sample.name);
    const core::Metric* metric =
        names.Find(field != nullptr ? field->classic : sample.name, sample);
    if (metric == nullptr) {
      ++out.unknown[std::string(sample.name.substr(0, kLongestInstance))];
      continue;
    }
    const bool dcgm = sample.name.starts_with("DCGM_");
    if (!std::isfinite(sample.value) || (dcgm && IsDcgmBlank(sample.value))) {
      ++out.blank;
      continue;
    }
    double value = sample.value;
    if (field != nullptr && !(percent && field->id == 203)) value *= field->to_classic;
    // A name of ours for what we export under another one: as it is in the store.
    const bool plain = sample.name.starts_with(kOwnPrefix) && sample.name != metric->exported;
    if (!plain) value /= metric->export_scale;
    if (!std::isfinite(value)) {
      ++out.blank;
      continue;
    }
    core::Reading reading{
        .metric = metric,
        .instance = InstanceOf(sample, *metric),
        .job = sample.name.starts_with(kOwnPrefix) ? Short(sample.Label("job")) : std::string(),
        .value = value};
    const std::string of = NodeOf(sample, node);
    const core::UnixMillis time = sample.time.value_or(now);
    if (!seen.emplace(of, time, metric, reading.instance, reading.job).second) {
      ++out.repeated;
      continue;
    }
    core::Batch& batch = batches[{of, time}];
    batch.time = time;
    batch.readings.push_back(std::move(reading));
    ++out.taken;
  }
  for (auto& [key, batch] : batches) out.batches.emplace_back(key.first, std::move(batch));
  return out;
}

}  // namespace sharewell::imports
