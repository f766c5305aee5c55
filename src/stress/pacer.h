// Pacer: when each piece of work is due, so that the pieces of any second add up to the rate.
// SecondSeries: what was done in each second. Both are plain arithmetic over the times passed in
// (seconds of a steady clock), and neither locks.
#pragma once

#include <deque>
#include <vector>

namespace sharewell::stress {

// The schedule is absolute: a piece that comes late does not push the later ones back, so the mean
// recovers by itself. What is more than kForgive late is given up, or a machine that was suspended
// would have hours to catch up on.
class Pacer {
 public:
  static constexpr double kForgive = 0.25;  // seconds

  // From `now` on: `rate` a second in pieces of `piece`. Infinite: always due; 0: never.
  // REQUIRES: rate >= 0, piece > 0.
  void SetRate(double rate, double piece, double now);
  // The time at which the next piece is due, perhaps past; that piece is then the caller's.
  double Reserve(double now);
  double Lag(double now) const;  // how late the next piece is; 0 when it is not
  double piece() const { return piece_; }

 private:
  double rate_ = 0;
  double piece_ = 1;
  double next_ = 0;
};

class SecondSeries {
 public:
  // A piece may end this long after its second did and still be counted in it.
  static constexpr double kSettle = 0.1;  // seconds

  void Restart(double now);
  // Done evenly between the two times; what lies before the start is left out, and what belongs to
  // a second that was taken already goes to the first one that was not.
  void Add(double from, double to, double amount);
  // The seconds that ended at least kSettle before `now` and were not taken before.
  std::vector<double> Take(double now);

 private:
  double start_ = 0;
  double taken_ = 0;  // seconds
  std::deque<double> open_;
};

}  // namespace sharewell::stress
