#include "policy/order/drain.h"

#include <algorithm>
#include <limits>
#include <numbers>

namespace sharewell::policy {
namespace {

// Jobs a GPU at the quickest drain. Fewer favours the mean wait, more the makespan: on Yeung et
// al.'s experiment 2 loses 5 % of makespan for 14 % of mean completion time, 4 gains 3 % for 20 %.
constexpr double kJobsAGpu = 3;

class DrainOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    return ExpectedRemaining(snapshot, view);
  }
  double TailFrom(const core::Snapshot& snapshot) const override { return DrainTail(snapshot); }
};

}  // namespace

std::unique_ptr<Order> NewDrainOrder() { return std::make_unique<DrainOrder>(); }

double DrainTail(const core::Snapshot& snapshot) {
  const double gpus = std::max<double>(1, static_cast<double>(snapshot.cluster().gpu_count()));
  const double drain = snapshot.backlog().all / (kJobsAGpu * gpus);
  // More likely than not somebody comes first.
  if (ArrivalRate(snapshot) * drain > std::numbers::ln2)
    return std::numeric_limits<double>::infinity();
  return drain;
}

double ArrivalRate(const core::Snapshot& snapshot) {
  const auto arrivals = snapshot.arrivals();
  if (arrivals.size() < 2) return 0;
  const double span = (snapshot.now() - arrivals.front()).value;
  return static_cast<double>(arrivals.size() - 1) / std::max(span, 1e-9);
}

}  // namespace sharewell::policy
