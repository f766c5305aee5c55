// Recommend: how to run a workload, from what was measured of it, else from predictions.
//
// Measured cells (a sweep's, profiles, data/h200) come before predictions: a prediction must
// promise 5 % more to be preferred (choose.h). Where a GPU model has measured cells, predictions
// there are corrected by one factor, their mean error on those cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advice/recommend/cell.h"
#include "advice/recommend/recommendation.h"
#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/trained.h"

namespace sharewell::advice::recommend {

struct RecommendAsk {
  std::string model;  // a file as `predict` takes it, or a workload of data/h200: its cells alone
  std::vector<std::pair<std::string, std::int64_t>> bind = {};
  std::string optimizer = "sgd";
  Goal goal = Goal::kThroughput;
  Prices prices = {};                  // by any name of the catalogue
  std::vector<std::string> gpus = {};  // empty: every model of the catalogue
  // Fixed where given.
  std::optional<std::int64_t> batch = {};
  std::optional<std::string> precision = {};
  std::optional<int> workers = {};
  int most_cores = 16;
  std::vector<std::string> measured = {};  // files of measured_cells.h
  std::string workload = {};    // its name in them; empty: the one the model's file is named after
  bool predicted_only = false;  // what was measured is not looked at
};

// Usage errors: what cannot be read, unknown names, a model or batch that fits no GPU asked for.
core::Result<Recommendation> Recommend(const RecommendAsk& ask, const predict::Trained& trained,
                                       const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::advice::recommend
