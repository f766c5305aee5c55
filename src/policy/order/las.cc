#include "policy/order/las.h"

#include <algorithm>

namespace sharewell::policy {
namespace {

class LasOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    const double service = snapshot.run_time(view).value * std::max(1, view.job.gpus);
    double step = 0;
    for (double limit : kSteps) step += service + kDust >= limit ? 1 : 0;
    return step;
  }
  bool Preempts() const override { return true; }
  std::optional<core::Seconds> NextKeyIn(const core::Snapshot& snapshot,
                                         const core::JobView& view) const override {
    const int gpus = std::max(1, view.job.gpus);
    const double service = snapshot.run_time(view).value * gpus;
    for (double limit : kSteps) {
      if (service + kDust < limit) return core::Seconds((limit - service) / gpus);
    }
    return std::nullopt;
  }

 private:
  // A wake-up at a limit must find it reached, whatever rounding does.
  static constexpr double kDust = 1e-3;
  static constexpr double kSteps[] = {3600, 8 * 3600, 64 * 3600};  // GPU seconds
};

}  // namespace

std::unique_ptr<Order> NewLasOrder() { return std::make_unique<LasOrder>(); }

}  // namespace sharewell::policy
