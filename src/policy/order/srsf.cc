#include "policy/order/srsf.h"

#include <algorithm>

namespace sharewell::policy {
namespace {

class SrsfOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    double left = ExpectedRemaining(snapshot, view);
    if (view.state == core::JobState::kRunning) left -= snapshot.restart_cost(view).value;
    return left * std::max(1, view.job.gpus);
  }
  bool Preempts() const override { return true; }
};

}  // namespace

std::unique_ptr<Order> NewSrsfOrder() { return std::make_unique<SrsfOrder>(); }

}  // namespace sharewell::policy
