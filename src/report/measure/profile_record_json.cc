#include <algorithm>
#include <optional>

#include "report/measure/profile_record.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using core::Figure;
using core::ProfileRecord;
using json::Writer;

void WriteFigure(Writer& out, const Figure& figure) {
  out.Object([&] {
    out.Field("metric", figure.metric);
    out.Field("instance", figure.instance);
    out.Field("unit", figure.unit);
    out.Field("mean", figure.mean);
    out.Field("least", figure.least);
    out.Field("most", figure.most);
    out.Field("median", figure.median);
    out.Field("p95", figure.p95);
    out.Field("deviation", figure.deviation);
    out.Field("readings", figure.readings);
  });
}

void WriteKernel(Writer& out, const core::KernelFigure& kernel) {
  out.Object([&] {
    out.Field("name", kernel.name);
    out.Field("launches", kernel.launches);
    out.Field("seconds", kernel.time);
    out.Field("sm_ratio", kernel.sm);
    out.Field("memory_ratio", kernel.memory);
    out.Field("l2_ratio", kernel.l2);
    out.Field("dram_ratio", kernel.dram);
    out.Field("occupancy_ratio", kernel.occupancy);
    out.Field("dram_read_bytes_per_second", kernel.dram_read);
    out.Field("dram_write_bytes_per_second", kernel.dram_write);
    out.Field("dram_read_ratio", kernel.dram_read_share);
    out.Field("dram_write_ratio", kernel.dram_write_share);
  });
}

void WriteProfile(Writer& out, const ProfileRecord& record) {
  const core::Profile& profile = record.profile;
  const auto cpu =
      std::find_if(record.figures.begin(), record.figures.end(),
                   [](const Figure& figure) { return figure.metric == "cpu_busy_ratio"; });
  const bool both = profile.busy && cpu != record.figures.end() && cpu->mean > 0;
  out.Field("id", ValueIf(record.id > 0, record.id));
  out.Field("name", record.name);
  out.Field("source", record.source);
  out.TextOrNull("user", record.user);
  out.Field("created_unix_ms", record.created);
  out.Field("workload", profile.workload.name);
  out.Field("batch", ValueIf(profile.workload.batch > 0, profile.workload.batch));
  out.TextOrNull("precision", profile.workload.precision);
  out.Field("workers", profile.workload.workers);
  out.TextOrNull("gpu", profile.gpu);
  out.Field("command", record.command);
  out.Field("exit_code", record.exit_code);
  out.Field("steps_per_second", profile.steps_per_second);
  out.Field("throughput_source", record.throughput_source);
  out.Field("gpu_util", profile.busy);
  out.Field("sm_ratio", profile.sm);
  out.Field("dram_ratio", profile.dram);
  out.Field("gpu_memory_bytes", profile.gpu_memory);
  out.Field("pcie_bytes_per_second", profile.pcie);
  out.Field("power_watts", profile.power);
  out.Field("kernel_seconds", profile.kernel_time);
  out.Field("kernels_per_step", profile.kernels);
  out.Field("cpu_cores", profile.cpu_cores);
  out.Field("host_memory_bytes", profile.host_memory);
  out.Field("host_bandwidth_bytes_per_second", profile.host_bandwidth);
  out.Field("gpu_over_cpu_ratio", both ? std::optional(*profile.busy / cpu->mean) : std::nullopt);
  out.TextOrNull("bound_by", record.bound_by);
  out.Field("warmup_seconds", record.warmup);
  out.Field("window_seconds", record.window);
  out.Field("repeats", record.repeats);
  out.Field("settled", record.settled);
  out.Field("uncertainty_ratio", record.uncertainty);
}

void WriteRecord(Writer& out, const ProfileRecord& record) {
  out.Object([&] {
    WriteProfile(out, record);
    out.Object("environment", [&] {
      for (const auto& [name, value] : record.environment) out.Field(name, value);
    });
    out.Field("notes", record.notes);
    out.List("cpu_curve", record.profile.cpu_curve, [&](const auto& point) {
      out.Object([&] {
        out.Field("cores", point.first);
        out.Field("throughput_ratio", point.second);
      });
    });
    out.List("figures", record.figures, [&](const Figure& figure) { WriteFigure(out, figure); });
    out.List("kernels", record.kernels,
             [&](const core::KernelFigure& kernel) { WriteKernel(out, kernel); });
  });
}

}  // namespace

std::string ProfileRecordsJson(const std::vector<ProfileRecord>& records) {
  return JsonReport([&](Writer& out) {
    out.List("profiles", records, [&](const ProfileRecord& record) { WriteRecord(out, record); });
  });
}

}  // namespace sharewell::report
