#include "policy/order/gain.h"

#include <algorithm>

#include "policy/ledger.h"

namespace sharewell::policy {
namespace {

class GainOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    return -GainOf(snapshot, view);
  }
};

}  // namespace

core::Ratio GainOf(const core::Snapshot& snapshot, const core::JobView& view) {
  double best = 0;
  double worst = 0;
  for (std::size_t m = 0; m < snapshot.cluster().models().size(); ++m) {
    const core::GpuModelId model(m);
    if (!Allowed(view, model)) continue;
    const double rate = view.estimate.On(model).rate;
    best = std::max(best, rate);
    worst = worst == 0 ? rate : std::min(worst, rate);
  }
  return worst > 0 ? best / worst : 1;
}

std::unique_ptr<Order> NewGainOrder() { return std::make_unique<GainOrder>(); }

}  // namespace sharewell::policy
