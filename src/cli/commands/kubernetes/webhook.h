// `sharewell kubernetes webhook`: answers the API server before it keeps a pod, until it is told to
// stop.
#pragma once

#include <string>

#include "cli/args/command.h"
#include "core/result.h"

namespace sharewell::cli {

struct WebhookFlags {
  std::string listen = "0.0.0.0:10443";
  std::string scheduler;   // the schedulerName of pods that are ours
  std::string account;     // of the scheduler, to the API server; empty: as the manifests have it
  std::string kubeconfig;  // empty: $KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;     // of the kubeconfig; empty: its current one
};

core::Result<ExitCode> RunWebhook(const WebhookFlags& flags);

}  // namespace sharewell::cli
