#include <algorithm>
#include <optional>

#include "report/measure/profile_record.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using core::Figure;
using core::ProfileRecord;

template <class Tag>
Json QuantityOrNull(const std::optional<core::Quantity<Tag>>& value) {
  return value ? OrNull(std::optional(value->value)) : Json(nullptr);
}

Json FigureJson(const Figure& figure) {
  return {{"metric", figure.metric},
          {"instance", figure.instance},
          {"unit", figure.unit},
          {"mean", OrNull(figure.mean)},
          {"least", OrNull(figure.least)},
          {"most", OrNull(figure.most)},
          {"median", OrNull(figure.median)},
          {"p95", OrNull(figure.p95)},
          {"deviation", OrNull(figure.deviation)},
          {"readings", figure.readings}};
}

Json KernelJson(const core::KernelFigure& kernel) {
  return {{"name", kernel.name},
          {"launches", kernel.launches},
          {"seconds", OrNull(kernel.time.value)},
          {"sm_ratio", OrNull(kernel.sm)},
          {"memory_ratio", OrNull(kernel.memory)},
          {"l2_ratio", OrNull(kernel.l2)},
          {"dram_ratio", OrNull(kernel.dram)},
          {"occupancy_ratio", OrNull(kernel.occupancy)},
          {"dram_read_bytes_per_second", QuantityOrNull(kernel.dram_read)},
          {"dram_write_bytes_per_second", QuantityOrNull(kernel.dram_write)},
          {"dram_read_ratio", OrNull(kernel.dram_read_share)},
          {"dram_write_ratio", OrNull(kernel.dram_write_share)}};
}

Json RecordJson(const ProfileRecord& record) {
  const core::Profile& profile = record.profile;
  const auto cpu =
      std::find_if(record.figures.begin(), record.figures.end(),
                   [](const Figure& figure) { return figure.metric == "cpu_busy_ratio"; });
  const bool both = profile.busy && cpu != record.figures.end() && cpu->mean > 0;
  Json json = {{"id", record.id > 0 ? Json(record.id) : Json(nullptr)},
               {"name", record.name},
               {"source", record.source},
               {"created_unix_ms", record.created},
               {"workload", profile.workload.name},
               {"batch", profile.workload.batch > 0 ? Json(profile.workload.batch) : Json(nullptr)},
               {"precision", profile.workload.precision.empty() ? Json(nullptr)
                                                                : Json(profile.workload.precision)},
               {"workers", profile.workload.workers},
               {"gpu", profile.gpu.empty() ? Json(nullptr) : Json(profile.gpu)},
               {"command", record.command},
               {"exit_code", record.exit_code ? Json(*record.exit_code) : Json(nullptr)},
               {"steps_per_second", OrNull(profile.steps_per_second)},
               {"throughput_source", record.throughput_source},
               {"gpu_util", OrNull(profile.busy)},
               {"sm_ratio", OrNull(profile.sm)},
               {"dram_ratio", OrNull(profile.dram)},
               {"gpu_memory_bytes", QuantityOrNull(profile.gpu_memory)},
               {"pcie_bytes_per_second", QuantityOrNull(profile.pcie)},
               {"power_watts", QuantityOrNull(profile.power)},
               {"kernel_seconds", QuantityOrNull(profile.kernel_time)},
               {"kernels_per_step", OrNull(profile.kernels)},
               {"cpu_cores", OrNull(profile.cpu_cores)},
               {"host_memory_bytes", QuantityOrNull(profile.host_memory)},
               {"host_bandwidth_bytes_per_second", QuantityOrNull(profile.host_bandwidth)},
               {"gpu_over_cpu_ratio", both ? Json(*profile.busy / cpu->mean) : Json(nullptr)},
               {"bound_by", record.bound_by.empty() ? Json(nullptr) : Json(record.bound_by)},
               {"warmup_seconds", OrNull(record.warmup.value)},
               {"window_seconds", OrNull(record.window.value)},
               {"repeats", record.repeats},
               {"settled", record.settled},
               {"uncertainty_ratio", OrNull(record.uncertainty)}};
  Json& environment = json["environment"] = Json::object();
  for (const auto& [name, value] : record.environment) environment[name] = value;
  json["notes"] = record.notes;
  Json& curve = json["cpu_curve"] = Json::array();
  for (const auto& [cores, share] : profile.cpu_curve) {
    curve.push_back({{"cores", OrNull(cores)}, {"throughput_ratio", OrNull(share)}});
  }
  Json& figures = json["figures"] = Json::array();
  for (const Figure& figure : record.figures) figures.push_back(FigureJson(figure));
  Json& kernels = json["kernels"] = Json::array();
  for (const core::KernelFigure& kernel : record.kernels) kernels.push_back(KernelJson(kernel));
  return json;
}

}  // namespace

std::string ProfileRecordsJson(const std::vector<ProfileRecord>& records) {
  Json list = Json::array();
  for (const ProfileRecord& record : records) list.push_back(RecordJson(record));
  return Document({{"schema", kSchema}, {"profiles", std::move(list)}});
}

}  // namespace sharewell::report
