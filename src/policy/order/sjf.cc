#include "policy/order/sjf.h"

namespace sharewell::policy {
namespace {

class SjfOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    return ExpectedRemaining(snapshot, view);
  }
};

}  // namespace

std::unique_ptr<Order> NewSjfOrder() { return std::make_unique<SjfOrder>(); }

}  // namespace sharewell::policy
