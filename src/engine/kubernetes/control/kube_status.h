// What an API server says of a request that it refused (an object of kind Status), in words that
// say what to do. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

struct KubeStatus {
  int code = 0;           // as in HTTP; 0: it does not say
  std::string reason;     // "Expired", "AlreadyExists", "NotFound"
  std::string message;    // for people
  std::string next_page;  // with a 410 of a list: where it could go on
};

// Of a body, or of the object of a watch's ERROR line. What is no Status is all empty.
KubeStatus ReadKubeStatus(std::string_view text);

// A value as it may stand in a path or query.
std::string KubeEscaped(std::string_view value);

// `what` was wanted ("pods: cannot be listed"). 401 and 403 say which right is missing: usage
// errors, like all that a next try will not mend; 429 and 5xx are absent services.
core::Error KubeRefused(const std::string& what, const KubeAnswer& answer);

}  // namespace sharewell::engine
