// The KubeDriver that speaks HTTPS to a real API server (platform/net/http_pool.h): requests and
// watches over few kept connections, with the cluster's own certificate authority and no other.
//
// A token that stands in a file is read again when the file changes (a service account's is
// replaced every hour); a token is never told in a message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

// Where an API server is and who we are there; kube_access.h finds it.
struct KubeAccess {
  std::string server;  // "https://10.0.0.1:6443"; http:// to 127.0.0.1 alone
  std::string ca_pem;  // whom to trust
  std::string certificate_pem = {}, key_pem = {};  // empty: none
  std::string token = {};                          // empty: none, or in the file
  std::string token_file = {};
  std::string name_space = {};  // that it names as one's own; empty: none
};

// Also counts what it asks for, for whoever watches the load that it makes.
class KubeHttp : public KubeDriver {
 public:
  virtual std::int64_t requests() const = 0;  // so far, watches too; any thread
};

// Nothing is asked yet. An error: what it is given cannot be used.
core::Result<std::unique_ptr<KubeHttp>> NewKubeHttp(KubeAccess access);

}  // namespace sharewell::engine
