#include "engine/kubernetes/control/kube_publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_claims.h"
#include "json/writer.h"

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

std::string WithoutSpaces(std::string model) {
  std::replace(model.begin(), model.end(), ' ', '-');
  return model;
}

// How many there are for pods.
std::ptrdiff_t CountOf(const std::vector<std::string>& uuids) {
  return std::count_if(uuids.begin(), uuids.end(),
                       [](const std::string& uuid) { return !uuid.empty(); });
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
  const auto before = ParseKubeGpus(annotation);
  if (!before || before->model != WithoutSpaces(gpus.model)) return {};
  std::vector<std::string> rest = gpus.uuids;
  std::vector<int> left_out;
  const auto places = std::min(before->places, static_cast<int>(rest.size()));
  for (int number = 0; number < places; ++number) {
    std::string& uuid = rest[static_cast<std::size_t>(number)];
    if (uuid.empty() || std::count(before->numbers.begin(), before->numbers.end(), number) > 0) {
      continue;
    }
    uuid.clear();
    left_out.push_back(number);
  }
  // All: those that were named are not there any more.
  if (CountOf(rest) == 0) return {};
  gpus.uuids = std::move(rest);
  return left_out;
}

}  // namespace

Result<std::string> FormatKubeGpus(const PublishedGpus& gpus) {
  std::string text = WithoutSpaces(gpus.model);
  for (const std::string& uuid : gpus.uuids) text += uuid.empty() ? " -" : " " + uuid;
  if (gpus.islands.known()) text += fmt::format(" {}{}", kNear, gpus.islands.Text());
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
  auto words = FormatKubeGpus(gpus);
  RETURN_IF_ERROR(words);
  out.words = std::move(*words);
  // These alone, whatever others change there meanwhile; of the same node object. The kubelet makes
  // of a capacity what can be allocated; both are written, so that nobody has to wait for that.
  std::vector<KubeRequest> writes;
  const auto patch = [&](const std::string& at, const auto& members) {
    writes.push_back({"PATCH", at, json::ObjectLine(members), "application/merge-patch+json"});
  };
  if (there->gpus != out.words) {
    patch(path, [&](json::Writer& body) {
      body.Object("metadata", [&] {
        body.Field("uid", there->uid);
        body.Object("annotations", [&] { body.Field("sharewell.io/gpus", out.words); });
      });
    });
  }
  const auto mebibytes =
      CountOf(gpus.uuids) * static_cast<std::int64_t>(gpus.memory.value / (1 << 20));
  const auto counted = there->allocatable.find(std::string(kKubeGpuMemory));
  if (counted == there->allocatable.end() || counted->second != mebibytes) {
    patch(path + "/status", [&](json::Writer& body) {
      body.Object("metadata", [&] { body.Field("uid", there->uid); });
      body.Object("status", [&] {
        for (const char* what : {"capacity", "allocatable"}) {
          body.Object(what, [&] { body.Field(kKubeGpuMemory, fmt::format("{}", mebibytes)); });
        }
      });
    });
  }
  for (const KubeRequest& write : writes) {
    const auto written = AskForNode(driver, node, write);
    RETURN_IF_ERROR(written);
  }
  out.changed = !writes.empty();
  return out;
}

}  // namespace sharewell::engine
