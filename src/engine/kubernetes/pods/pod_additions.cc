#include "engine/kubernetes/pods/pod_additions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/pods/pod_known.h"

namespace sharewell::engine {
namespace {

// What a binding's annotations become in the containers.
struct BoundVariable {
  std::string_view name, annotation;
};
constexpr std::array<BoundVariable, 4> kBoundVariables = {
    BoundVariable{kKubeGpuVariable, "gpu-ids"},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "sm-share"},
    {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "memory-limit"},
    {"CUDA_MPS_CLIENT_PRIORITY", "client-priority"}};

std::string FieldPath(std::string_view annotation) {
  return fmt::format("metadata.annotations['{}{}']", kKubePrefix, annotation);
}

}  // namespace

std::string InBrackets(const PodEntry& entry) {
  return fmt::format(R"({{"name": "{}", {}}})", entry.name, entry.rest);
}

std::vector<PodEntry> PodVariables(bool watch) {
  std::vector<PodEntry> all;
  for (const BoundVariable& one : kBoundVariables) {
    all.push_back(
        {std::string(one.name), fmt::format(R"("valueFrom": {{"fieldRef": {{"fieldPath": "{}"}}}})",
                                            FieldPath(one.annotation))});
  }
  all.push_back({"SHAREWELL_PROGRESS", R"("value": "/sharewell-steps/steps")"});
  if (!watch) return all;
  // The watcher makes a file in it (docs/formats/watch-pipe.md).
  all.push_back({"SHAREWELL_WATCH_PIPE", R"("value": "/sharewell-steps/")"});
  all.push_back({std::string(kPythonPath), fmt::format(R"("value": "{}")", kWatcherFolder)});
  return all;
}

// Where the pod's processes tell of their steps. The agent of the node finds it by this name.
std::vector<PodEntry> PodVolumes(bool watch, const WatcherContents& watcher) {
  std::vector<PodEntry> all = {{"sharewell-steps", R"("emptyDir": {})"}};
  if (watch) all.push_back({std::string(kWatcherName), WatcherVolume(watcher)});
  return all;
}

std::vector<PodEntry> PodMounts(bool watch) {
  std::vector<PodEntry> all = {{"sharewell-steps", R"("mountPath": "/sharewell-steps")"}};
  if (watch) {
    all.push_back({std::string(kWatcherName), fmt::format(R"("mountPath": "{}")", kWatcherFolder)});
  }
  return all;
}

std::string WhyNotKept(const GivenVariable& given) {
  const auto bound = std::find_if(kBoundVariables.begin(), kBoundVariables.end(),
                                  [&](const BoundVariable& one) { return one.name == given.name; });
  if (bound == kBoundVariables.end() || given.field_path == FieldPath(bound->annotation)) return {};
  // A container that is to see no GPU goes around nothing.
  const bool none = given.name == kKubeGpuVariable && given.value &&
                    (*given.value == "none" || *given.value == "void");
  if (none) return {};
  return fmt::format(
      "it sets {} by hand, which Sharewell sets to what the pod is given; remove that variable",
      given.name);
}

core::Result<PodWords> CheckPodWords(KubePod pod, std::string_view where) {
  const auto known = pod.annotations.extract(std::string(kKnownAnnotation));
  if (!known.empty()) {
    if (const auto read = ReadKnown(known.mapped()); !read) {
      return core::UsageError(
          "{}metadata.annotations of a pod: {}{}: {}; remove it, or write it with `sharewell "
          "kubernetes inject --model FILE`",
          where, kKubePrefix, kKnownAnnotation, read.error().message);
    }
  }
  PodWords words = ParsePodWords(pod);
  const std::string& wrong = words.refusal.empty() ? words.problem : words.refusal;
  if (wrong.empty()) return words;
  return core::UsageError("{}metadata.annotations of a pod: {}", where, wrong);
}

}  // namespace sharewell::engine
