#include "engine/kubernetes/kube_writes.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostEventWords = 1000;  // the API server takes 1,024

// Names of the API server are plain: they need no escapes.
std::string PodPath(const KubePod& pod, const char* part = "") {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", pod.space, pod.name, part);
}

std::string KubeTime(core::UnixMillis at) {
  const std::chrono::sys_seconds time{
      std::chrono::seconds(std::max<core::UnixMillis>(at, 0) / 1000)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time);
}

std::string CutAt(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// "create pods/binding": the right that a request needs.
std::string RightOf(const KubeRequest& request) {
  const char* verb = request.method == "POST"     ? "create"
                     : request.method == "PATCH"  ? "patch"
                     : request.method == "PUT"    ? "update"
                     : request.method == "DELETE" ? "delete"
                                                  : "get, list and watch";
  std::string_view path = request.path;
  path = path.substr(0, path.find('?'));
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  std::size_t at = !parts.empty() && parts[0] == "apis" ? 3 : 2;
  if (at + 2 < parts.size() && parts[at] == "namespaces") at += 2;
  if (at >= parts.size()) return verb;
  std::string right = fmt::format("{} {}", verb, parts[at]);
  if (at + 2 < parts.size()) right += fmt::format("/{}", parts[at + 2]);
  return right;
}

}  // namespace

KubeRequest ClaimRequest(const KubeNode& node, const KubeClaims& claims) {
  const std::string text =
      claims.empty() ? "null" : KubeQuoted(FormatKubeClaims(claims));  // null removes it
  return {"PATCH", "/api/v1/nodes/" + node.name,
          fmt::format(R"({{"metadata":{{"uid":{},"resourceVersion":{},)"
                      R"("annotations":{{"sharewell.io/claims":{}}}}}}})",
                      KubeQuoted(node.uid), KubeQuoted(node.version), text),
          "application/merge-patch+json"};
}

KubeRequest BindRequest(const KubePod& pod, const std::string& node, const KubeClaim& claim) {
  std::string annotations = fmt::format(R"("sharewell.io/gpu-ids":{},"sharewell.io/sm-share":"{}",)"
                                        R"("sharewell.io/job":"{}","sharewell.io/attempt":"{}")",
                                        KubeQuoted(fmt::format("{}", fmt::join(claim.gpus, ","))),
                                        claim.sm_percent, claim.job, claim.attempt);
  // As CUDA_MPS_PINNED_DEVICE_MEM_LIMIT wants it. Empty: no limit; the variable is there all the
  // same, as a field that is missing would keep the container from starting.
  std::string limit;
  for (std::size_t i = 0; claim.limited && claim.memory_mib && i < claim.gpus.size(); ++i) {
    limit += fmt::format("{}{}={}M", i == 0 ? "" : ",", i, *claim.memory_mib);
  }
  annotations += R"(,"sharewell.io/memory-limit":)" + KubeQuoted(limit);
  return {
      "POST", PodPath(pod, "/binding"),
      fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":{},"namespace":{},)"
                  R"("uid":{},"resourceVersion":{},"annotations":{{{}}}}},)"
                  R"("target":{{"apiVersion":"v1","kind":"Node","name":{}}}}})",
                  KubeQuoted(pod.name), KubeQuoted(pod.space), KubeQuoted(pod.uid),
                  KubeQuoted(pod.version), annotations, KubeQuoted(node)),
      ""};
}

KubeRequest EvictRequest(const KubePod& pod, bool newest) {
  return {"POST", PodPath(pod, "/eviction"),
          fmt::format(R"({{"apiVersion":"policy/{}","kind":"Eviction","metadata":{{"name":{},)"
                      R"("namespace":{}}},"deleteOptions":{{"preconditions":{{"uid":{}}}}}}})",
                      newest ? "v1" : "v1beta1", KubeQuoted(pod.name), KubeQuoted(pod.space),
                      KubeQuoted(pod.uid)),
          ""};
}

KubeRequest DeleteRequest(const KubePod& pod) {
  return {
      "DELETE", PodPath(pod),
      fmt::format(R"({{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{{"uid":{}}}}})",
                  KubeQuoted(pod.uid)),
      ""};
}

KubeRequest WaitsRequest(const KubePod& pod, std::int64_t job, const std::string& words,
                         core::UnixMillis now) {
  const std::string time = KubeTime(now);
  return {"PATCH", PodPath(pod, "/status"),
          fmt::format(R"({{"metadata":{{"uid":{}}},"status":{{"conditions":[)"
                      R"({{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
                      R"("message":{},"lastTransitionTime":"{}"}},)"
                      R"({{"type":"{}","status":"True","reason":"Queued","message":"{}",)"
                      R"("lastTransitionTime":"{}"}}]}}}})",
                      KubeQuoted(pod.uid), KubeQuoted(words), time, kKubeJobCondition, job, time),
          "application/strategic-merge-patch+json"};
}

KubeRequest EventRequest(const KubePod& pod, const KubeEventWords& words,
                         const std::string& component, core::UnixMillis now) {
  const std::string time = KubeTime(now);
  return {"POST", fmt::format("/api/v1/namespaces/{}/events", pod.space),
          fmt::format(R"({{"apiVersion":"v1","kind":"Event","metadata":{{"generateName":{},)"
                      R"("namespace":{}}},"involvedObject":{{"apiVersion":"v1","kind":"Pod",)"
                      R"("name":{},"namespace":{},"uid":{}}},"reason":"{}","message":{},)"
                      R"("type":"{}","count":1,"firstTimestamp":"{}","lastTimestamp":"{}",)"
                      R"("source":{{"component":{}}}}})",
                      KubeQuoted(CutAt(pod.name, 200) + "."), KubeQuoted(pod.space),
                      KubeQuoted(pod.name), KubeQuoted(pod.space), KubeQuoted(pod.uid),
                      words.reason, KubeQuoted(CutAt(words.message, kMostEventWords)),
                      words.warning ? "Warning" : "Normal", time, time, KubeQuoted(component)),
          ""};
}

std::string RefusedInWords(const KubeRequest& request, const KubeAnswer& answer) {
  const KubeComplaint said = ParseKubeComplaint(answer.body);
  if (answer.status == 403) {
    return fmt::format(
        "RBAC does not let Sharewell {}: {}; the ClusterRole in deploy/kubernetes has all rules "
        "that it needs",
        RightOf(request), said.message.empty() ? "403" : said.message);
  }
  return said.message.empty() ? fmt::format("HTTP status {}", answer.status) : said.message;
}

}  // namespace sharewell::engine
