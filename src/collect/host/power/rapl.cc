#include "collect/host/power/rapl.h"

#include <cerrno>
#include <map>

#include "collect/host/files.h"
#include "collect/host/rising.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

constexpr std::string_view kPowercap = "/sys/class/powercap";

class RaplCollector final : public Collector {
 public:
  explicit RaplCollector(const std::string& root) : files_(root) { FindZones(); }

  std::string_view Name() const override { return "rapl"; }
  std::string_view Describe() const override {
    return "energy of processor packages, cores and memory (RAPL)";
  }

  Health Probe() override {
    if (zones_.empty()) FindZones();
    int readable = 0, error = 0;
    for (Zone& zone : zones_) {
      if (files_.Read(zone.energy)) {
        ++readable;
      } else {
        error = files_.error();
      }
    }
    return RaplHealth(static_cast<int>(zones_.size()), readable, error,
                      {.virtual_machine = IsVirtualMachine(files_), .x86 = IsX86(files_)});
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    if (zones_.empty()) unread.Add(kPowercap, ENOENT);
    for (Zone& zone : zones_) {
      auto text = files_.Read(zone.energy);
      if (!text) {
        unread.Add(zone.energy.path(), files_.error());
        continue;
      }
      const auto microjoules = TakeUnsigned(*text);
      if (!microjoules) {
        unread.Add(zone.energy.path(), "it is no number");
        continue;
      }
      if (!zone.first) zone.first = *microjoules;
      const double total = zone.total.From(*microjoules, zone.range);
      Put(out, *zone.metric, (total - static_cast<double>(*zone.first)) * 1e-6, zone.index);
    }
    return unread.Outcome();
  }

 private:
  struct Zone {
    const core::Metric* metric = nullptr;
    std::string index;
    KeptFile energy;
    std::uint64_t range = 0;  // where it wraps; 0: not said
    std::optional<std::uint64_t> first = {};
    Rising total = {};
  };

  // "intel-rapl:0" is a package (or the board), "intel-rapl:0:1" a part of it. The same counters
  // stand under intel-rapl-mmio a second time on some machines.
  void FindZones() {
    zones_.clear();
    std::map<std::string, std::string> indexes;  // of the packages, by folder
    for (const std::string& name : files_.Names(kPowercap)) {
      if (!name.starts_with("intel-rapl:")) continue;
      const std::string folder = fmt::format("{}/{}", kPowercap, name);
      const auto said = files_.Line(folder + "/name");
      auto domain = said ? RaplDomainOf(*said) : std::nullopt;
      if (!domain) continue;
      const auto colon = name.rfind(':');
      if (domain->index.empty()) {
        const auto parent = indexes.find(name.substr(0, colon));
        domain->index = parent != indexes.end() ? parent->second : name.substr(colon + 1);
      } else {
        indexes[name] = domain->index;
      }
      const std::uint64_t range = files_.Number(folder + "/max_energy_range_uj").value_or(0);
      zones_.push_back({domain->metric, domain->index, KeptFile(folder + "/energy_uj"), range});
    }
  }

  HostFiles files_;
  std::vector<Zone> zones_;
};

}  // namespace

std::optional<RaplDomain> RaplDomainOf(std::string_view name) {
  constexpr std::string_view kPackage = "package-";
  if (name.starts_with(kPackage) && name.size() > kPackage.size()) {
    return RaplDomain{&kRaplPackageJoules, std::string(name.substr(kPackage.size()))};
  }
  if (name == "core") return RaplDomain{&kRaplCoreJoules, ""};
  if (name == "uncore") return RaplDomain{&kRaplUncoreJoules, ""};
  if (name == "dram") return RaplDomain{&kRaplDramJoules, ""};
  if (name == "psys") return RaplDomain{&kRaplPlatformJoules, ""};
  return std::nullopt;
}

Health RaplHealth(int domains, int readable, int error, RaplMachine machine) {
  if (domains == 0 && machine.virtual_machine) {
    return {Health::State::kAbsent,
            "this is a virtual machine, and its host does not pass the energy counters on", ""};
  }
  if (domains == 0 && !machine.x86) {
    return {Health::State::kAbsent,
            "RAPL energy counters are of Intel's and AMD's processors; this machine has another",
            ""};
  }
  if (domains == 0) {
    return {Health::State::kAbsent,
            "/sys/class/powercap has no RAPL domain: the driver is not loaded, or the processor "
            "has no energy counters",
            "sudo modprobe intel_rapl_msr"};
  }
  if (readable == domains) {
    return {Health::State::kWorks, fmt::format("{} energy domains", domains), ""};
  }
  const bool permission = error == EACCES || error == EPERM;
  return {readable > 0 ? Health::State::kPartly : Health::State::kAbsent,
          fmt::format(
              "{} of {} energy domains cannot be read: {}", domains - readable, domains,
              permission ? "only root may, since the PLATYPUS attack of 2020" : ErrorText(error)),
          permission ? "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj" : ""};
}

std::unique_ptr<Collector> NewRaplCollector(const std::string& root) {
  return std::make_unique<RaplCollector>(root);
}

}  // namespace sharewell::collect
