// What a Slurm job needs by the model file that its user names in the job's comment
// (`sharewell model=resnet50.onnx batch=64`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/submission.h"
#include "engine/slurm/job_note.h"
#include "engine/slurm/slurm_state.h"
#include "server/learner.h"

namespace sharewell::server {

// A prediction takes about a second, and users submit the same model many times: what was predicted
// of a file is kept while the file is the same. One thread at a time.
class SlurmNeeds {
 public:
  // Both must outlive it.
  SlurmNeeds(const catalogue::GpuCatalogue& catalogue, Learner& learner)
      : catalogue_(catalogue), learner_(learner) {}

  // The file is opened with the user's own rights, whoever the server runs as; a relative path is
  // one of the job's folder. `usual_gpu`: predicted for, where the job names no model of GPU.
  core::Result<core::Needs> Of(const engine::UserWords& words, const engine::SlurmJob& job,
                               const core::Submission& asked, const std::string& usual_gpu);

 private:
  // Of the file its device, number and time of change; batch, GPUs, precision and GPU model.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, int, std::string,
                         std::string>;

  const catalogue::GpuCatalogue& catalogue_;
  Learner& learner_;
  std::shared_ptr<const predict::Trained> model_;  // that predicted what is kept
  std::map<Key, core::Result<core::Needs>> kept_;
};

}  // namespace sharewell::server
