// KernelTable: launches in, one core::KernelFigure a kernel out. Every figure is the mean over the
// launches that have it, weighted by how long each took: a kernel that runs ten times as long says
// ten times as much.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/job/profile_record.h"

namespace sharewell::imports {

// What may be known of one launch, in the order of core::KernelFigure's members.
enum class KernelMetric : std::size_t {
  kSm,
  kMemory,
  kL2,
  kDram,
  kOccupancy,
  kDramRead,   // bytes a second
  kDramWrite,  // bytes a second
  kDramReadShare,
  kDramWriteShare,
};
inline constexpr std::size_t kKernelMetrics = 9;

struct Launch {
  std::optional<core::Seconds> time;
  std::array<std::optional<double>, kKernelMetrics> values;  // by KernelMetric; shares 0..1

  std::optional<double>& operator[](KernelMetric m) { return values[static_cast<std::size_t>(m)]; }
};

class KernelTable {
 public:
  void Add(std::string_view name, const Launch& launch);

  std::size_t launches() const { return launches_; }
  bool timed() const { return timed_ > 0; }  // some launch has a time
  std::size_t untimed() const { return launches_ - timed_; }
  // By time, longest first; where no launch has a time, by launches. Launches without a time weigh
  // nothing where others have one.
  std::vector<core::KernelFigure> Take() &&;

 private:
  struct Sum {
    double weighted = 0, weight = 0;  // by time
    double plain = 0, count = 0;      // each launch alike
  };
  struct Kernel {
    std::string name;
    std::int64_t launches = 0;
    double seconds = 0;
    std::array<Sum, kKernelMetrics> sums;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::vector<Kernel> kernels_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> by_name_;
  std::size_t launches_ = 0, timed_ = 0;
};

// All kernels as one: Ryu and Chun's table 1 row. Its name is empty; weights as above.
core::KernelFigure WholeOf(std::span<const core::KernelFigure> kernels);

// One figure a column of that row, named kernels_sm_ratio and so on: mean as above; least, most,
// median and p95 over the kernels, the last two weighted by time.
std::vector<core::Figure> FiguresOf(std::span<const core::KernelFigure> kernels);

}  // namespace sharewell::imports
