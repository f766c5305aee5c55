// AdmitPod: what the API server asks before it keeps a new or changed pod (an AdmissionReview of
// admission.k8s.io/v1), and our answer.
//
// A pod that asks for it by the label sharewell.io/share: "true", or by schedulerName, gets what
// `sharewell kubernetes inject` gives (pods/pod_additions.h), and the extended resource for the
// memory that its annotation names. Asked again about the same pod, nothing is added.
//
// Refused, in words for its user: annotations that a binding writes, written or changed by anybody
// else; GPUs or limits by hand in a pod of ours; the extended resource in a pod of another
// scheduler, which would count it and give no GPU; annotations of ours that nobody understands.
// All other pods pass unchanged. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/kubernetes/pods/pod_watcher.h"

namespace sharewell::engine {

inline constexpr std::string_view kShareLabel = "sharewell.io/share";

struct AdmissionOptions {
  std::string scheduler = "sharewell";  // pods with this schedulerName are ours
  // Users of the API server that may write what a binding writes: the scheduler's own account.
  std::vector<std::string> writers;
};

// The AdmissionReview that answers `review`. A usage error: it is none, and has no number to be
// answered by.
core::Result<std::string> AdmitPod(std::string_view review, const AdmissionOptions& options,
                                   const WatcherContents& watcher);

}  // namespace sharewell::engine
