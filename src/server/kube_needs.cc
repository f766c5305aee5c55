#include "server/kube_needs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::server {

std::optional<core::Result<core::Needs>> KubeNeedsOf(
    ClusterPredictions& predictions, const std::string& folder, const std::string& space,
    const engine::PodWords& words, const core::Submission& asked, const std::string& usual_gpu) {
  using Known = core::Result<core::Needs>;
  const std::string path = folder + "/" + words.model;  // a plain name: PodWords has seen to it
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0 && errno != ELOOP) {
    return Known(core::FailedError("model {}: {}; put the file into {} on the server",
                                   core::Quoted(words.model), std::strerror(errno), folder));
  }
  const auto file = std::make_shared<const OpenFile>(descriptor);
  struct stat facts {};
  if (descriptor < 0 || ::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Known(core::FailedError("model {}: it is no plain file", core::Quoted(words.model)));
  }
  ClusterPredictions::Asked ask;
  ask.user = space;
  ask.file_version = fmt::format("{}.{}.{}.{}", facts.st_dev, facts.st_ino, facts.st_mtim.tv_sec,
                                 facts.st_mtim.tv_nsec);
  ask.name = words.model;
  ask.ask.batch = words.batch.value_or(1);
  if (!words.precision.empty()) ask.ask.precision = words.precision;
  ask.ask.gpu = asked.gpu_models.empty() ? usual_gpu : asked.gpu_models.front();
  ask.ask.gpus = asked.gpus;
  ask.file = file;
  return predictions.Of(ask);
}

}  // namespace sharewell::server
