#include "server/kubernetes/kube_needs.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/text/quoted.h"

namespace sharewell::server {

std::optional<core::Result<core::Needs>> KubeNeedsOf(
    ClusterPredictions& predictions, const std::string& folder, const std::string& name_space,
    const engine::PodWords& words, const core::Submission& asked, const std::string& usual_gpu) {
  using Known = core::Result<core::Needs>;
  const std::string path = folder + "/" + words.model;  // a plain name: PodWords has seen to it
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0 && errno != ELOOP) {
    return Known(core::FailedError("model {}: {}; put the file into {} on the server",
                                   core::Quoted(words.model), std::strerror(errno), folder));
  }
  const auto ask =
      ClusterPredictions::AskOf(name_space, std::make_shared<const OpenFile>(descriptor),
                                {words.model, words.batch, words.precision}, asked, usual_gpu);
  if (!ask) {
    return Known(core::FailedError("model {}: it is no plain file", core::Quoted(words.model)));
  }
  return predictions.Of(*ask);
}

}  // namespace sharewell::server
