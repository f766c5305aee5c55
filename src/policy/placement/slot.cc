#include "policy/placement/slot.h"

namespace sharewell::policy {
namespace {

class Slot : public Placement {
 public:
  Choice Place(const Context& context, const core::JobView& view) const override {
    if (auto to = OnAnyIdleGpus(context, view)) {
      return Chosen{std::move(*to), {core::ReasonKind::kIdleGpu, {}, 0, 0}, {}};
    }
    return core::Reason{core::ReasonKind::kNoIdleGpu, {}, 0, 0};
  }
};

}  // namespace

std::unique_ptr<Placement> NewSlotPlacement() { return std::make_unique<Slot>(); }

}  // namespace sharewell::policy
