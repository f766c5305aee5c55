#include "policy/placement/slot.h"

namespace sharewell::policy {
namespace {

class Slot : public Placement {
 public:
  Choice Place(const Context& context, const core::JobView& view) const override {
    if (auto to = OnAnyIdleGpus(context, view)) {
      return Chosen{std::move(*to), core::reason::IdleGpu{}, {}};
    }
    return core::reason::NoIdleGpu{};
  }
};

}  // namespace

std::unique_ptr<Placement> NewSlotPlacement() { return std::make_unique<Slot>(); }

}  // namespace sharewell::policy
