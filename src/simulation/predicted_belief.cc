#include "simulation/predicted_belief.h"

namespace sharewell::simulation {

using predict::Figure;

namespace {

// A figure that was measured and never held out could only be answered with the truth.
bool HeldOut(const predict::Known& known) {
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    if (known.measured[f] && !known.held_out[f]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::optional<sim::PredictedFigures>> PredictedBelief(
    const Scenario& scenario, const predict::Predictor& predictor) {
  std::vector<std::optional<sim::PredictedFigures>> out;
  for (const core::Workload& workload : scenario.workloads) {
    const predict::Known* known =
        predictor.Find(workload.name, workload.batch, workload.precision, workload.workers);
    if (known == nullptr || !HeldOut(*known)) {
      out.emplace_back();
      continue;
    }
    const auto ratio = [&](Figure figure) {
      const auto& predicted = known->held_out[predict::Index(figure)];
      const auto& measured = known->measured[predict::Index(figure)];
      return predicted && measured && *measured > 0 && *predicted > 0 ? *predicted / *measured
                                                                      : 1.0;
    };
    sim::PredictedFigures off;
    off.busy = ratio(Figure::kBusy);
    off.sm = ratio(Figure::kSm);
    off.dram = ratio(Figure::kDram);
    off.gpu_memory = ratio(Figure::kMemory);
    off.pcie = ratio(Figure::kPcie);
    off.cores = ratio(Figure::kCores);
    off.host_memory = ratio(Figure::kHostMemory);
    off.power = ratio(Figure::kPower);
    off.kernel_time = ratio(Figure::kBusySeconds);
    off.gpu_memory_upper = predictor.UpperOverMedian(Figure::kMemory);
    off.cores_upper = predictor.UpperOverMedian(Figure::kCores);
    off.host_memory_upper = predictor.UpperOverMedian(Figure::kHostMemory);
    out.emplace_back(off);
  }
  return out;
}

}  // namespace sharewell::simulation
