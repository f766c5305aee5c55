#include "api/access/privacy.h"

#include <fmt/format.h>

namespace sharewell::api {

Refusal Privacy::ForOperators(const Who& who) const {
  if (!who) {
    return {401, fmt::format("the cluster has {}: say who asks, by a token or through the server's "
                             "socket",
                             setting)};
  }
  return {403, fmt::format("the cluster has {}: this tells of all users' jobs, and is for "
                           "operators; `sharewell jobs` lists yours",
                           setting)};
}

}  // namespace sharewell::api
