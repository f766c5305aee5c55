#include "stress/workers/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "stress/level.h"

namespace sharewell::stress {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

double SpareMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double kilobytes = 0;
  std::string unit;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<double>::infinity();
}

core::Result<HostMemory> HostMemory::Map(std::size_t bytes) {
  HostMemory memory;
  memory.size_ = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const double spare = SpareMemory();
  if (static_cast<double>(memory.size_) * 2 > spare) {
    return core::FailedError(
        "{} of memory are needed, and this machine has {} to spare; end something, or press less",
        ShowLevel(PressureKind::kLastLevelCache, static_cast<double>(memory.size_)),
        ShowLevel(PressureKind::kLastLevelCache, spare));
  }
  // Room to align, and a guard, so that the kernel joins no two of them in /proc/PID/maps.
  memory.mapped_size_ = memory.size_ + 2 * kHugePage;
  void* mapped = ::mmap(nullptr, memory.mapped_size_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return core::FailedError("cannot get {} bytes of memory: {}", memory.size_,
                             std::strerror(errno));
  }
  memory.mapped_ = mapped;
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  memory.data_ = static_cast<std::byte*>(mapped) + (kHugePage - address % kHugePage);
  if (::mprotect(memory.data_, memory.size_, PROT_READ | PROT_WRITE) != 0) {
    return core::FailedError("cannot get {} bytes of memory: {}", memory.size_,
                             std::strerror(errno));
  }
  ::madvise(memory.data_, memory.size_, MADV_HUGEPAGE);  // a kernel without them: small pages do
  ::madvise(memory.data_, memory.size_, MADV_DONTDUMP);
  return memory;
}

HostMemory::~HostMemory() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_size_);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(std::exchange(other.mapped_size_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_size_, other.mapped_size_);
  return *this;
}

}  // namespace sharewell::stress
