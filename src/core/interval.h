// A figure that is not known exactly: Interval, its median and bounds, and Estimated, the same with
// whom it is from. T has the figure's unit: double, Ratio, Seconds, Bytes.
#pragma once

#include <limits>
#include <optional>

#include "core/source.h"

namespace sharewell::core {

// Nine in ten lie from `low` to `high`. A bound that is not known is infinite.
template <class T = double>
struct Interval {
  T median{};
  T low{};
  T high{};

  static constexpr Interval Unbounded(T median) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {median, T(-kInfinity), T(kInfinity)};
  }
  constexpr std::optional<T> KnownLow() const {
    return low > Unbounded({}).low ? std::optional(low) : std::nullopt;
  }
  constexpr std::optional<T> KnownHigh() const {
    return high < Unbounded({}).high ? std::optional(high) : std::nullopt;
  }
  constexpr bool IsBounded() const { return KnownLow() && KnownHigh(); }

  friend bool operator==(const Interval&, const Interval&) = default;
};

template <class T = double>
struct Estimated : Interval<T> {
  Source source = Source::kPredicted;

  friend bool operator==(const Estimated&, const Estimated&) = default;
};

// An Interval or Estimated with `change(x)` of its median and bounds. REQUIRES that it rises with
// x.
template <class Figure, class Change>
Figure Changed(Figure figure, const Change& change) {
  figure.median = change(figure.median);
  figure.low = change(figure.low);
  figure.high = change(figure.high);
  return figure;
}

}  // namespace sharewell::core
