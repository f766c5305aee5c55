#include "policy/order/fair.h"

#include <utility>

namespace sharewell::policy {
namespace {

constexpr double kTurn = 600;  // seconds of use that a GPU in hand stands for

class FairOrder : public Order {
 public:
  explicit FairOrder(std::unique_ptr<Order> within) : within_(std::move(within)) {}

  double Key(const core::Snapshot& snapshot, const core::JobView& view) const override {
    return within_->Key(snapshot, view);
  }
  double TailFrom(const core::Snapshot& snapshot) const override {
    return within_->TailFrom(snapshot);
  }
  int Stage(const core::Snapshot& snapshot) const override { return within_->Stage(snapshot); }
  bool ByUser() const override { return true; }
  double UserKey(const core::Snapshot& snapshot, core::UserId user) const override {
    return (snapshot.usage(user) + snapshot.gpus_held(user) * kTurn) / snapshot.weight(user);
  }
  double Charge(const core::JobView& view) const override {
    return view.job.gpus * kTurn / view.job.weight;
  }

 private:
  std::unique_ptr<Order> within_;
};

}  // namespace

std::unique_ptr<Order> NewFairOrder(std::unique_ptr<Order> within) {
  return std::make_unique<FairOrder>(std::move(within));
}

}  // namespace sharewell::policy
