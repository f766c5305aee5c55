#include "report/measure/profiles_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/measure/series.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::ProfileRecord;

constexpr double kMebibyte = 1024 * 1024;

template <class Quantity>
std::optional<double> Plain(const std::optional<Quantity>& value, double unit = 1) {
  if (!value) return std::nullopt;
  if constexpr (std::is_same_v<Quantity, double>) {
    return *value * unit;
  } else {
    return value->value * unit;
  }
}

// A workload without a name is the profile's own.
core::Workload WorkloadOf(const ProfileRecord& record) {
  core::Workload workload = record.profile.workload;
  if (workload.name.empty()) workload.name = record.name;
  return workload;
}

std::string CurveText(const core::CpuCurve& curve) {
  std::string text;
  for (const auto& [cores, share] : curve) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ";", cores, share);
  }
  return text;
}

std::string WholeOrEmpty(int value) { return value == 0 ? "" : fmt::format("{}", value); }

}  // namespace

std::optional<std::string> FactOf(const ProfileRecord& record, std::string_view name) {
  for (const auto& [key, value] : record.environment) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string ProfilesTable(const std::vector<ProfileRecord>& records) {
  Table table({{"id", Align::kRight},
               {"name", Align::kLeft},
               {"batch", Align::kRight},
               {"gpu", Align::kLeft},
               {"steps/s", Align::kRight},
               {"GPU busy", Align::kRight},
               {"GPU mem", Align::kRight},
               {"cores", Align::kRight},
               {"made (UTC)", Align::kLeft},
               {"by", Align::kLeft}});
  for (const ProfileRecord& record : records) {
    const core::Profile& p = record.profile;
    table.Row({fmt::format("{}", record.id), record.name,
               p.workload.batch == 0 ? kUnknown : fmt::format("{}", p.workload.batch),
               p.gpu.empty() ? kUnknown : p.gpu,
               Or(p.steps_per_second, [](double v) { return Number(v, v < 10 ? 2 : 1); }),
               Or(p.busy, Percent), p.gpu_memory ? Size(*p.gpu_memory) : kUnknown,
               Or(p.cpu_cores, [](double v) { return Number(v, 2); }), UtcTime(record.created),
               record.user.empty() ? record.source
                                   : fmt::format("{} of {}", record.source, record.user)});
  }
  return table.Text();
}

std::string ProfilesListJson(const std::vector<ProfileRecord>& records) {
  return JsonReport([&](json::Writer& out) {
    out.List("profiles", records, [&](const ProfileRecord& record) {
      const core::Profile& p = record.profile;
      const core::Workload workload = WorkloadOf(record);
      out.Object([&] {
        out.Field("id", record.id);
        out.Field("name", record.name);
        out.Field("created_unix_ms", record.created);
        out.Field("source", record.source);
        out.TextOrNull("user", record.user);
        out.Field("workload", workload.name);
        out.Field("batch", ValueIf(workload.batch != 0, workload.batch));
        out.TextOrNull("precision", workload.precision);
        out.Field("workers", workload.workers);
        out.TextOrNull("gpu", p.gpu);
        out.Field("steps_per_second", p.steps_per_second);
        out.Field("gpu_busy_ratio", p.busy);
        out.Field("gpu_sm_ratio", p.sm);
        out.Field("gpu_dram_ratio", p.dram);
        out.Field("gpu_memory_bytes", p.gpu_memory);
        out.Field("cpu_cores", p.cpu_cores);
        out.Field("host_memory_bytes", p.host_memory);
        out.Field("power_watts", p.power);
        out.Field("settled", record.settled);
        if (!p.cpu_curve.empty()) out.Field("cpu_curve", p.cpu_curve);
      });
    });
  });
}

ProfilesCsvText ProfilesCsv(const std::vector<ProfileRecord>& records) {
  ProfilesCsvText out;
  // A file has one profile for a workload on a GPU: the newest.
  std::map<std::pair<core::Workload, std::string>, const ProfileRecord*> newest;
  for (const ProfileRecord& record : records) {
    if (record.profile.gpu.empty()) {
      ++out.without_gpu;
      continue;
    }
    auto& seat = newest[{WorkloadOf(record), record.profile.gpu}];
    out.older += seat != nullptr ? 1 : 0;
    if (seat == nullptr ||
        std::pair(seat->created, seat->id) <= std::pair(record.created, record.id)) {
      seat = &record;
    }
  }
  CsvText csv(
      "workload,gpu,batch,precision,workers,model,steps_per_s,gpu_util,gpm_sm,gpm_dram,"
      "mem_used_bytes,pcie_rx_mib_s,cpu_cores,host_rss_bytes,host_bandwidth_gbs,power_w,"
      "kernels_per_step,kernel_us,cpu_curve");
  for (const auto& [key, record] : newest) {
    const core::Workload& workload = key.first;
    const core::Profile& p = record->profile;
    csv.Field(workload.name).Field(p.gpu).Field(WholeOrEmpty(workload.batch));
    csv.Field(workload.precision).Field(WholeOrEmpty(workload.workers));
    csv.Field(FactOf(*record, "model").value_or(""));
    csv.Field(p.steps_per_second).Field(Plain(p.busy, 100)).Field(Plain(p.sm, 100));
    csv.Field(Plain(p.dram, 100)).Field(Plain(p.gpu_memory)).Field(Plain(p.pcie, 1 / kMebibyte));
    csv.Field(p.cpu_cores).Field(Plain(p.host_memory)).Field(Plain(p.host_bandwidth, 1e-9));
    csv.Field(Plain(p.power)).Field(p.kernels).Field(Plain(p.kernel_time, 1e6));
    csv.Field(CurveText(p.cpu_curve));
    csv.EndRow();
  }
  out.rows = newest.size();
  out.csv = std::move(csv).Take();
  return out;
}

}  // namespace sharewell::report
