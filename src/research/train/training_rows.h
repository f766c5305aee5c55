// Rows to learn from: profiles with the graph of what was measured. Format:
// docs/formats/profiles.md, with a column `model` or `onnx` that names the graph.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "graph/graph.h"
#include "predict/train.h"

namespace sharewell::research {

// Rows and what they point to.
struct TrainingSet {
  std::vector<predict::Row> rows;
  std::deque<graph::Graph> graphs;
  std::deque<core::GpuModel> gpus;
  std::size_t measured = 0;       // rows before MergeRepeats; 0: not merged
  std::size_t without_graph = 0;  // rows that name no graph: nothing can be learnt from those
};

// Rows of one workload become one (predict/repeats.h).
void MergeRepeats(TrainingSet& set);

// All files together. A graph is looked for beside the profiles, then in onnx/ beside them.
core::Result<TrainingSet> ReadTrainingSet(const std::vector<std::string>& paths,
                                          const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::research
