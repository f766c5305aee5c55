// Studies in processes of their own, with bounds (platform/process/bounded_work.h): what somebody
// sends can neither kill the server, nor keep it busy once they have left.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "advice/prediction.h"
#include "api/api.h"
#include "catalogue/gpu_catalogue.h"
#include "core/job/submission.h"
#include "core/job/told.h"
#include "core/result.h"
#include "platform/process/bounded_work.h"
#include "server/learn/learner.h"

namespace sharewell::server {

// Which bounds a study has, and the words for it.
struct StudyKind {
  const char* what;     // "the prediction"
  const char* instead;  // the command that does the same without these bounds
  platform::WorkBounds bounds;
};
// Memory is a part of the machine's: so many at once leave the rest to the server and its jobs.
StudyKind PredictionKind();
StudyKind ToldKind();  // the same of what jobs tell by themselves
StudyKind ForecastKind();
StudyKind SimulationKind();

// The readers map a file; what came over the wire becomes one without a name, which goes when it is
// closed.
struct ModelInMemory {
  int fd = -1;  // -1: there is no memory for it
  explicit ModelInMemory(std::string_view bytes);
  ~ModelInMemory();
  ModelInMemory(const ModelInMemory&) = delete;
  ModelInMemory& operator=(const ModelInMemory&) = delete;
};

using StudyWork = std::function<core::Result<std::string>(const api::WhatIfProgress& progress)>;
// What `work` answers, in another process; it is held to what bounded_work.h says of locks. Beyond
// its bounds, an error that says which and what to do.
core::Result<std::string> InWorker(const StudyKind& kind, const api::StudyRun& run,
                                   const StudyWork& work, const api::WhatIfProgress& progress = {},
                                   std::span<const int> files = {});

// What the model in use predicts, in another process, as POST /predictions answers it. The graph is
// kept to learn from: needs name it. `file`: the model, open; `name`: what the user calls it.
core::Result<std::string> PredictInWorker(Learner& learner, advice::PredictionAsk ask, int file,
                                          const catalogue::GpuCatalogue& catalogue,
                                          const std::string& name, const api::StudyRun& run);
// What a job told of one of its steps (docs/formats/told-step.md), and what the model in use
// predicts of it on that GPU model, in another process: whoever wrote it may mean harm. Its graph
// is kept to learn from. A step that can be read and not predicted says why.
struct ToldAsk {
  std::string gpu;  // model
  int gpus = 1;
};
core::Result<core::Told> ReadToldInWorker(Learner& learner, const ToldAsk& ask,
                                          const std::string& document,
                                          const catalogue::GpuCatalogue& catalogue,
                                          const api::StudyRun& run);
// The needs in such an answer.
core::Result<core::Needs> NeedsIn(const std::string& prediction);

}  // namespace sharewell::server
