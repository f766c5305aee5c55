// StepReader: reads what jobs tell of their steps and predicts from it, each in a bounded process,
// users in turn. What could be read is kept beside the job's logs, as it was told, and goes with
// them.
#pragma once

#include <functional>
#include <string>

#include "api/fair_worker.h"
#include "catalogue/gpu_catalogue.h"
#include "control/service/runs/told_reader.h"
#include "core/job/job_record.h"
#include "platform/process/work_stop.h"
#include "server/learn/learner.h"

namespace sharewell::server {

class StepReader final : public control::ToldReader {
 public:
  struct Options {
    // Of a job's logs, where its document is kept; empty: it is not.
    std::function<std::string(const core::JobRecord& job)> folder = {};
    std::string usual_gpu;  // the model that is predicted for where a job has none yet
  };
  // Both must outlive it.
  StepReader(Learner& learner, const catalogue::GpuCatalogue& catalogue, Options options);
  ~StepReader() override { Stop(); }

  void Read(const core::JobRecord& job, std::string document, Answer answer) override;
  void Stop();  // ends what is under way; nobody is answered any more

 private:
  void ReadNow(const core::JobRecord& job, const std::string& document, const Answer& answer);

  Learner& learner_;
  const catalogue::GpuCatalogue& catalogue_;
  const Options options_;
  const platform::WorkStop stop_;
  api::FairWorker worker_;  // the last: it uses all of the above
};

// In that folder.
inline constexpr const char* kStepFile = "step.json";

}  // namespace sharewell::server
