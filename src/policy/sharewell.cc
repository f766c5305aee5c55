#include "policy/sharewell.h"

#include <utility>

#include "policy/composed.h"
#include "policy/generations/generations.h"
#include "policy/order/due.h"
#include "policy/placement/share.h"

namespace sharewell::policy {
namespace {

constexpr int kLook = 64;  // jobs of a class looked at for a neighbour, in a decision

struct SharewellMemo : Memo {
  std::unique_ptr<Memo> shared;  // of the composed policy; made anew after decisions it did not see
};

class Sharewell : public Policy {
 public:
  Sharewell(std::string name, const Options& options)
      : options_(options),
        sizing_(NewSlimSizing()),
        shared_(Compose(std::move(name), NewDueOrder(), NewSharePlacement(), NewSlimSizing(),
                        options, kLook, true)) {}

  const std::string& Name() const override { return shared_->Name(); }
  std::unique_ptr<Memo> NewMemo() const override { return std::make_unique<SharewellMemo>(); }

  Turns InTurn(const core::Snapshot& snapshot) const override { return shared_->InTurn(snapshot); }

  core::Plan Decide(const core::Snapshot& snapshot, std::span<const core::Change> since_last,
                    Memo& memo_base) const override {
    auto& memo = static_cast<SharewellMemo&>(memo_base);
    // Who runs where is exchanged there whatever project they are of.
    if (options_.project_shares.empty()) {
      if (auto plan = PlanGenerations(snapshot, options_, *sizing_)) {
        memo.shared.reset();
        return *std::move(plan);
      }
    }
    if (!memo.shared) memo.shared = shared_->NewMemo();
    return shared_->Decide(snapshot, since_last, *memo.shared);
  }

 private:
  Options options_;
  std::unique_ptr<Sizing> sizing_;
  std::unique_ptr<Policy> shared_;
};

}  // namespace

std::unique_ptr<Policy> NewSharewell(std::string name, const Options& options) {
  return std::make_unique<Sharewell>(std::move(name), options);
}

}  // namespace sharewell::policy
