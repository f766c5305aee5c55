#include "engine/local/fell_together.h"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <tuple>

namespace sharewell::engine {
namespace {

// Of a command that was never run.
constexpr int kCannotRun = 126, kNotFound = 127;

std::vector<std::size_t> ByDaemonAndTime(const std::vector<MpsEnd>& ends) {
  std::vector<std::size_t> order(ends.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::tie(ends[i].daemon, ends[i].ended, ends[i].id);
    };
    return key(a) < key(b);
  });
  return order;
}

// Of those that fell together; none: nobody knows.
std::vector<bool> CulpritsOf(const std::vector<const MpsEnd*>& fell) {
  std::vector<bool> blamed, strangers;
  for (const MpsEnd* end : fell) {
    blamed.push_back(end->blamed);
    strangers.push_back(end->stranger);
  }
  const auto count = [](const std::vector<bool>& of) {
    return std::count(of.begin(), of.end(), true);
  };
  // Of two faults of MPS clients on an H200 (data/h200/guest-fault.json) the driver laid both to
  // the oldest client, one of them wrongly. Bugs of a new program show early.
  if (count(strangers) == 1) return strangers;
  return count(blamed) > 0 ? blamed : std::vector<bool>(fell.size());
}

}  // namespace

bool MayBeAFall(const RunEnd& end) {
  const bool told = end.stopped || end.timed_out || end.refused || end.lost || end.out_of_memory;
  return !told && end.exit_code != 0 && end.exit_code != kCannotRun && end.exit_code != kNotFound &&
         end.signal != SIGKILL;
}

std::vector<std::optional<Fall>> FellTogether(const std::vector<MpsEnd>& ends) {
  std::vector<std::optional<Fall>> falls(ends.size());
  const auto order = ByDaemonAndTime(ends);
  const auto window = static_cast<core::UnixMillis>(kFallTogether.value * 1e3);
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const MpsEnd& first = ends[order[begin]];
    const auto together = [&](const MpsEnd& other) {
      return other.daemon == first.daemon && other.ended - first.ended <= window;
    };
    while (end < order.size() && together(ends[order[end]])) ++end;
    if (end - begin < 2) continue;
    std::vector<const MpsEnd*> fell;
    for (std::size_t i = begin; i < end; ++i) fell.push_back(&ends[order[i]]);
    const std::vector<bool> culprits = CulpritsOf(fell);
    std::optional<RunId> culprit;
    for (std::size_t i = 0; i < fell.size() && !culprit; ++i) {
      if (culprits[i]) culprit = fell[i]->id;
    }
    for (std::size_t i = begin; i < end; ++i) {
      Fall& fall = falls[order[i]].emplace();
      fall.culprit = culprit;
      if (culprit) {
        fall.part = culprits[i - begin] ? Fall::Part::kCulprit : Fall::Part::kInnocent;
      }
      for (std::size_t k = begin; k < end; ++k) {
        if (k != i) fall.with.push_back(ends[order[k]].id);
      }
      std::sort(fall.with.begin(), fall.with.end());
    }
  }
  return falls;
}

}  // namespace sharewell::engine
