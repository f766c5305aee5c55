// Cells as they are predicted from a model's graph.
//
// The rate on few cores is the predicted one stretched by predict::Prediction::Stretch, and the
// power draw falls with it towards what the board draws idle. Two jobs together: the co-location
// model that `predict --together` uses, each beside a copy of itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advice/recommend/cell.h"
#include "core/gpu_model.h"
#include "core/result.h"
#include "graph/graph.h"
#include "graph/run.h"
#include "predict/colocation/colocation.h"
#include "predict/predictor.h"

namespace sharewell::advice::recommend {

// One prediction and what it was asked for.
struct Forecast {
  Setting setting;  // without cores
  predict::Prediction prediction;
  double memory_upper = 0;  // bytes: the 95 % bound of what training holds, as `predict` judges it
};

class Forecaster {
 public:
  // `predictor` must outlive it. The file is read once for each batch that is asked for.
  Forecaster(std::string model, std::vector<std::pair<std::string, std::int64_t>> bind,
             graph::Optimizer optimizer, const predict::Predictor& predictor);

  // An error where the file cannot be read at this batch.
  core::Result<Forecast> Predict(const core::GpuModel& gpu, const std::string& precision,
                                 std::int64_t batch, int workers);
  core::Result<const graph::Graph*> At(std::int64_t batch);
  double uncosted() const { return uncosted_; }  // operators that could not be costed

 private:
  std::string model_;
  std::vector<std::pair<std::string, std::int64_t>> bind_;
  graph::Optimizer optimizer_;
  const predict::Predictor& predictor_;
  std::map<std::int64_t, graph::Graph> graphs_;
  double uncosted_ = 0;
};

// The forecast on so many cores; on all that it could use where none are given.
Cell CellOf(const Forecast& forecast, const core::GpuModel& gpu, std::optional<double> cores);

// The workload beside others, by the forecast's medians; `name`: what it was measured as, if it
// was.
predict::Resident ResidentOf(const Forecast& forecast, const std::string& name);

// Speed of each of two such jobs on one GPU.
core::Estimated<> Together(const predict::ColocationModel& model,
                           const predict::Resident& resident);

}  // namespace sharewell::advice::recommend
