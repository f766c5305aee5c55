// LearningStore: what a server's predictor learns from and what came of it: the graphs of jobs,
// what each of their runs was measured to need, and the models that were trained. Bounded: the user
// with most loses their oldest. Lies in the same file or database as the jobs, on a connection of
// its own.
//
// One thread uses one object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job/profile_record.h"
#include "core/metric.h"
#include "core/result.h"

namespace sharewell::store {

// A job's graph, as graph::WriteGraph writes it.
struct KeptGraph {
  std::string digest;
  std::string text;
  core::UnixMillis met = 0;  // when it was last asked about
  std::string user = {};     // who brought it first
};

// One run of a job that ended well.
struct KeptRun {
  std::int64_t id = 0;  // given by the store, rising; 0: not stored yet
  std::int64_t job = 0;
  std::string graph;  // digest
  // Whose it was, the workload, what was measured on which GPU model, and when (`created`).
  core::ProfileRecord record;
};

// A predictor that was trained here, or a training that made none.
struct KeptModel {
  std::int64_t id = 0;
  core::UnixMillis time = 0;
  std::string report;  // JSON, the server's: what it was judged by
  std::string text;    // as predict::Write writes it; empty: the training made nothing better
};

struct LearningBounds {
  std::int64_t graphs = 2000, runs = 5000, models = 20;
  std::int64_t graph_bytes = std::int64_t{128} << 20;
  std::int64_t model_texts = 3;  // of older ones only the report stays
};

class LearningStore {
 public:
  virtual ~LearningStore() = default;
  // Durable when it returns. Of graphs that are there already `met` alone changes. Above the bounds
  // graphs that no run names go first.
  virtual core::Result<void> Keep(std::span<const KeptGraph> graphs,
                                  std::span<const KeptRun> runs) = 0;
  // The newest `most`, the oldest of them first.
  virtual core::Result<std::vector<KeptRun>> Runs(std::int64_t most) = 0;
  // Absent: it was never there, or had to go.
  virtual core::Result<std::optional<std::string>> Graph(const std::string& digest) = 0;
  virtual core::Result<std::int64_t> CountGraphs() = 0;
  virtual core::Result<std::map<std::string, std::int64_t>> RunsByUser() = 0;
  // Drops that user's runs and graphs; how many runs.
  virtual core::Result<std::int64_t> Forget(const std::string& user) = 0;
  virtual core::Result<std::int64_t> KeepModel(const KeptModel& model) = 0;  // its id
  // The newest first, without their texts.
  virtual core::Result<std::vector<KeptModel>> Models() = 0;
  virtual core::Result<std::optional<std::string>> ModelText(std::int64_t id) = 0;
};

// `where` as store::Open has it.
core::Result<std::unique_ptr<LearningStore>> OpenLearning(const std::string& where,
                                                          const LearningBounds& bounds = {});

}  // namespace sharewell::store
