#include "cli/commands/measure/stress_flags.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/args/values.h"
#include "core/result.h"
#include "platform/files/text.h"
#include "platform/process/cpu_set.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using stress::PressureKind;

constexpr std::uint64_t kMostGpuIndex = 1023;

template <class T>
tl::unexpected<core::Error> From(const std::string& flag, T error) {
  return tl::unexpected(std::move(error).Within(flag));
}

}  // namespace

void StressFlags::Add(CLI::App& app) {
  membw_.option =
      app.add_option("--membw", membw_.text, "memory traffic, read and written: 75% or 10GB/s")
          ->type_name("SHARE|RATE");
  llc_.option = app.add_option("--llc", llc_.text,
                               "a working set kept warm in the last-level cache: 50% or 32MB; 100% "
                               "when nothing is said")
                    ->type_name("SHARE|SIZE")
                    ->expected(0, 1);
  cpu_.option =
      app.add_option("--cpu", cpu_.text, "busy CPUs: 2, 1.5 or 50%")->type_name("SHARE|N");
  pcie_.option =
      app.add_option("--pcie", pcie_.text, "copies between the host and a GPU: 50% or 8GB/s")
          ->type_name("SHARE|RATE");
  disk_.option = app.add_option("--disk", disk_.text, "file traffic: 100MB/s or 25% (default 50%)")
                     ->type_name("SHARE|RATE")
                     ->expected(0, 1);
  app.add_option("--cpus", cpus_, "the CPUs to press from, as 0-3,8 (default all)")
      ->type_name("LIST");
  app.add_option("--gpu", gpu_, "the GPU of --pcie, as nvidia-smi counts them (default 0)")
      ->type_name("N");
  app.add_option("--pcie-direction", direction_, "of --pcie (default to-device)")
      ->type_name("to-device|to-host|both");
  app.add_option("--disk-path", disk_path_, "a folder on the disk of --disk (default .)")
      ->type_name("DIR");
  app.add_option("--disk-access", disk_access_, "of --disk (default read)")
      ->type_name("read|write");
  app.add_option("--capacity", capacities_,
                 "what 100 % is, as membw=20GB/s, instead of measuring it; may be repeated")
      ->type_name("KIND=LEVEL");
}

Result<std::vector<stress::PressureSpec>> StressFlags::Specs() const {
  stress::PressureSpec base;
  if (!cpus_.empty()) {
    auto cpus = platform::ParseCpus(cpus_);
    if (!cpus) return From("--cpus", cpus.error());
    base.cpus = std::move(*cpus);
  }
  RETURN_IF_ERROR(ReadPlaces(base));
  std::vector<stress::PressureSpec> specs;
  const std::pair<PressureKind, const Asked*> kinds[] = {{PressureKind::kMemoryBandwidth, &membw_},
                                                         {PressureKind::kLastLevelCache, &llc_},
                                                         {PressureKind::kCpu, &cpu_},
                                                         {PressureKind::kPcie, &pcie_},
                                                         {PressureKind::kDisk, &disk_}};
  for (const auto& [kind, asked] : kinds) {
    if (asked->option->count() == 0) continue;
    std::string text = asked->text;
    if (text.empty() && kind == PressureKind::kLastLevelCache) text = "100%";
    if (text.empty() && kind == PressureKind::kDisk) text = "50%";
    const auto level = stress::ParseLevel(kind, text);
    if (!level) return From(asked->option->get_name(), level.error());
    base.kind = kind;
    base.level = *level;
    specs.push_back(base);
  }
  if (specs.empty()) {
    return UsageError(
        "stress: no pressure is given; give --membw, --llc, --cpu, --pcie or --disk\n"
        "Try 'sharewell stress --help'.");
  }
  RETURN_IF_ERROR(ReadCapacities(specs));
  return specs;
}

Result<void> StressFlags::ReadPlaces(stress::PressureSpec& spec) const {
  if (pcie_.option->count() == 0 && !(gpu_.empty() && direction_.empty())) {
    return UsageError("{} says where --pcie presses, and there is no --pcie",
                      gpu_.empty() ? "--pcie-direction" : "--gpu");
  }
  if (disk_.option->count() == 0 && !(disk_path_.empty() && disk_access_.empty())) {
    return UsageError("{} says where --disk presses, and there is no --disk",
                      disk_path_.empty() ? "--disk-access" : "--disk-path");
  }
  if (!gpu_.empty()) {
    const auto gpu = ParseWhole("--gpu", gpu_, 0, kMostGpuIndex);
    RETURN_IF_ERROR(gpu);
    spec.gpu = static_cast<int>(*gpu);
  }
  if (direction_ == "to-host") {
    spec.direction = stress::PcieDirection::kToHost;
  } else if (direction_ == "both") {
    spec.direction = stress::PcieDirection::kBoth;
  } else if (!direction_.empty() && direction_ != "to-device") {
    return UsageError("--pcie-direction: {} is not allowed; give to-device, to-host or both",
                      platform::Quoted(direction_));
  }
  if (disk_access_ == "write") {
    spec.disk_access = stress::DiskAccess::kWrite;
  } else if (!disk_access_.empty() && disk_access_ != "read") {
    return UsageError("--disk-access: {} is not allowed; give read or write",
                      platform::Quoted(disk_access_));
  }
  if (!disk_path_.empty()) spec.disk_path = disk_path_;
  if (const char* library = std::getenv("SHAREWELL_LIBCUDA"); library != nullptr) {
    spec.cuda_library = library;
  }
  return {};
}

Result<void> StressFlags::ReadCapacities(std::vector<stress::PressureSpec>& specs) const {
  for (const std::string& text : capacities_) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return UsageError(
          "--capacity: {} is not allowed; give a kind and a level, as "
          "membw=20GB/s",
          platform::Quoted(text));
    }
    const auto kind = stress::KindOf(std::string_view(text).substr(0, equals));
    if (!kind) return From("--capacity", kind.error());
    const auto amount = stress::ParseAmount(*kind, std::string_view(text).substr(equals + 1));
    if (!amount) return From("--capacity", amount.error());
    if (*kind == PressureKind::kCpu) {
      return UsageError("--capacity: the number of CPUs is known; --cpus chooses among them");
    }
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.kind == *kind; });
    if (spec == specs.end()) {
      return UsageError("--capacity: there is no --{0} that {0} could be the capacity of",
                        stress::NameOf(*kind));
    }
    spec->capacity = stress::Capacity{*amount, std::nullopt, std::nullopt};
  }
  return {};
}

}  // namespace sharewell::cli
