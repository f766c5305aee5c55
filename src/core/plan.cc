#include "core/plan.h"

#include <fmt/format.h>

namespace sharewell::core {

namespace {

std::string Gibibytes(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1 << 30)); }

std::string ShortOfGpus(double wanted, double idle) {
  if (wanted <= 0) return "needs more idle GPUs than there are where it may run";
  if (wanted == 1 && idle < 1) return "needs an idle GPU, and none is idle where it may run";
  if (wanted == 1) return "needs a GPU with more memory than is free on the idle ones";
  if (idle >= wanted) {
    return fmt::format("needs {:.0f} idle GPUs together; {:.0f} are idle, but not on one node",
                       wanted, idle);
  }
  return fmt::format("needs {:.0f} idle GPUs; {:.0f} {} idle where it may run", wanted, idle,
                     idle == 1 ? "is" : "are");
}

}  // namespace

std::string InWords(const Reason& reason, const std::string& other) {
  const double a = reason.a;
  const double b = reason.b;
  const std::string who = other.empty() ? "" : ": " + other;
  switch (reason.kind) {
    case ReasonKind::kIdleGpu:
      return "an idle GPU, nobody to share with";
    case ReasonKind::kFirstFit:
      return fmt::format("first GPU with room: predicted utilisation sums to {:.0f} %", a * 100);
    case ReasonKind::kGoodNeighbour:
      return fmt::format(
          "shares well with {}: keeps {:.0f} % of its speed, neighbours at least {:.0f} %", other,
          a * 100, b * 100);
    case ReasonKind::kBetterModel:
      return fmt::format("gains {:.2f}x from the better GPU model, more than those behind it", a);
    case ReasonKind::kLeavesBetterModel:
      return fmt::format("gains only {:.2f}x from the better GPU model, so leaves it to others", a);
    case ReasonKind::kProfileAlone:
      return fmt::format("alone for {:.0f} s under profile first", a);
    case ReasonKind::kAfterProfile:
      if (a <= 0) return "profiled; its cores are those it was seen to use";
      return fmt::format("profiled; moved to where measured utilisation sums to {:.0f} %", a * 100);
    case ReasonKind::kFillsCores:
      return "CPU-only, on cores that no training job uses";
    case ReasonKind::kTail:
      return fmt::format("long ({:.0f} s to go): started now so that it does not end alone", a);
    case ReasonKind::kOrder:
      return "its turn in the order";
    case ReasonKind::kPreempted:
      return "gave its place to " + (other.empty() ? "another job" : other);
    case ReasonKind::kGivesWay:
      return fmt::format("slowed, because {}, which trains, starved", other);
    case ReasonKind::kResumes:
      return "at full speed again: nobody starves";
    case ReasonKind::kNoIdleGpu:
      return ShortOfGpus(a, b) + who;
    case ReasonKind::kNoRoom:
      return "no GPU has room for it beside what runs there";
    case ReasonKind::kNoGoodNeighbour:
      return "beside any running job, one of the two would be slowed beyond the bound";
    case ReasonKind::kNoCores:
      return fmt::format("needs {:g} CPU core{}; {:.3g} {} free{}", a, a == 1 ? "" : "s", b,
                         b == 1 ? "is" : "are", who);
    case ReasonKind::kNoHostMemory:
      return fmt::format("no node has {} of host memory free; the most is {}{}", Gibibytes(a),
                         Gibibytes(b), who);
    case ReasonKind::kNoMemory:
      return fmt::format("may need {} of GPU memory; at most {} is free beside others{}",
                         Gibibytes(a), Gibibytes(b), who);
    case ReasonKind::kWaitsForFaster:
      return "a GPU is idle, but waiting for a faster one ends it sooner";
    case ReasonKind::kBehindOthers:
      return "jobs that need the same wait before it";
    case ReasonKind::kOthersStay:
      return fmt::format("{}, of lower priority, would give way, and cannot be stopped now",
                         other.empty() ? "another job" : other);
    case ReasonKind::kHeldBack:
      return fmt::format("places are being kept for {}, which has waited too long", other);
    case ReasonKind::kInfeasible:
      return "cannot run on this cluster even when it is empty";
  }
  return "";
}

}  // namespace sharewell::core
