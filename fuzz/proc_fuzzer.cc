// Any bytes as each of the texts of /proc, /sys and the IPMI tools. What comes out must be sane:
// finite, not negative, and pointing into the text.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collect/environment.h"
#include "collect/host/cgroup.h"
#include "collect/host/cpu.h"
#include "collect/host/disk.h"
#include "collect/host/memory.h"
#include "collect/host/network.h"
#include "collect/host/perf/perf_events.h"
#include "collect/host/power/ipmi.h"
#include "collect/host/power/rapl.h"
#include "collect/host/pressure.h"
#include "collect/host/process.h"
#include "must_hold.h"

namespace collect = sharewell::collect;

namespace {

using sharewell::fuzz::MustHold;

bool IsSane(double value) { return std::isfinite(value) && value >= 0; }

bool IsInside(std::string_view part, std::string_view text) {
  return part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size();
}

void Machine(std::string_view text) {
  collect::CpuStat stat;
  collect::ParseStat(text, stat);
  for (std::size_t i = 1; i < stat.cpus.size(); ++i) {
    MustHold(stat.cpus[i - 1].first < stat.cpus[i].first);
  }
  if (const auto load = collect::ParseLoadAverage(text)) MustHold(IsSane(load->one));
  for (const auto& [cpu, hertz] : collect::ParseCpuinfoHertz(text)) MustHold(IsSane(hertz));
  collect::ParseMeminfo(text, [](std::string_view, double bytes) { MustHold(IsSane(bytes)); });
  collect::ParseKeyedCounts(text, [](std::string_view, std::uint64_t) {});
  std::vector<collect::DiskCounts> disks;
  collect::ParseDiskstats(text, disks);
  for (const auto& disk : disks) {
    MustHold(IsInside(disk.name, text) && disk.name.find('/') == std::string_view::npos);
  }
  std::vector<collect::NetworkCounts> devices;
  collect::ParseNetDev(text, devices);
  for (const auto& device : devices) MustHold(IsInside(device.name, text));
  const auto pressure = collect::ParsePressure(text);
  MustHold(IsSane(pressure.some.value_or(0)) && IsSane(pressure.full.value_or(0)));
  (void)collect::PerfTableFor(collect::ParseProcessor(text));
  (void)collect::RaplDomainOf(text);
}

void Jobs(std::string_view text) {
  if (const auto stat = collect::ParseProcessStat(text)) MustHold(stat->pid > 0);
  MustHold(collect::ProcessName(text).size() <= text.size());
  (void)collect::ParseProcessIo(text);
  MustHold(IsSane(collect::ParsePssBytes(text).value_or(0)));
  if (const auto job = collect::JobOfCgroup(text)) {
    MustHold(!job->name.empty() && job->name.size() <= 80);
    // Empty: outside of what we may see.
    MustHold(job->folder.empty() || job->folder.starts_with("/sys/fs/cgroup/"));
    MustHold((job->folder + "/").find("/../") == std::string::npos);
    for (const char c : job->name) MustHold(c >= ' ' && c <= '~' && c != '"' && c != '\\');
  }
  MustHold(IsSane(collect::ParseCpuStatSeconds(text).value_or(0)));
  for (const auto& io : {collect::ParseIoStat(text), collect::ParseBlkio(text)}) {
    if (io) MustHold(IsSane(io->read) && IsSane(io->written));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Machine(text);
  Jobs(text);
  MustHold(IsSane(collect::ParseDcmiWatts(text).value_or(0)));
  for (const auto& reading : collect::ParseIpmiSensors(text))
    MustHold(std::isfinite(reading.value));
  const auto mount = collect::FindMount(text, "/data/set");
  MustHold(mount.device.find('/') == std::string::npos);
  for (const auto& [library, version] : collect::ParseMapsForFrameworks(text).libraries) {
    MustHold(version.size() <= 60);
  }
  MustHold(collect::PythonString(text, "__version__").size() <= 60);
  return 0;
}
