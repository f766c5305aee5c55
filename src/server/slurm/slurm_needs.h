// What a Slurm job needs by the model file that its user names in the job's comment
// (`sharewell model=resnet50.onnx batch=64`).
#pragma once

#include <optional>
#include <string>

#include "core/job/submission.h"
#include "core/result.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/read/slurm_state.h"
#include "server/cluster_predictions.h"

namespace sharewell::server {

// The file is opened with the user's own rights, whoever the server runs as; a relative path is one
// of the job's folder. `usual_gpu`: predicted for, where the job names no model of GPU. Absent: it
// is not known yet, and to be asked again. One thread at a time.
std::optional<core::Result<core::Needs>> SlurmNeedsOf(ClusterPredictions& predictions,
                                                      const engine::UserWords& words,
                                                      const engine::SlurmJob& job,
                                                      const core::Submission& asked,
                                                      const std::string& usual_gpu);

}  // namespace sharewell::server
