#include "stress/kinds.h"

#include <fmt/format.h>

#include <array>

#include "core/result.h"
#include "stress/cpu_caches.h"
#include "stress/workers/cpu_worker.h"
#include "stress/workers/disk_worker.h"
#include "stress/workers/pcie_worker.h"
#include "stress/workers/stream_copy.h"

namespace sharewell::stress {
namespace {

using core::Result;

constexpr double kTouchesASecond = 20;  // of each line of a working set

Result<MadeKind> MakeMemory(const std::vector<int>& cpus) {
  const auto domains = CacheDomains(cpus);
  auto workers = MemoryWorkers(domains);
  RETURN_IF_ERROR(workers);
  return MadeKind{
      std::move(*workers), nullptr, std::nullopt, 1,
      fmt::format("copies within {}, read and written bytes counted",
                  ShowLevel(PressureKind::kLastLevelCache, MemoryBufferBytes(domains)))};
}

Result<MadeKind> MakeCache(const PressureSpec& spec, const std::vector<int>& cpus) {
  auto domains = CacheDomains(cpus);
  if (!TotalCache(domains)) {
    // The machine does not say: what the caller says, as one cache.
    double bytes = 0;
    if (spec.capacity) bytes = spec.capacity->value;
    if (bytes == 0 && spec.level.basis == Level::Basis::kAbsolute) bytes = spec.level.value;
    if (bytes == 0) {
      return tl::unexpected(core::Error{
          core::ErrorKind::kAbsent,
          "this machine does not say how large its last-level cache is "
          "(/sys/devices/system/cpu/cpu0/cache); give a size (--llc 32MB), or --capacity "
          "llc=32MB"});
    }
    domains = {{cpus, bytes}};
  } else if (spec.capacity) {
    const double scale = spec.capacity->value / *TotalCache(domains);
    for (CacheDomain& domain : domains) *domain.bytes *= scale;
  }
  const double total = *TotalCache(domains);
  auto made = CacheWorkers(domains);
  RETURN_IF_ERROR(made);
  return MadeKind{std::move(made->workers), made->load, total, kTouchesASecond,
                  fmt::format("each line of the working set touched {} times a second, {} cache{}",
                              kTouchesASecond, domains.size(), domains.size() == 1 ? "" : "s")};
}

Result<MadeKind> MakeDisk(const PressureSpec& spec, const std::vector<int>& cpus) {
  auto made = DiskWorkers({spec.disk_path, spec.disk_access == DiskAccess::kWrite, cpus});
  RETURN_IF_ERROR(made);
  return MadeKind{
      std::move(made->workers), nullptr, std::nullopt, 1,
      fmt::format("{} of {}, {}", spec.disk_access == DiskAccess::kWrite ? "writes" : "reads",
                  ShowLevel(PressureKind::kLastLevelCache, made->file_bytes),
                  made->direct ? "past the page cache (O_DIRECT)"
                               : "through the page cache, dropped at once")};
}

Result<MadeKind> MakePcie(const PressureSpec& spec, const std::vector<int>& cpus) {
  auto made = PcieWorkers(spec.cuda_library, spec.gpu, spec.direction, cpus);
  RETURN_IF_ERROR(made);
  constexpr std::array kWays = {"to the device", "to the host", "both ways"};
  return MadeKind{
      std::move(made->workers), nullptr, std::nullopt, 1,
      fmt::format("GPU {}, {} at {}, {}", spec.gpu, made->gpu.name, made->gpu.pci_bus_id,
                  kWays[static_cast<std::size_t>(spec.direction)])};
}

}  // namespace

Pieces PiecesOf(PressureKind kind) {
  constexpr double kMiB = 1 << 20;
  switch (kind) {
    case PressureKind::kMemoryBandwidth:
      return {0.0005, kCopyQuantum, 8 * kMiB, 40 * kCopyQuantum};
    case PressureKind::kLastLevelCache:
      return {0.001, kLine, 8 * kMiB, 64 * 1024};
    case PressureKind::kCpu:
      return {0.01, 0.0001, 0.005, 0.01};
    case PressureKind::kPcie:
      return {0.001, 4096, kPcieMostPiece, 1e6};
    case PressureKind::kDisk:
      break;
  }
  return {0.005, kDiskBlock, kMiB, 40 * kDiskBlock};
}

Result<MadeKind> MakeKind(const PressureSpec& spec) {
  const auto cpus = ChooseCpus(spec.cpus);
  RETURN_IF_ERROR(cpus);
  switch (spec.kind) {
    case PressureKind::kMemoryBandwidth:
      return MakeMemory(*cpus);
    case PressureKind::kLastLevelCache:
      return MakeCache(spec, *cpus);
    case PressureKind::kPcie:
      return MakePcie(spec, *cpus);
    case PressureKind::kDisk:
      return MakeDisk(spec, *cpus);
    case PressureKind::kCpu:
      break;
  }
  return MadeKind{
      CpuWorkers(*cpus), nullptr, static_cast<double>(cpus->size()), 1,
      fmt::format("busy loops on {} CPU{}", cpus->size(), cpus->size() == 1 ? "" : "s")};
}

}  // namespace sharewell::stress
