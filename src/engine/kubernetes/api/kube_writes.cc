#include "engine/kubernetes/api/kube_writes.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "json/writer.h"

namespace sharewell::engine {
namespace {

using json::Writer;

constexpr std::size_t kMostEventWords = 1000;  // the API server takes 1,024

// Names of the API server are plain: they need no escapes.
std::string PodPath(const KubePod& pod, const char* part = "") {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", pod.name_space, pod.name, part);
}

std::string KubeTime(core::UnixMillis at) {
  const std::chrono::sys_seconds time{
      std::chrono::seconds(std::max<core::UnixMillis>(at, 0) / 1000)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time);
}

std::string StartText(const KubeWaitWords& words) {
  return words.expected ? KubeTime(*words.expected) : std::string();
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

// Not of another one that has its name by now.
void OfThisPodAlone(const KubePod& pod, Writer& out) {
  out.Object("preconditions", [&] { out.Field("uid", pod.uid); });
}

}  // namespace

KubeRequest ClaimRequest(const KubeNode& node, const KubeClaims& claims) {
  return {"PATCH", "/api/v1/nodes/" + node.name, json::ObjectLine([&](Writer& out) {
            out.Object("metadata", [&] {
              out.Field("uid", node.uid);
              out.Field("resourceVersion", node.version);
              // Null removes it.
              out.Object("annotations", [&] {
                out.TextOrNull("sharewell.io/claims",
                               claims.empty() ? "" : FormatKubeClaims(claims));
              });
            });
          }),
          "application/merge-patch+json"};
}

KubeRequest BindRequest(const KubePod& pod, const std::string& node, const KubeClaim& claim,
                        const std::string& known) {
  // As CUDA_MPS_PINNED_DEVICE_MEM_LIMIT wants it. Empty: no limit; the variable is there all the
  // same, as a field that is missing would keep the container from starting.
  std::string limit;
  for (std::size_t i = 0; claim.limited && claim.memory_mib && i < claim.gpus.size(); ++i) {
    limit += fmt::format("{}{}={}M", i == 0 ? "" : ",", i, *claim.memory_mib);
  }
  return {"POST", PodPath(pod, "/binding"), json::ObjectLine([&](Writer& out) {
            out.Field("apiVersion", "v1");
            out.Field("kind", "Binding");
            out.Object("metadata", [&] {
              out.Field("name", pod.name);
              out.Field("namespace", pod.name_space);
              out.Field("uid", pod.uid);
              out.Field("resourceVersion", pod.version);
              out.Object("annotations", [&] {
                out.Field("sharewell.io/gpu-ids", fmt::format("{}", fmt::join(claim.gpus, ",")));
                out.Field("sharewell.io/sm-share", fmt::format("{}", claim.sm_percent));
                // Kernels of a guest go after those of its neighbours.
                out.Field("sharewell.io/client-priority", claim.guest ? "1" : "0");
                out.Field("sharewell.io/job", fmt::format("{}", claim.job));
                out.Field("sharewell.io/attempt", fmt::format("{}", claim.attempt));
                out.Field("sharewell.io/memory-limit", limit);
                if (!known.empty()) out.Field("sharewell.io/known", known);
              });
            });
            out.Object("target", [&] {
              out.Field("apiVersion", "v1");
              out.Field("kind", "Node");
              out.Field("name", node);
            });
          }),
          ""};
}

KubeRequest EvictRequest(const KubePod& pod, bool newest) {
  return {"POST", PodPath(pod, "/eviction"), json::ObjectLine([&](Writer& out) {
            out.Field("apiVersion", newest ? "policy/v1" : "policy/v1beta1");
            out.Field("kind", "Eviction");
            out.Object("metadata", [&] {
              out.Field("name", pod.name);
              out.Field("namespace", pod.name_space);
            });
            out.Object("deleteOptions", [&] { OfThisPodAlone(pod, out); });
          }),
          ""};
}

KubeRequest DeleteRequest(const KubePod& pod) {
  return {"DELETE", PodPath(pod), json::ObjectLine([&](Writer& out) {
            out.Field("apiVersion", "v1");
            out.Field("kind", "DeleteOptions");
            OfThisPodAlone(pod, out);
          }),
          ""};
}

KubeRequest WaitsRequest(const KubePod& pod, const KubeWaitWords& words, core::UnixMillis now) {
  const std::string time = KubeTime(now);
  const bool has_start = words.expected || pod.annotations.contains(std::string(kKubeStart));
  return {"PATCH", PodPath(pod, "/status"), json::ObjectLine([&](Writer& out) {
            const auto condition = [&](std::string_view type, const char* status,
                                       const char* reason, const std::string& message) {
              out.Object([&] {
                out.Field("type", type);
                out.Field("status", status);
                out.Field("reason", reason);
                out.Field("message", message);
                out.Field("lastTransitionTime", time);
              });
            };
            out.Object("metadata", [&] {
              out.Field("uid", pod.uid);
              if (words.known.empty() && !has_start) return;
              out.Object("annotations", [&] {
                if (!words.known.empty()) out.Field("sharewell.io/known", words.known);
                // Null removes it.
                if (has_start) out.TextOrNull("sharewell.io/expected-start", StartText(words));
              });
            });
            out.Object("status", [&] {
              out.Key("conditions");
              out.List([&] {
                condition("PodScheduled", "False", "Unschedulable", words.why);
                condition(kKubeJobCondition, "True", "Queued", fmt::format("{}", words.job));
              });
            });
          }),
          "application/strategic-merge-patch+json"};
}

bool ShowsWait(const KubePod& pod, const KubeWaitWords& words) {
  const auto start = pod.annotations.find(std::string(kKubeStart));
  return pod.told == words.why && pod.job == words.job &&
         (start == pod.annotations.end() ? "" : start->second) == StartText(words);
}

KubeRequest StartedRequest(const KubePod& pod) {
  return {"PATCH", PodPath(pod, "/status"), json::ObjectLine([&](Writer& out) {
            out.Object("metadata", [&] {
              out.Field("uid", pod.uid);
              out.Object("annotations", [&] { out.TextOrNull("sharewell.io/expected-start", ""); });
            });
          }),
          "application/strategic-merge-patch+json"};
}

KubeRequest EventRequest(const KubePod& pod, const KubeEventWords& words,
                         const std::string& component, core::UnixMillis now) {
  const std::string time = KubeTime(now);
  return {"POST", fmt::format("/api/v1/namespaces/{}/events", pod.name_space),
          json::ObjectLine([&](Writer& out) {
            out.Field("apiVersion", "v1");
            out.Field("kind", "Event");
            out.Object("metadata", [&] {
              out.Field("generateName", CutAt(pod.name, 200) + ".");
              out.Field("namespace", pod.name_space);
            });
            out.Object("involvedObject", [&] {
              out.Field("apiVersion", "v1");
              out.Field("kind", "Pod");
              out.Field("name", pod.name);
              out.Field("namespace", pod.name_space);
              out.Field("uid", pod.uid);
            });
            out.Field("reason", words.reason);
            out.Field("message", CutAt(words.message, kMostEventWords));
            out.Field("type", words.warning ? "Warning" : "Normal");
            out.Field("count", 1);
            out.Field("firstTimestamp", time);
            out.Field("lastTimestamp", time);
            out.Object("source", [&] { out.Field("component", component); });
          }),
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
