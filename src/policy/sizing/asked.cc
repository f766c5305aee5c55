#include <cmath>

#include "policy/sizing/sizing.h"

namespace sharewell::policy {
namespace {

class Asked : public Sizing {
 public:
  double CoresAGpu(const core::Snapshot& snapshot, const core::JobView& view,
                   core::GpuModelId model, int) const override {
    if (view.job.cores) return *view.job.cores / view.job.gpus;
    // Whole cores, but never none: a node may have fewer cores than GPUs.
    if (const auto share = snapshot.cluster().CoresAGpu(model)) {
      return *share < 1 ? *share : std::floor(*share);
    }
    return std::ceil(view.estimate.On(model).demand.cpu_cores);
  }
};

}  // namespace

std::unique_ptr<Sizing> NewAskedSizing() { return std::make_unique<Asked>(); }

}  // namespace sharewell::policy
