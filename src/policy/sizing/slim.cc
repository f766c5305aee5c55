#include <algorithm>

#include "policy/sizing/sizing.h"

namespace sharewell::policy {
namespace {

constexpr core::Ratio kKeep = 0.98;  // of the throughput with all the cores it could use
constexpr double kCoresANodeInGangs = 2;

class Slim : public Sizing {
 public:
  double CoresAGpu(const core::Snapshot& snapshot, const core::JobView& view,
                   core::GpuModelId model, int nodes) const override {
    // What nobody knows is not better known than by who asked; nothing can be mended while it runs.
    const bool assumed = view.estimate.sources.busy == core::Source::kAssumed;
    if (view.job.cores_fixed && view.job.cores && assumed) return *view.job.cores / view.job.gpus;
    const double wanted = view.estimate.On(model).demand.cpu_cores;
    // On the upper bound: a core too many costs little, a starved GPU much.
    core::CpuCurve curve = view.estimate.cpu_curve;
    for (auto& point : curve) point.first *= view.estimate.cores_upper;
    double cores = core::CoresFor(curve, wanted * view.estimate.cores_upper, kKeep);
    if (nodes > 1) cores = std::min(cores, kCoresANodeInGangs * nodes / view.job.gpus);
    // A job that can use more than its share still has to fit on the node.
    if (const auto share = snapshot.cluster().CoresAGpu(model)) {
      const double alone = *share * snapshot.cluster().LargestNodeOf(model);
      cores =
          std::min(cores, alone / std::min(view.job.gpus, snapshot.cluster().LargestNodeOf(model)));
    }
    if (view.job.cores_fixed && view.job.cores) {
      cores = std::min(cores, *view.job.cores / view.job.gpus);
    }
    return cores;
  }
  bool CpuJobsGiveWay() const override { return true; }
};

}  // namespace

std::unique_ptr<Sizing> NewSlimSizing() { return std::make_unique<Slim>(); }

}  // namespace sharewell::policy
