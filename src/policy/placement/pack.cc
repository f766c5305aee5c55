#include "policy/placement/pack.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::GpuModelId;
using core::MaxTree;

class Pack : public Placement {
 public:
  Choice Place(const Context& context, const core::JobView& view) const override {
    if (auto to = OnAnyIdleGpus(context, view)) {
      return Chosen{std::move(*to), core::reason::IdleGpu{}, {}};
    }
    if (!MayShare(view)) return core::reason::NoIdleGpu{};
    for (std::size_t m = 0; m < context.snapshot.cluster().models().size(); ++m) {
      const GpuModelId model(m);
      if (!Allowed(view, model)) continue;
      const auto& demand = view.estimate.On(model).demand;
      const auto capacity = context.snapshot.cluster().model(model).memory;
      const double cores = context.sizing.CoresAGpu(context.snapshot, view, model, 1);
      std::size_t g = context.ledger.FirstOpen(model, demand.busy, 0);
      while (g != MaxTree::kNone) {
        const std::size_t next = context.ledger.SkipNodesWithoutCores(context.snapshot, g, cores);
        if (next != g || context.ledger.memory(GpuId(g)) + demand.gpu_memory > capacity) {
          g = context.ledger.FirstOpen(model, demand.busy, next != g ? next : g + 1);
          continue;
        }
        const GpuId gpu(g);
        auto to = Beside(context, view, gpu);
        if (!to) {
          g = context.ledger.FirstOpen(model, demand.busy, g + 1);
          continue;
        }
        return Chosen{std::move(*to),
                      core::reason::FirstFit{context.ledger.residents(gpu).jobs().front(),
                                             context.ledger.load(gpu) + demand.busy},
                      {}};
      }
    }
    return core::reason::NoRoom{};
  }
};

}  // namespace

std::unique_ptr<Placement> NewPackPlacement() { return std::make_unique<Pack>(); }

}  // namespace sharewell::policy
