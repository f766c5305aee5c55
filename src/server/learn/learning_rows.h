// Runs of jobs as rows to learn from: what was kept of them in the store, with their graphs.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/job/job_record.h"
#include "core/job/profile.h"
#include "core/job/submission.h"
#include "graph/graph.h"
#include "predict/train.h"
#include "store/learning_store.h"

namespace sharewell::server {

// What is worth keeping of a run that ended well, with what was seen of it (Advisor::LearnRun).
// Absent: it names no graph, had not one GPU to itself and all of its SMs, or nothing was seen.
std::optional<store::KeptRun> RunToKeep(const core::JobRecord& record, const core::Profile& seen);

// Who teaches a predictor that is everybody's. Runs may lie (a user can name another graph than the
// one that runs), so it learns from three users or more, each weighing the same; where there are
// fewer, from admins alone.
struct Teachers {
  std::vector<store::KeptRun> runs;  // in their order
  std::vector<std::string> users;    // by name
  bool several = false;              // not admins alone: memory is not learnt from them
};
// `least` runs must be left, else it is admins alone; at most `most` are.
Teachers ChooseTeachers(const std::vector<store::KeptRun>& runs, std::size_t least,
                        std::size_t most);

// Rows and what they point to.
struct LearningRows {
  std::vector<predict::Row> rows;
  std::deque<core::GpuModel> gpus;
  std::size_t without_graph = 0;  // runs whose graph is gone or cannot be read
};

// Graphs that were read once, for trainings that follow each other. One thread.
class GraphCache {
 public:
  // Null: it is not there, or no graph of ours. What it gives stays until Trim.
  const graph::Graph* Find(store::LearningStore& store, const std::string& digest,
                           std::int64_t batch);
  void Trim(std::size_t most);  // forgets all where there are more

 private:
  std::map<std::string, std::optional<graph::Graph>> graphs_;
};

LearningRows RowsOf(std::span<const store::KeptRun> runs, GraphCache& graphs,
                    store::LearningStore& store, const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
