#include "policy/order/las.h"

#include <algorithm>

namespace sharewell::policy {
namespace {

class LasOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    const double service = snapshot.run_time(view).value * std::max(1, view.job.gpus);
    double step = 0;
    for (double limit : kSteps) step += service >= limit ? 1 : 0;
    return step;
  }
  bool Preempts() const override { return true; }

 private:
  static constexpr double kSteps[] = {3600, 8 * 3600, 64 * 3600};  // GPU seconds
};

}  // namespace

std::unique_ptr<Order> NewLasOrder() { return std::make_unique<LasOrder>(); }

}  // namespace sharewell::policy
