// Predictions as a user asks for them: one model, a manifest of many, or groups that share a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/interval.h"
#include "core/result.h"
#include "graph/graph.h"
#include "graph/run.h"
#include "predict/predictor.h"
#include "predict/trained.h"

namespace sharewell::advice {

// What the user asked, in words for reports.
// The machine whose speed step times are for.
struct PredictedHost {
  double time = 1;    // how long it takes over one thing, against the host that was learnt on
  bool here = false;  // this machine, by its probe (measure/doctor/host_speed.h)
  std::optional<double> launches;  // kernels a second that this machine's probe sent
  double reference_launches = 0;   // and that of the host that was learnt on; 0: not asked for
};

// What the user said, and did not leave to a default.
struct PredictionGiven {
  bool batch = false, precision = false, optimizer = false, workers = false;
};

struct PredictionAsk {
  std::string model;    // the file; empty where a profile is named
  std::string shown;    // what messages call that file; empty: by its path
  std::string profile;  // a workload that was measured; empty: predict from the model
  std::int64_t batch = 1;
  std::string precision = "fp32";
  int workers = 4;
  std::string gpu = "H200";
  std::string optimizer = "sgd";
  int gpus = 1;              // data parallel; the batch is each GPU's
  std::string group;         // of rows that share a GPU
  core::Ratio sm_share = 1;  // of that GPU's SMs that it is limited to
  std::vector<std::pair<std::string, std::int64_t>> bind;
  std::string where;  // "jobs.csv: line 3", for messages; may be empty
  PredictionGiven given;
  PredictedHost host;
};

struct PredictionRow {
  PredictionAsk ask;
  predict::Prediction prediction;
  core::Bytes gpu_memory;  // what the GPU model has
  double uncosted = 0;     // operators that could not be costed
  double all_reduce = 0;   // seconds a step that exchanging gradients adds (several GPUs)
  core::Estimated<> StepSeconds() const;  // all_reduce included
};

struct SpeedRow {
  PredictionAsk ask;
  core::Estimated<core::Ratio> speed;  // measured: this very co-location was
  bool demand_measured = false;        // its own demand was (a profile), not predicted
  bool fits = true;  // all of the group's memory bounds together are within the GPU's
};

// What `sharewell-lab train` made of data/h200, carried in the program.
core::Result<predict::Trained> BuiltinModel();
core::Result<predict::Trained> ReadTrainedFile(const std::string& path);
// That file, or the built-in one where `path` is empty (--trained).
core::Result<predict::Trained> TrainedOrBuiltin(const std::string& path);
// Its predictor alone: half the time, for those who do not ask how jobs fare together.
core::Result<predict::Predictor> PredictorOrBuiltin(const std::string& path);

core::Result<PredictionRow> PredictOne(const PredictionAsk& ask,
                                       const predict::Predictor& predictor,
                                       const catalogue::GpuCatalogue& catalogue);

// It among others on a GPU, by its medians.
predict::Resident ResidentOf(const PredictionRow& row);

// Columns model, batch, precision, workers, gpu; optimizer, gpus, profile, group and sm_share may
// be there. What a row leaves out is taken from `defaults`; a model that is not found is looked for
// beside the manifest.
core::Result<std::vector<PredictionAsk>> ReadManifest(const std::string& path,
                                                      const PredictionAsk& defaults);

// Rows of one group run together on one GPU; without groups all of them do.
core::Result<std::vector<SpeedRow>> PredictColocated(const std::vector<PredictionAsk>& asks,
                                                     const predict::Trained& trained,
                                                     const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::advice
