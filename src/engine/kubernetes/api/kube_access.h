// Where the API server is and who we are there: as a pod by its service account, else by a
// kubeconfig. Programs that a kubeconfig names to get credentials (exec, auth-provider) are not
// run, and a server's certificate is always checked; each refusal says what to do instead.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/kubernetes/api/kube_http.h"

namespace sharewell::engine {

struct KubeAccessOptions {
  std::string kubeconfig = {};  // empty: $KUBECONFIG, the service account, ~/.kube/config
  std::string context = {};     // of the kubeconfig; empty: its current one
  std::string account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  // A variable's value, empty where it is not set; tests give their own.
  std::function<std::string(const char*)> environment = {};
};

// Usage errors say which file, which context and what to do.
core::Result<KubeAccess> FindKubeAccess(const KubeAccessOptions& options);

// `read`: the bytes of a file that the kubeconfig names. At most 1 MiB of plain YAML: no aliases,
// nothing nested deeper than a kubeconfig is.
core::Result<KubeAccess> ParseKubeconfig(
    std::string_view text, const std::string& context,
    const std::function<core::Result<std::string>(const std::string& path)>& read);

}  // namespace sharewell::engine
