// Training as a user asks for it: profiles with their graphs, and pairs, in; a model file out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/trained.h"
#include "research/evaluate/evaluate_pairs.h"

namespace sharewell::research {

struct TrainAsk {
  std::vector<std::string> profiles;
  std::vector<std::string> pairs;  // pairs and larger co-locations; empty: none
  std::function<void(std::size_t done, std::size_t of)> progress;
  bool refit = false;                       // fit the base's rates too
  std::vector<std::string> operators = {};  // a table of operators (operator_file.h); empty: none
};

struct TrainReport {
  predict::Trained trained;
  std::size_t rows = 0, families = 0, groups = 0;
  std::size_t without_graph = 0;         // rows that taught nothing
  std::size_t groups_left_out = 0;       // co-locations with a workload that has no profile
  std::optional<PairEvaluation> speeds;  // how well those beside others are told; absent: no pairs
};

core::Result<TrainReport> TrainModel(const TrainAsk& ask, const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::research
