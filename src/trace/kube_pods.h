// The pods of a Kubernetes cluster that have ended: what `kubectl get pods -A -o json` prints
// (docs/formats/kubernetes-pods.md). What is not known, and what is assumed, stands in the trace's
// remarks.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectKubePods(std::string_view text);
core::Result<Trace> ReadKubePods(std::string_view text, const std::string& name);
// Only pods of this namespace; empty: all.
core::Result<Trace> ReadKubePods(std::string_view text, const std::string& name,
                                 const std::string& name_space);

}  // namespace sharewell::trace
