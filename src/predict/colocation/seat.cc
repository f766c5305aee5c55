#include "predict/colocation/seat.h"

#include <algorithm>
#include <cmath>

#include "core/result.h"
#include "predict/learn/gaussian/kernel.h"

namespace sharewell::predict {
namespace {

// How far apart two seats are when they stop being alike.
constexpr double kFull = 0.3;
constexpr double kNeighbours = 1;
constexpr double kShare = 0.3;

// How much of the error is the job's whatever its neighbours, the job's in such a neighbourhood,
// that of named neighbours, and that of a named job beside named neighbours.
constexpr double kOfJob = 0.5;
constexpr double kOfBoth = 0.5;
constexpr double kOfNamedNeighbours = 0.25;
constexpr double kOfNamedBoth = 1;

double Near(double square) { return learn::Alike(learn::Kernel::kMatern52, square); }

double Square(double distance, double length) { return (distance / length) * (distance / length); }

// 1: the same workload. Fewer or more in a batch, or another precision, is the less the same; the
// number of loader workers is told by what the loader does.
double SameName(const core::Workload& a, const core::Workload& b) {
  if (a.name.empty() || a.name != b.name) return 0;
  if (a.batch == b.batch && a.precision == b.precision) return 1;
  const double doublings =
      std::abs(std::log2(std::max(1, a.batch)) - std::log2(std::max(1, b.batch)));
  return learn::PortableExp(-(doublings + (a.precision == b.precision ? 0 : 1)) / 2);
}

double SumOfSame(const std::vector<core::Workload>& a, const std::vector<core::Workload>& b) {
  double sum = 0;
  for (const core::Workload& x : a) {
    for (const core::Workload& y : b) sum += SameName(x, y);
  }
  return sum;
}

double SameNames(const std::vector<core::Workload>& a, const std::vector<core::Workload>& b) {
  const double between = SumOfSame(a, b);
  return between == 0 ? 0 : between / std::sqrt(SumOfSame(a, a) * SumOfSame(b, b));
}

}  // namespace

Seat SeatOf(std::span<const Resident> residents, std::size_t i) {
  SHAREWELL_CHECK(i < residents.size());
  Seat seat;
  seat.job = residents[i].workload;
  seat.share = residents[i].sm_share;
  double idle = 1;
  for (std::size_t j = 0; j < residents.size(); ++j) {
    if (j == i) continue;
    idle *= 1 - std::min(residents[j].demand.sm, residents[j].sm_share);
    seat.neighbours.push_back(residents[j].workload);
  }
  seat.full = 1 - idle;
  return seat;
}

double Prior() { return kOfJob + kOfBoth + kOfNamedNeighbours + kOfNamedBoth; }

double Alike(const Seat& a, const Seat& b) {
  const double number =
      static_cast<double>(a.neighbours.size()) - static_cast<double>(b.neighbours.size());
  const double same = SameName(a.job, b.job);
  const double neighbours = Near(Square(a.full - b.full, kFull) + Square(number, kNeighbours) +
                                 Square(a.share - b.share, kShare));
  const double named = SameNames(a.neighbours, b.neighbours);
  return same * (kOfJob + kOfBoth * neighbours) +
         named * (kOfNamedNeighbours + kOfNamedBoth * same * neighbours);
}

}  // namespace sharewell::predict
