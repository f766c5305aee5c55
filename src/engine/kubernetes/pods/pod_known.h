// PodKnown: what is known of a pod when it is made or bound, as its annotation sharewell.io/known
// keeps it, so that another server, or one that lost its store, knows it too. One line of JSON:
//
//   {"v":1,"submitted_ms":1732000000000,"workload":"resnet50","needs":{"source":"predicted",...}}
//
// `needs` as in the API (docs/formats/jobs.md). Its user can write it as well as we: no figure of
// it is ever taken for observed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/job/submission.h"
#include "core/metric.h"
#include "core/result.h"

namespace sharewell::engine {

inline constexpr std::string_view kKnownAnnotation = "known";  // behind sharewell.io/
inline constexpr std::size_t kMostKnownBytes = 4096;

struct PodKnown {
  core::Needs needs;
  std::optional<core::UnixMillis> submitted;  // absent: as the pod itself says
  std::string workload;                       // as people call it; empty: nobody said

  friend bool operator==(const PodKnown&, const PodKnown&) = default;
};

// One line that ReadKnown takes. What is written is what anybody may claim: observed figures as
// predicted ones, and nothing of a server's own (graph, optimizer). Texts are cut to 120 bytes, and
// have no controls; cpu_curve is left out where the line would be too long.
std::string WriteKnown(const PodKnown& known);

// A usage error says what is wrong with it: no JSON, another version, a field that is not known or
// not allowed, more than kMostKnownBytes.
core::Result<PodKnown> ReadKnown(std::string_view text);

}  // namespace sharewell::engine
