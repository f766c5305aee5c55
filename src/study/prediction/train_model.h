// Training as a user asks for it: profiles with their graphs, and pairs, in; a model file out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/trained.h"

namespace sharewell::study {

struct TrainAsk {
  std::vector<std::string> profiles;
  std::vector<std::string> pairs;  // pairs and larger co-locations; empty: none
  std::function<void(std::size_t done, std::size_t of)> progress;
};

struct TrainReport {
  predict::Trained trained;
  std::size_t rows = 0, families = 0, groups = 0;
  std::size_t without_graph = 0;  // rows that taught nothing
};

core::Result<TrainReport> TrainModel(const TrainAsk& ask, const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::study
