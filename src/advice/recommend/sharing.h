// Whether a workload should share its GPU: beside a copy of itself, and beside what was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advice/recommend/cell.h"
#include "advice/recommend/forecast.h"
#include "advice/recommend/recommendation.h"
#include "catalogue/gpu_catalogue.h"
#include "core/gpu_model.h"
#include "predict/colocation/colocation.h"

namespace sharewell::advice::recommend {

// `forecast` is of the chosen setting; absent: only what was measured of `workload` under this very
// setting can tell. Neighbours are the workloads of data/h200, on the GPU model they were measured
// on.
//
// "yes": two such jobs fit and each keeps kKeptBeside (medians); "perhaps": they fit and do at
// least 1.1 times one job's work, or beside half of the measured workloads both keep kKeptBeside;
// else "no".
SharingAdvice AdviseSharing(const std::optional<Forecast>& forecast, const Cell& cell,
                            const std::string& workload, const core::GpuModel& gpu,
                            const catalogue::GpuCatalogue& catalogue,
                            const predict::ColocationModel& model);

// Fills `together` of the cells whose very setting is among the profiles of data/h200.
void AddTogether(std::vector<Cell>& cells, const std::string& workload,
                 const predict::ColocationModel& model);

}  // namespace sharewell::advice::recommend
