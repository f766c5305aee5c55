// Training as a user asks for it: profiles with their graphs, and pairs, in; a model file out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "platform/files/gpu_catalogue.h"
#include "predict/trained.h"

namespace sharewell::study {

struct TrainAsk {
  std::vector<std::string> profiles;
  std::vector<std::string> pairs;  // pairs and larger companies; empty: none
  std::function<void(std::size_t done, std::size_t of)> progress;
};

struct TrainReport {
  predict::Trained trained;
  std::size_t rows = 0, families = 0, companies = 0;
  std::size_t without_graph = 0;  // rows that taught nothing
};

core::Result<TrainReport> TrainModel(const TrainAsk& ask, const platform::GpuCatalogue& catalogue);

}  // namespace sharewell::study
