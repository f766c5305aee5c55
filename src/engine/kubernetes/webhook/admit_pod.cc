#include "engine/kubernetes/webhook/admit_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/pods/pod_additions.h"
#include "engine/kubernetes/pods/pod_known.h"
#include "json/text.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::engine {
namespace {

using core::Quoted;
using core::Result;
using core::UsageError;
using json::Value;

constexpr std::size_t kDeepestReview = 100;
constexpr std::size_t kMostReviewId = 256;
constexpr std::size_t kMostContainers = 1000;
constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";
constexpr int kForbidden = 403;  // of HTTP, as kubectl shows it

std::string InJson(std::string_view text) {
  std::string out;
  json::Writer(out).Value(text);
  return out;
}

// One that decides on one pod, and keeps the patch (RFC 6902) that it needs.
class PodAdmission {
 public:
  PodAdmission(Value request, const AdmissionOptions& options, const WatcherContents& watcher)
      : request_(request),
        pod_(request["object"]),
        spec_(pod_["spec"]),
        options_(options),
        watcher_(watcher) {}

  // A usage error says why the pod is refused.
  Result<void> Decide() {
    RETURN_IF_ERROR(CheckOfBinding());
    // Of a pod that is there already neither the scheduler nor a variable can be changed.
    if (request_["operation"].Text() != "CREATE") return CheckKnown();
    const auto ours = IsOurs();
    RETURN_IF_ERROR(ours);
    if (!*ours) return CheckOthers();
    return MakeOurs();
  }

  // Empty: it passes as it is.
  std::string Patch() const {
    return operations_.empty() ? "" : fmt::format("[{}]", fmt::join(operations_, ","));
  }

 private:
  // ---- what is refused

  Result<void> CheckOfBinding() const {
    const auto& writers = options_.writers;
    const auto user = request_["userInfo"]["username"].Text().value_or("");
    if (std::find(writers.begin(), writers.end(), user) != writers.end()) return {};
    const Value now = pod_["metadata"]["annotations"];
    const Value before = request_["oldObject"]["metadata"]["annotations"];
    for (const std::string_view name : kOfBinding) {
      const std::string key = std::string(kKubePrefix) + std::string(name);
      if (now[key].Text() == before[key].Text()) continue;
      return UsageError(
          "the annotation {} is written by Sharewell when the pod is bound, and by nobody else; "
          "leave it as it is, or make the pod without it",
          key);
    }
    return {};
  }

  Result<void> CheckKnown() const {
    const std::string key = std::string(kKubePrefix) + std::string(kKnownAnnotation);
    const auto now = pod_["metadata"]["annotations"][key].Text();
    if (!now || now == request_["oldObject"]["metadata"]["annotations"][key].Text()) return {};
    KubePod pod;
    pod.annotations.emplace(kKnownAnnotation, *now);
    const auto words = CheckPodWords(std::move(pod), "");
    RETURN_IF_ERROR(words);
    return {};
  }

  // By its label or its scheduler. The API server has written its own scheduler's name into a pod
  // that names none.
  Result<bool> IsOurs() const {
    const std::string scheduler(spec_["schedulerName"].Text().value_or(""));
    const Value label = pod_["metadata"]["labels"][kShareLabel];
    const std::string asks(label.Text().value_or(""));
    if (!label.is_null() && asks != "true" && asks != "false") {
      return UsageError("its label {} is {}; write \"true\", or remove it", kShareLabel,
                        Quoted(asks));
    }
    if (scheduler == options_.scheduler) return true;
    if (asks != "true") return false;
    if (scheduler.empty() || scheduler == "default-scheduler") return true;
    return UsageError(
        "it has the label {}: \"true\", and spec.schedulerName {}; remove one of the two",
        kShareLabel, Quoted(scheduler));
  }

  Result<void> CheckOthers() const {
    const auto pod = ReadPod();
    RETURN_IF_ERROR(pod);
    const auto asked = pod->requests.find(std::string(kKubeGpuMemory));
    if (asked == pod->requests.end() || asked->second == 0) return {};
    return UsageError(
        "it asks for {} under another scheduler, which would count it and give no GPU; add the "
        "label {}: \"true\", or remove that resource",
        kKubeGpuMemory, kShareLabel);
  }

  // A pod that is being made has neither a uid nor, perhaps, a name; nothing here needs them.
  Result<KubePod> ReadPod() const {
    const std::string text = json::ObjectLine([&](json::Writer& out) {
      out.Object("metadata", [&] {
        out.Field("name", "new");
        out.Field("namespace", "new");
        out.Field("uid", "new");
        out.Field("annotations", pod_["metadata"]["annotations"]);
        out.Field("labels", pod_["metadata"]["labels"]);
      });
      out.Field("spec", spec_);
    });
    return ParseKubePod(text);
  }

  // ---- what it gets

  Result<void> MakeOurs() {
    const auto pod = ReadPod();
    RETURN_IF_ERROR(pod);
    const auto words = CheckPodWords(*pod, "");
    RETURN_IF_ERROR(words);
    if (spec_["containers"].empty()) {
      return UsageError("it has no spec.containers; write at least one");
    }
    if (spec_["schedulerName"].Text() != options_.scheduler) {
      Add("/spec/schedulerName", InJson(options_.scheduler));
    }
    AddMissing(spec_, "/spec", "volumes", PodVolumes(words->watch, watcher_));
    for (const char* kind : {"initContainers", "containers"}) {
      std::size_t number = 0;
      for (const Value container : spec_[kind].items()) {
        if (number == kMostContainers) {
          return UsageError("it has more than {} {}; make it with fewer", kMostContainers, kind);
        }
        RETURN_IF_ERROR(
            TakeContainer(container, fmt::format("/spec/{}/{}", kind, number++), words->watch));
      }
    }
    AddGpuMemory(*pod, *words);
    return {};
  }

  Result<void> TakeContainer(Value container, const std::string& path, bool watch) {
    const Value env = container["env"];
    std::size_t number = 0;
    for (const Value variable : env.items()) {
      const std::string at = fmt::format("{}/env/{}", path, number++);
      const Value from = variable["valueFrom"];
      GivenVariable given{variable["name"].Text().value_or(""), std::nullopt,
                          from["fieldRef"]["fieldPath"].Text().value_or("")};
      if (from.is_null()) given.value = variable["value"].Text().value_or("");
      std::string why = WhyNotKept(given);
      if (why.empty() && watch && given.name == kPythonPath) why = PutIntoPath(given, at);
      if (why.empty()) continue;
      return UsageError("container {}: {}", Quoted(container["name"].Text().value_or("")), why);
    }
    AddMissing(container, path, "env", PodVariables(watch));
    AddMissing(container, path, "volumeMounts", PodMounts(watch));
    return {};
  }

  // The watcher's folder in front of a PYTHONPATH that stands there. Why it cannot be; empty: done.
  std::string PutIntoPath(const GivenVariable& given, const std::string& at) {
    if (!given.value) {
      return fmt::format(
          "the watcher cannot be put in front of its {}; write its value into the manifest, or "
          "remove the annotation {}watch",
          given.name, kKubePrefix);
    }
    if (given.value->starts_with(kWatcherFolder)) return {};
    std::string path(kWatcherFolder);
    if (!given.value->empty()) path += fmt::format(":{}", *given.value);
    Add(at + "/value", InJson(path));
    return {};
  }

  // In front of what the list has; those that it has by name stay as they are.
  void AddMissing(Value owner, const std::string& path, const std::string& list,
                  const std::vector<PodEntry>& entries) {
    std::vector<std::string> missing;
    for (const PodEntry& one : entries) {
      const auto items = owner[list].items();
      const bool has = std::any_of(items.begin(), items.end(), [&](const Value& entry) {
        return entry["name"].Text() == one.name;
      });
      if (!has) missing.push_back(InBrackets(one));
    }
    if (missing.empty()) return;
    if (!owner[list].is_list()) {
      return Add(fmt::format("{}/{}", path, list), fmt::format("[{}]", fmt::join(missing, ",")));
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      Add(fmt::format("{}/{}/{}", path, list, i), missing[i]);
    }
  }

  // So that quotas count it, and a node's memory is given out once. In the first container: the
  // resource is the pod's as a whole.
  void AddGpuMemory(const KubePod& pod, const PodWords& words) {
    const auto asked = pod.requests.find(std::string(kKubeGpuMemory));
    const bool has = asked != pod.requests.end() && asked->second > 0;
    if (has || !words.gpu_memory || words.gpus == 0) return;
    const auto mebibytes =
        static_cast<std::int64_t>(std::ceil(words.gpu_memory->value * words.gpus / (1 << 20)));
    const Value resources = spec_["containers"].At(0)["resources"];
    const std::string path = "/spec/containers/0/resources";
    if (!resources.is_object()) Add(path, "{}");
    for (const char* kind : {"limits", "requests"}) {
      const std::string at = fmt::format("{}/{}", path, kind);
      if (!resources[kind].is_object()) Add(at, "{}");
      // A slash in a name is written "~1".
      Add(at + "/sharewell.io~1gpu-memory", InJson(fmt::format("{}", mebibytes)));
    }
  }

  // Puts it there, in the place of what stands there under that name.
  void Add(const std::string& path, const std::string& json) {
    operations_.push_back(
        fmt::format(R"({{"op":"add","path":{},"value":{}}})", InJson(path), json));
  }

  const Value request_, pod_, spec_;
  const AdmissionOptions& options_;
  const WatcherContents& watcher_;
  std::vector<std::string> operations_;
};

bool IsAboutAPod(Value request) {
  const auto operation = request["operation"].Text();
  return request["resource"]["resource"].Text() == "pods" &&
         request["resource"]["group"].Text().value_or("").empty() &&
         request["subResource"].Text().value_or("").empty() &&
         (operation == "CREATE" || operation == "UPDATE");
}

}  // namespace

Result<std::string> AdmitPod(std::string_view review, const AdmissionOptions& options,
                             const WatcherContents& watcher) {
  const auto parsed = json::Document::Parse(review, kDeepestReview);
  if (!parsed) {
    return UsageError("it is no AdmissionReview: {}", parsed.error().message);
  }
  const Value root = parsed->root(), request = root["request"];
  const std::string id(request["uid"].Text().value_or(""));
  if (root["kind"].Text() != "AdmissionReview" || root["apiVersion"].Text() != kReviewVersion ||
      id.empty() || id.size() > kMostReviewId) {
    return UsageError("it is no AdmissionReview of {} with a request that has a uid",
                      kReviewVersion);
  }
  Result<void> decided;
  std::string patch;
  if (IsAboutAPod(request)) {
    PodAdmission admission(request, options, watcher);
    decided = admission.Decide();
    patch = admission.Patch();
  }
  return json::ObjectLine([&](json::Writer& out) {
    out.Field("apiVersion", kReviewVersion);
    out.Field("kind", "AdmissionReview");
    out.Object("response", [&] {
      out.Field("uid", id);
      out.Field("allowed", decided.has_value());
      if (!decided) {
        out.Object("status", [&] {
          out.Field("code", kForbidden);
          out.Field("message", "Sharewell refuses this pod: " + decided.error().message);
        });
      } else if (!patch.empty()) {
        out.Field("patchType", "JSONPatch");
        out.Field("patch", json::Base64(patch));
      }
    });
  });
}

}  // namespace sharewell::engine
