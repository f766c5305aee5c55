#include "policy/placement/complement.h"

#include "policy/colocation.h"
#include "policy/host_room.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::GpuModelId;
namespace reason = core::reason;

constexpr std::size_t kLeastLoadedTried = 16;

class Complement : public Placement {
 public:
  Choice Place(const Context& context, const core::JobView& view) const override {
    if (auto to = OnAnyIdleGpus(context, view)) {
      return Chosen{std::move(*to), reason::IdleGpu{}, {}};
    }
    if (!MayShare(view)) return reason::NoIdleGpu{};
    std::optional<Chosen> best;
    double best_sum = 0;
    for (std::size_t m = 0; m < context.snapshot.cluster().models().size(); ++m) {
      const GpuModelId model(m);
      if (!Allowed(view, model)) continue;
      for (GpuId gpu : context.ledger.LeastLoaded(model, kLeastLoadedTried)) {
        Colocation group(context.snapshot, *context.options.interference, model,
                         context.ledger.residents(gpu).jobs());
        const core::JobId neighbour = group.job(0);
        const double before = group.SumOfSpeeds();
        group.Join(view.job.id);
        const double gain = group.SumOfSpeeds() - before;
        if (gain <= best_sum || !group.KeepsBoundsNow(context.options.max_slowdown)) continue;
        if (!group.Fits() || !HostHasRoom(context, view, gpu)) continue;
        auto to = Beside(context, view, gpu);
        if (!to) continue;
        best_sum = gain;
        best =
            Chosen{std::move(*to),
                   reason::GoodNeighbour{neighbour, group.Speed(group.size() - 1), group.Slowest()},
                   {}};
      }
    }
    if (best) return *std::move(best);
    return reason::NoGoodNeighbour{};
  }
};

}  // namespace

std::unique_ptr<Placement> NewComplementPlacement() { return std::make_unique<Complement>(); }

}  // namespace sharewell::policy
