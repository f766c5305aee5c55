#include "core/plan.h"

#include <fmt/format.h>

namespace sharewell::core {

std::string InWords(const Reason& reason, const std::string& other) {
  const double a = reason.a;
  const double b = reason.b;
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
      return fmt::format("gave its place to {}", other);
    case ReasonKind::kGivesWay:
      return fmt::format("slowed, because training job {} starved", other);
    case ReasonKind::kResumes:
      return "at full speed again: nobody starves";
    case ReasonKind::kNoIdleGpu:
      return "needs more idle GPUs than there are where it may run";
    case ReasonKind::kNoRoom:
      return "no GPU has room for it beside what runs there";
    case ReasonKind::kNoGoodNeighbour:
      return "beside any running job, one of the two would be slowed beyond the bound";
    case ReasonKind::kNoCores:
      return "no node has enough CPU cores left for it";
    case ReasonKind::kHeldBack:
      return fmt::format("places are being kept for {}, which has waited too long", other);
    case ReasonKind::kInfeasible:
      return "cannot run on this cluster even when it is empty";
  }
  return "";
}

}  // namespace sharewell::core
