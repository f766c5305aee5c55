// What a pod gets so that Sharewell can place it, and what it may not have: one list for
// `sharewell kubernetes inject`, which writes it into YAML, and for the webhook
// (webhook/admit_pod.h), which answers with a patch. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/pods/pod_watcher.h"
#include "engine/kubernetes/pods/pod_words.h"

namespace sharewell::engine {

inline constexpr std::string_view kPythonPath = "PYTHONPATH";

// One entry that a list of a pod gets: its name, and the rest of it as JSON without the brackets.
struct PodEntry {
  std::string name, rest;
};
std::string InBrackets(const PodEntry& entry);  // {"name": "...", ...}

// In front of what a container has. `watch`: the pod is to be watched from inside.
std::vector<PodEntry> PodVariables(bool watch);
std::vector<PodEntry> PodMounts(bool watch);
std::vector<PodEntry> PodVolumes(bool watch, const WatcherContents& watcher);

// A variable that a container has already.
struct GivenVariable {
  std::string_view name;
  std::optional<std::string_view> value;  // absent: it comes from elsewhere
  std::string_view field_path;            // of its fieldRef; empty: it has none
};
// Why the container cannot keep it, with what to do: it says other GPUs or limits than Sharewell.
// Empty: it can.
std::string WhyNotKept(const GivenVariable& given);

// What its annotations say. A usage error: one of ours is not understood. `where` stands in it:
// "spec.template.".
core::Result<PodWords> CheckPodWords(KubePod pod, std::string_view where);

}  // namespace sharewell::engine
