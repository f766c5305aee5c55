// HostMemory: large anonymous memory, on huge pages where the kernel gives them, with a guard
// behind it. Not there until it is touched.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace sharewell::stress {

class HostMemory {
 public:
  // Rounded up to 2 MiB. kFailed when the machine has less than twice that to spare.
  static core::Result<HostMemory> Map(std::size_t bytes);
  HostMemory() = default;
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
};

// What the machine could give without swapping, by /proc/meminfo; infinite: it does not say.
double SpareMemory();

}  // namespace sharewell::stress
