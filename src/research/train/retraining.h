// Retraining as a user asks for it: runs of a machine in files, the predictor they correct, and
// later runs to judge it by.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/retrain.h"
#include "predict/trained.h"

namespace sharewell::research {

struct RetrainAsk {
  std::vector<std::string> runs;  // profiles with graphs, the oldest first
  std::vector<std::string> next;  // later ones, that nothing is learnt from; may be empty
};

// Errors as predict::FigureJudgement has them.
struct NextErrors {
  std::size_t runs = 0;
  std::array<std::optional<double>, predict::kFigures> shipped, retrained;
};

struct RetrainReport {
  predict::Retrained result;  // its predictor has moved to `trained`
  predict::Trained trained;   // what is in use from now on: the shipped one where nothing is better
  std::optional<NextErrors> next, unseen;  // unseen: those whose workload is not among `runs`
};

core::Result<RetrainReport> RetrainModel(const RetrainAsk& ask, const predict::Trained& shipped,
                                         const catalogue::GpuCatalogue& catalogue);

// How far both are off on these profiles, as they are: nothing is learnt.
core::Result<NextErrors> ErrorsOfGiven(const std::vector<std::string>& profiles,
                                       const predict::Trained& shipped,
                                       const predict::Trained& given,
                                       const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::research
