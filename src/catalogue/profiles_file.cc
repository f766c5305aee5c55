#include "catalogue/profiles_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "catalogue/workload_columns.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"

namespace sharewell::catalogue {
namespace {

using Column = platform::CsvReader::Column;

constexpr double kMiB = 1024 * 1024;
constexpr platform::Range kBytes{0, 1e18};

// Samplers round: a little above 100 is 100.
std::optional<core::Ratio> Share(platform::CsvReader& csv, Column column) {
  const auto percent = csv.OptionalNumber(column, {0, 100.5});
  if (!percent) return std::nullopt;
  return std::min(*percent / 100, 1.0);
}

template <class Quantity>
std::optional<Quantity> Measured(platform::CsvReader& csv, Column column, platform::Range range,
                                 double unit = 1) {
  const auto value = csv.OptionalNumber(column, range);
  if (!value) return std::nullopt;
  return Quantity(*value * unit);
}

std::optional<core::BytesPerSecond> ReadPcie(platform::CsvReader& csv, Column tx, Column rx) {
  const auto sent = csv.OptionalNumber(tx, {0, 1e9});
  const auto received = csv.OptionalNumber(rx, {0, 1e9});
  if (!sent && !received) return std::nullopt;
  return core::BytesPerSecond((sent.value_or(0) + received.value_or(0)) * kMiB);
}

}  // namespace

core::CpuCurve ReadCpuCurve(platform::CsvReader& csv, Column column) {
  core::CpuCurve curve;
  for (const auto point : platform::SplitList(csv.Text(column), ';')) {
    const auto colon = point.find(':');
    // A one-row CSV, so that the numbers obey the same rules as everywhere.
    const std::vector<std::string> names{"cores", "throughput"};
    platform::CsvReader pair(point, "", platform::CsvOptions{':', false, names});
    if (colon == std::string_view::npos || !pair.Next()) {
      csv.Fail(column, "is not a list like 1:100;2:180 (cores:throughput)");
      return {};
    }
    const double cores = pair.Number(Column{0}, {0, 1e6, true});
    const double throughput = pair.Number(Column{1}, {0, 1e12, true});
    if (!pair.ok() ||
        (!curve.empty() && (cores <= curve.back().first || throughput < curve.back().second))) {
      csv.Fail(column, "must have positive numbers, cores rising and throughput not falling");
      return {};
    }
    curve.emplace_back(cores, throughput);
  }
  if (curve.empty()) return curve;
  const double full = curve.back().second;
  for (auto& [cores, share] : curve) share /= full;
  return curve;
}

core::Result<std::vector<core::Profile>> ReadProfiles(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ReadProfilesText(file->text(), path);
}

core::Result<std::vector<core::Profile>> ReadProfilesText(std::string_view text,
                                                          const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto workload_name = csv.Require("workload");
  const auto gpu = csv.Require("gpu");
  const auto workload = WorkloadColumns::Find(csv);
  const auto steps = csv.Find("steps_per_s");
  const auto busy = csv.Find("gpu_util");
  const auto sm = csv.Find("gpm_sm");
  const auto dram = csv.Find("gpm_dram");
  const auto gpu_memory = csv.Find("mem_used_bytes");
  const auto pcie_tx = csv.Find("pcie_tx_mib_s");
  const auto pcie_rx = csv.Find("pcie_rx_mib_s");
  const auto cpu_cores = csv.Find("cpu_cores");
  const auto host_memory = csv.Find("host_rss_bytes");
  const auto host_bandwidth = csv.Find("host_bandwidth_gbs");
  const auto power = csv.Find("power_w");
  const auto kernels = csv.Find("kernels_per_step");
  const auto kernel_time = csv.Find("kernel_us");
  const auto cpu_curve = csv.Find("cpu_curve");

  std::vector<core::Profile> profiles;
  std::set<std::pair<core::Workload, std::string>> seen;
  while (csv.Next()) {
    core::Profile profile;
    csv.RequiredText(workload_name);
    profile.workload = workload.Read(csv);
    profile.gpu = csv.RequiredText(gpu);
    profile.steps_per_second = csv.OptionalNumber(steps, {0, 1e12, true});
    profile.busy = Share(csv, busy);
    profile.sm = Share(csv, sm);
    profile.dram = Share(csv, dram);
    profile.gpu_memory = Measured<core::Bytes>(csv, gpu_memory, kBytes);
    profile.pcie = ReadPcie(csv, pcie_tx, pcie_rx);
    profile.cpu_cores = csv.OptionalNumber(cpu_cores, {0, 1e6});
    profile.host_memory = Measured<core::Bytes>(csv, host_memory, kBytes);
    profile.host_bandwidth = Measured<core::BytesPerSecond>(csv, host_bandwidth, {0, 1e6}, 1e9);
    profile.power = Measured<core::Watts>(csv, power, {0, 1e5});
    profile.kernels = csv.OptionalNumber(kernels, {0, 1e12, true});
    profile.kernel_time = Measured<core::Seconds>(csv, kernel_time, {0, 1e12, true}, 1e-6);
    profile.cpu_curve = ReadCpuCurve(csv, cpu_curve);
    if (csv.ok() && !seen.emplace(profile.workload, profile.gpu).second) {
      csv.Fail(workload_name,
               "has a profile above with the same batch, precision, workers and gpu; remove one");
    }
    profiles.push_back(std::move(profile));
  }
  if (!csv.ok()) return csv.error();
  if (profiles.empty()) return core::UsageError("{}: holds no profile below its header", name);
  return profiles;
}

}  // namespace sharewell::catalogue
