#include "policy/order/due.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/order/drain.h"

namespace sharewell::policy {
namespace {

constexpr double kPatience = 5;
constexpr double kInHand = 600;      // seconds of use that a GPU in hand stands for
constexpr double kUserDelay = 1800;  // seconds
// What a job has left counts up to kShortQueue, while all who wait could be served in kCrowded, and
// up to four times as much whenever that time doubles. In steps, because who waits is put in order
// anew at each.
constexpr double kShortQueue = 3600;   // seconds
constexpr double kCrowded = 4 * 3600;  // seconds
constexpr double kGrowth = 4;
constexpr int kNoLimit = 8;
constexpr int kBatch = 9;  // nobody else is expected: only what is left counts

class DueOrder : public Order {
 public:
  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    const int stage = Stage(snapshot);
    double left = ExpectedRemaining(snapshot, view);
    if (stage == kBatch) return kPatience * left;
    if (stage < kNoLimit) left = std::min(left, kShortQueue * std::pow(kGrowth, stage));
    return view.job.submit.value + kPatience * left;
  }
  double TailFrom(const core::Snapshot& snapshot) const override {
    return kPatience * DrainTail(snapshot);
  }
  int Stage(const core::Snapshot& snapshot) const override {
    if (std::isfinite(DrainTail(snapshot))) return kBatch;
    const double queue =
        snapshot.backlog().waiting / static_cast<double>(snapshot.cluster().gpu_count());
    return queue < kCrowded ? 0 : std::min(kNoLimit, 1 + std::ilogb(queue / kCrowded));
  }
  bool ByUser() const override { return true; }
  bool EqualShareFirst() const override { return true; }
  double UserKeyAdds() const override { return kUserDelay; }
  double UserKey(const core::Snapshot& snapshot, core::UserId user) const override {
    return (snapshot.usage(user) + snapshot.gpus_held(user) * kInHand) / snapshot.weight(user);
  }
  double Charge(const core::JobView& view) const override {
    return view.job.gpus * kInHand / view.job.weight;
  }
};

}  // namespace

std::unique_ptr<Order> NewDueOrder() { return std::make_unique<DueOrder>(); }

}  // namespace sharewell::policy
