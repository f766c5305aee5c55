// What a pod needs by the model that its user names in an annotation (sharewell.io/model): a plain
// name, of a file in the folder `models` of the server's state. No other file is ever opened for a
// pod: whoever makes pods has no rights on this machine.
#pragma once

#include <optional>
#include <string>

#include "core/job/submission.h"
#include "core/result.h"
#include "engine/kubernetes/pods/pod_words.h"
#include "server/cluster_predictions.h"

namespace sharewell::server {

// `name_space`: the pod's, for which it counts. `usual_gpu`: predicted for, where the pod
// names no model of GPU. Absent: it is not known yet, and to be asked again.
std::optional<core::Result<core::Needs>> KubeNeedsOf(
    ClusterPredictions& predictions, const std::string& folder, const std::string& name_space,
    const engine::PodWords& words, const core::Submission& asked, const std::string& usual_gpu);

}  // namespace sharewell::server
