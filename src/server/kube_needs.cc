#include "server/kube_needs.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text/quoted.h"
#include "server/studies.h"

namespace sharewell::server {
namespace {

constexpr std::size_t kMostKubePredictions = 1000;

}  // namespace

core::Result<core::Needs> KubeNeeds::Of(const engine::PodWords& words,
                                        const core::Submission& asked,
                                        const std::string& usual_gpu) {
  const std::string path = folder_ + "/" + words.model;  // a plain name: PodWords has seen to it
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return core::FailedError("model {}: {}; put the file into {} on the server",
                             core::Quoted(words.model), std::strerror(errno), folder_);
  }
  if (!S_ISREG(facts.st_mode)) {
    return core::FailedError("model {}: it is no plain file", core::Quoted(words.model));
  }
  study::PredictionAsk ask;
  ask.model = path;
  ask.batch = words.batch.value_or(1);
  if (!words.precision.empty()) ask.precision = words.precision;
  ask.gpu = asked.gpu_models.empty() ? usual_gpu : asked.gpu_models.front();
  ask.gpus = asked.gpus;
  const Key key{
      words.model,   facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec,
      ask.batch,     ask.gpus,
      ask.precision, ask.gpu};
  // A model that has learnt since says something else.
  if (auto model = learner_.InUse(); model != model_) {
    kept_.clear();
    model_ = std::move(model);
  }
  if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
  if (kept_.size() >= kMostKubePredictions) kept_.clear();
  return kept_.emplace(key, PredictAndKeep(learner_, ask, catalogue_, words.model)).first->second;
}

}  // namespace sharewell::server
