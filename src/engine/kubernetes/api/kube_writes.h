// What is written to the API server: each a request that can be made again without harm. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/control/kube_claims.h"

namespace sharewell::engine {

// The claims of a node are these, if it is as it was read: else 409.
KubeRequest ClaimRequest(const KubeNode& node, const KubeClaims& claims);

// Sets nodeName and the annotations in one write. Its uid and resourceVersion are preconditions
// where the server knows them as such (not in 1.20). `known`: sharewell.io/known (pod_known.h);
// empty: it is not written.
KubeRequest BindRequest(const KubePod& pod, const std::string& node, const KubeClaim& claim,
                        const std::string& known);

// `newest`: policy/v1; else v1beta1, which is what servers before 1.22 know.
KubeRequest EvictRequest(const KubePod& pod, bool newest);
KubeRequest DeleteRequest(const KubePod& pod);

// What its users are told of a job that waits.
struct KubeWaitWords {
  std::int64_t job = 0;
  std::string why;
  std::string known;                         // as above
  std::optional<core::UnixMillis> expected;  // when it should start; absent: nobody knows
};
// All of it, and its job's number, in one write.
KubeRequest WaitsRequest(const KubePod& pod, const KubeWaitWords& words, core::UnixMillis now);
// Whether that pod shows it, as it was read last.
bool ShowsWait(const KubePod& pod, const KubeWaitWords& words);
// It waits no more: when it should start is not shown any more.
KubeRequest StartedRequest(const KubePod& pod);

struct KubeEventWords {
  std::string reason;  // "Scheduled"
  std::string message;
  bool warning = false;
};
KubeRequest EventRequest(const KubePod& pod, const KubeEventWords& words,
                         const std::string& component, core::UnixMillis now);

// What an answer that is no success says, in words. Of 403 the right that is missing and where to
// get it.
std::string RefusedInWords(const KubeRequest& request, const KubeAnswer& answer);

}  // namespace sharewell::engine
