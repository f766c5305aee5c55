#include "policy/placement/reactive.h"

#include <algorithm>
#include <cmath>

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::JobId;
using core::JobView;
using core::MaxTree;

constexpr core::Seconds kProfile{60};

class Reactive : public Placement {
 public:
  Choice Place(const Context& context, const JobView& view) const override {
    if (auto to = OnAnyIdleGpus(context, view)) {
      if (!MayShare(view)) return Chosen{std::move(*to), core::reason::IdleGpu{}, {}};
      return Chosen{std::move(*to), core::reason::ProfileAlone{kProfile}, kProfile};
    }
    return core::reason::NoIdleGpu{};
  }

  void Rearrange(const Context& context, core::Plan& plan) const override {
    const auto& snapshot = context.snapshot;
    // Only jobs whose profile ends now move; the plan is the same whichever way the list is
    // ordered.
    std::vector<JobId> ready;
    for (JobId id : snapshot.running()) {
      const JobView& view = snapshot.job(id);
      if (view.profiled && view.restarts == 0 && MayShare(view) && view.may_stop() &&
          std::abs((snapshot.now() - view.since - kProfile).value) < 1e-6) {
        ready.push_back(id);
      }
    }
    std::sort(ready.begin(), ready.end());
    Ledger ledger = ready.empty() ? Ledger() : context.ledger;
    for (JobId id : ready) {
      const JobView& view = snapshot.job(id);
      const GpuId own = view.allocation.gpus.front();
      const auto model = snapshot.cluster().ModelOf(own);
      const auto& demand = view.estimate.On(model).demand;
      for (std::size_t g = ledger.FirstOpen(model, demand.busy, 0); g != MaxTree::kNone;
           g = ledger.FirstOpen(model, demand.busy, g + 1)) {
        const GpuId gpu(g);
        if (gpu == own ||
            ledger.memory(gpu) + demand.gpu_memory > snapshot.cluster().model(model).memory) {
          continue;
        }
        const auto jobs = ledger.residents(gpu).jobs();
        const bool known = std::all_of(jobs.begin(), jobs.end(),
                                       [&](JobId other) { return snapshot.job(other).profiled; });
        if (!known) continue;
        const Context moved{snapshot, ledger, context.sizing, context.options, {}, nullptr};
        auto to = Beside(moved, view, gpu);
        if (!to) continue;
        plan.moves.push_back(
            {id, *to, true,
             core::reason::AfterProfile{jobs.front(), ledger.load(gpu) + demand.busy}});
        ledger.Vacate(snapshot, id, view.allocation);
        ledger.Occupy(snapshot, id, *to);
        break;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Placement> NewReactivePlacement() { return std::make_unique<Reactive>(); }

}  // namespace sharewell::policy
