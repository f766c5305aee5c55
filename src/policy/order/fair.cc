#include "policy/order/fair.h"

namespace sharewell::policy {
namespace {

class FairOrder : public Order {
 public:
  double Key(const core::Snapshot&, const core::JobView& view) const override {
    return view.job.submit.value;
  }
  bool ByUser() const override { return true; }
  double UserKey(const core::Snapshot& snapshot, core::UserId user) const override {
    return snapshot.usage(user);
  }
};

}  // namespace

std::unique_ptr<Order> NewFairOrder() { return std::make_unique<FairOrder>(); }

}  // namespace sharewell::policy
