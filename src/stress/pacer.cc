#include "stress/pacer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharewell::stress {

void Pacer::SetRate(double rate, double piece, double now) {
  rate_ = rate;
  piece_ = piece;
  next_ = now;
}

double Pacer::Reserve(double now) {
  if (rate_ <= 0) return std::numeric_limits<double>::infinity();
  if (std::isinf(rate_)) return now;
  next_ = std::max(next_, now - kForgive);
  const double due = next_;
  next_ += piece_ / rate_;
  return due;
}

double Pacer::Lag(double now) const {
  return rate_ > 0 && std::isfinite(rate_) ? std::max(0.0, now - next_) : 0;
}

void SecondSeries::Restart(double now) {
  start_ = now;
  taken_ = 0;
  open_.clear();
}

void SecondSeries::Add(double from, double to, double amount) {
  // Relative to the first open second.
  double begin = from - start_ - taken_;
  double end = to - start_ - taken_;
  const double rate = end > begin ? amount / (end - begin) : 0;
  if (taken_ == 0) {
    if (end < 0) return;
    if (begin < 0) {
      amount -= rate * -begin;
      begin = 0;
    }
  }
  begin = std::max(0.0, begin);
  end = std::max(begin, end);
  const auto first = static_cast<std::size_t>(begin);
  const auto last = static_cast<std::size_t>(end);
  if (open_.size() <= last) open_.resize(last + 1, 0);
  for (std::size_t second = last; second > first; --second) {
    const double part =
        std::min(amount, rate * (end - std::max(begin, static_cast<double>(second))));
    open_[second] += part;
    end = static_cast<double>(second);
    amount -= part;
  }
  open_[first] += amount;
}

std::vector<double> SecondSeries::Take(double now) {
  std::vector<double> out;
  while (start_ + taken_ + 1 + kSettle <= now) {
    out.push_back(open_.empty() ? 0 : open_.front());
    if (!open_.empty()) open_.pop_front();
    ++taken_;
  }
  return out;
}

}  // namespace sharewell::stress
