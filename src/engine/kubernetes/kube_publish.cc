#include "engine/kubernetes/kube_publish.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/quoted.h"
#include "engine/kubernetes/kube_claims.h"
#include "engine/kubernetes/kube_records.h"
#include "engine/kubernetes/kube_writes.h"

namespace sharewell::engine {

using core::Result;

namespace {

constexpr core::Seconds kPublishWithin(15);  // each request

// As Kubernetes names nodes, so that nothing else comes into the path.
bool IsNodeName(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 253 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

Result<KubeAnswer> AskForNode(KubeDriver& driver, const std::string& node,
                              const KubeRequest& request) {
  auto answer = driver.Ask(request, kPublishWithin);
  if (!answer || answer->status < 300) return answer;
  if (answer->status == 404) {
    return core::UsageError(
        "the cluster has no node {}; `kubectl get nodes` lists them, and in a pod the field "
        "spec.nodeName names its own",
        core::Quoted(node));
  }
  return core::FailedError("node {}: {}", node, RefusedInWords(request, *answer));
}

}  // namespace

Result<std::string> FormatKubeGpus(const std::string& model, const std::vector<std::string>& uuids,
                                   const core::GpuIslands& islands) {
  std::string text = model;
  std::replace(text.begin(), text.end(), ' ', '-');
  for (const std::string& uuid : uuids) text += uuid.empty() ? " -" : " " + uuid;
  if (islands.known()) text += fmt::format(" {}{}", kNear, islands.Text());
  auto read = ParseKubeGpus(text);
  RETURN_IF_ERROR(read);
  return text;
}

Result<bool> PublishKubeGpus(KubeDriver& driver, const std::string& node,
                             const PublishedGpus& gpus) {
  if (!IsNodeName(node)) {
    return core::UsageError("{} is no name of a node; `kubectl get nodes` lists them",
                            core::Quoted(node));
  }
  const std::string path = "/api/v1/nodes/" + node;
  const auto answer = AskForNode(driver, node, {"GET", path, "", ""});
  RETURN_IF_ERROR(answer);
  const auto there = ParseKubeNode(answer->body);
  RETURN_IF_ERROR(there);
  // These alone, whatever others change there meanwhile; of the same node object. The kubelet makes
  // of a capacity what can be allocated; both are written, so that nobody has to wait for that.
  std::vector<KubeRequest> writes;
  const auto patch = [&](const std::string& at, const std::string& rest) {
    writes.push_back({"PATCH", at,
                      fmt::format(R"({{"metadata":{{"uid":{}{}}})", KubeQuoted(there->uid), rest),
                      "application/merge-patch+json"});
  };
  if (there->gpus != gpus.words) {
    patch(path,
          fmt::format(R"(,"annotations":{{"sharewell.io/gpus":{}}}}})", KubeQuoted(gpus.words)));
  }
  const auto mebibytes = static_cast<std::int64_t>(gpus.memory.value / (1 << 20));
  const auto counted = there->allocatable.find(std::string(kKubeGpuMemory));
  if (counted == there->allocatable.end() || counted->second != mebibytes) {
    const std::string amount = fmt::format(R"({{"{}":"{}"}})", kKubeGpuMemory, mebibytes);
    patch(path + "/status",
          fmt::format(R"(}},"status":{{"capacity":{0},"allocatable":{0}}})", amount));
  }
  for (const KubeRequest& write : writes) {
    const auto written = AskForNode(driver, node, write);
    RETURN_IF_ERROR(written);
  }
  return !writes.empty();
}

}  // namespace sharewell::engine
