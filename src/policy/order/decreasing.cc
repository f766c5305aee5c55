#include "policy/order/decreasing.h"

namespace sharewell::policy {
namespace {

class DecreasingOrder : public Order {
 public:
  double Key(const core::Snapshot&, const core::JobView& view) const override {
    return view.estimate.on.empty() ? 0 : -view.estimate.on.front().demand.busy;
  }
};

}  // namespace

std::unique_ptr<Order> NewDecreasingOrder() { return std::make_unique<DecreasingOrder>(); }

}  // namespace sharewell::policy
