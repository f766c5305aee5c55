// OpenGpus: the GPUs of one model that have co-location but room for more, by number and by room.
// The roomiest few are kept at hand: a plan asks for them with every job that it tries, and changes
// one or two in between.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "core/ids.h"
#include "core/numbers/max_tree.h"

namespace sharewell::policy {

class OpenGpus {
 public:
  static constexpr double kClosed = -std::numeric_limits<double>::infinity();

  OpenGpus() = default;
  explicit OpenGpus(std::size_t gpus) : room_(gpus) {}

  double room(core::GpuId gpu) const { return room_[gpu.index()]; }
  void Set(core::GpuId gpu, double room);  // kClosed: it is not among them any more
  // The lowest GPU from `from` on that has so much room; none: MaxTree::kNone.
  std::size_t First(double room, std::size_t from) const { return room_.First(room, from); }
  // At most `count`, roomiest first, ties by number.
  std::vector<core::GpuId> Roomiest(std::size_t count) const;

 private:
  struct Entry {
    double room = 0;
    core::GpuId gpu;
    bool operator<(const Entry& other) const {  // comes first
      return room != other.room ? room > other.room : gpu < other.gpu;
    }
  };

  core::MaxTree room_;
  // The first of all, in order, as many as were asked for and not taken since; `all_`: nobody else
  // is open.
  mutable std::vector<Entry> first_;
  mutable bool all_ = false;
};

}  // namespace sharewell::policy
