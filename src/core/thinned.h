// Thinned: what was seen over a life of any length, as points in order of time, in bounded memory:
// two points become one when there are too many, so that a life of a month has as many as one of
// four minutes. A point has the times `from` and `to`, and `Join` makes one of two that follow each
// other. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/metric.h"

namespace sharewell::core {

inline constexpr UnixMillis kLatestTime = UnixMillis{1} << 52;  // beyond it a double is not exact

inline bool IsStretch(UnixMillis from, UnixMillis to) {
  return from >= 0 && from <= to && to <= kLatestTime;
}

template <class Point>
class Thinned {
 public:
  static constexpr std::size_t kMostPoints = 240;

  Thinned() = default;
  // As they were kept. REQUIRES: at most kMostPoints, in order of time.
  explicit Thinned(std::vector<Point> points) : points_(std::move(points)) {}

  // REQUIRES: it does not begin before the last one ends.
  void Add(const Point& point) {
    if (Joins(points_, point)) return Join(points_.back(), point);
    points_.push_back(point);
    while (points_.size() > kMostPoints) {
      width_ *= 2;
      std::vector<Point> fewer;
      for (const Point& one : points_) {
        Joins(fewer, one) ? Join(fewer.back(), one) : fewer.push_back(one);
      }
      points_ = std::move(fewer);
    }
  }

  const std::vector<Point>& points() const { return points_; }

  friend bool operator==(const Thinned&, const Thinned&) = default;

 private:
  bool Joins(const std::vector<Point>& before, const Point& point) const {
    return !before.empty() && point.to - before.back().from <= width_;
  }

  std::vector<Point> points_;
  UnixMillis width_ = 1000;  // no point that was made of several is longer
};

}  // namespace sharewell::core
