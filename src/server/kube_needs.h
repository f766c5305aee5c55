// What a pod needs by the model that its user names in an annotation (sharewell.io/model): a plain
// name, of a file in the folder `models` of the server's state. No other file is ever opened for a
// pod: whoever makes pods has no rights on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/submission.h"
#include "engine/kubernetes/kube_control.h"
#include "engine/kubernetes/pod_words.h"
#include "engine/runner.h"
#include "server/learner.h"
#include "server/this_machine.h"

namespace sharewell::server {

// What was predicted of a file is kept while the file is the same. One thread at a time.
class KubeNeeds {
 public:
  // All must outlive it.
  KubeNeeds(const catalogue::GpuCatalogue& catalogue, Learner& learner, std::string folder)
      : catalogue_(catalogue), learner_(learner), folder_(std::move(folder)) {}

  // `usual_gpu`: predicted for, where the pod names no model of GPU.
  core::Result<core::Needs> Of(const engine::PodWords& words, const core::Submission& asked,
                               const std::string& usual_gpu);

 private:
  // Name, time of change, batch, GPUs, precision, GPU model.
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, int, std::string, std::string>;

  const catalogue::GpuCatalogue& catalogue_;
  Learner& learner_;
  const std::string folder_;
  std::shared_ptr<const predict::Trained> model_;  // that predicted what is kept
  std::map<Key, core::Result<core::Needs>> kept_;
};

}  // namespace sharewell::server
