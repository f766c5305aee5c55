// A counter that only rises, from a source that wraps or starts again.
#pragma once

#include <cstdint>
#include <optional>

namespace sharewell::collect {

class Rising {
 public:
  // `modulus`: the number of values the source has; it follows its largest with 0. 0: it does not
  // wrap. The total begins with the first value seen.
  double From(std::uint64_t value, std::uint64_t modulus) {
    if (!last_) {
      total_ = static_cast<double>(value);
    } else if (value >= *last_) {
      total_ += static_cast<double>(value - *last_);
    } else if (modulus > *last_ && *last_ - value > modulus / 2) {
      total_ += static_cast<double>(modulus - *last_) + static_cast<double>(value);
    } else {
      total_ += static_cast<double>(value);  // it was set to 0 in between
    }
    last_ = value;
    return total_;
  }

 private:
  std::optional<std::uint64_t> last_;
  double total_ = 0;
};

}  // namespace sharewell::collect
