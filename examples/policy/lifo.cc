#include "lifo.h"

namespace sharewell::policy {
namespace {

class LifoOrder : public Order {
 public:
  double Key(const core::Snapshot&, const core::JobView& view) const override {
    return -view.job.submit.value;
  }
};

}  // namespace

std::unique_ptr<Order> NewLifoOrder() { return std::make_unique<LifoOrder>(); }

}  // namespace sharewell::policy
