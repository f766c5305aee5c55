// Belief as our own predictor would tell it: for each workload of a scenario, what was predicted
// without having learnt from its family, over what was measured. Truth does not leak: a workload's
// own row, and its family's, were left out of the predictor that is quoted.
#pragma once

#include <optional>
#include <vector>

#include "predict/predictor.h"
#include "sim/belief.h"
#include "simulation/scenario.h"

namespace sharewell::simulation {

// By WorkloadId; absent for workloads that the predictor never met, or never left out.
std::vector<std::optional<sim::PredictedFigures>> PredictedBelief(
    const Scenario& scenario, const predict::Predictor& predictor);

}  // namespace sharewell::simulation
