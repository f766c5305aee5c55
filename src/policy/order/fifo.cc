#include "policy/order/fifo.h"

namespace sharewell::policy {
namespace {

class FifoOrder : public Order {
 public:
  double Key(const core::Snapshot&, const core::JobView& view) const override {
    return view.job.submit.value;
  }
};

}  // namespace

std::unique_ptr<Order> NewFifoOrder() { return std::make_unique<FifoOrder>(); }

}  // namespace sharewell::policy
