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

// Takes out of `gpus` what the node's annotation leaves out, and gives their numbers.
std::vector<int> LeaveOut(const std::string& annotation, PublishedGpus& gpus) {
  const auto found = ParseKubeGpus(gpus.words), before = ParseKubeGpus(annotation);
  if (!found || !before || before->model != found->model) return {};
  const auto is_named = [](const KubeGpus& in, int number) {
    return std::binary_search(in.numbers.begin(), in.numbers.end(), number);
  };
  std::vector<int> left_out;
  std::string words = found->model;
  for (int number = 0, next = 0; number < found->places; ++number) {
    const bool is_there = is_named(*found, number);
    const bool out = number < before->places && !is_named(*before, number);
    words += is_there && !out ? " " + found->uuids[static_cast<std::size_t>(next)] : " -";
    if (is_there && out) left_out.push_back(number);
    next += is_there ? 1 : 0;
  }
  const auto all = static_cast<double>(found->uuids.size());
  const double rest = all - static_cast<double>(left_out.size());
  if (left_out.empty() || rest < 1) return {};  // all: those that were named are not there any more
  const auto near = gpus.words.find(fmt::format(" {}", kNear));
  gpus.words = words + (near == std::string::npos ? "" : gpus.words.substr(near));
  gpus.memory = gpus.memory * (rest / all);
  return left_out;
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

Result<PublishedNode> PublishKubeGpus(KubeDriver& driver, const std::string& node,
                                      PublishedGpus gpus) {
  if (!IsNodeName(node)) {
    return core::UsageError("{} is no name of a node; `kubectl get nodes` lists them",
                            core::Quoted(node));
  }
  const std::string path = "/api/v1/nodes/" + node;
  const auto answer = AskForNode(driver, node, {"GET", path, "", ""});
  RETURN_IF_ERROR(answer);
  const auto there = ParseKubeNode(answer->body);
  RETURN_IF_ERROR(there);
  PublishedNode out;
  out.left_out = LeaveOut(there->gpus, gpus);
  out.words = gpus.words;
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
  out.changed = !writes.empty();
  return out;
}

}  // namespace sharewell::engine
