#include "policy/order/srtf.h"

namespace sharewell::policy {
namespace {

class SrtfOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    const double left = ExpectedRemaining(snapshot, view);
    const bool running = view.state == core::JobState::kRunning;
    return running ? left - snapshot.restart_cost(view).value : left;
  }
  bool Preempts() const override { return true; }
};

}  // namespace

std::unique_ptr<Order> NewSrtfOrder() { return std::make_unique<SrtfOrder>(); }

}  // namespace sharewell::policy
