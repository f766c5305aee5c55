// `sharewell kubernetes publish-gpus`: what is written on a node into its object.
#pragma once

#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "cli/args/command.h"
#include "collect/gpu/gpus.h"
#include "core/result.h"
#include "engine/kubernetes/control/kube_publish.h"

namespace sharewell::cli {

struct PublishGpusFlags {
  std::string node;        // the node's name; empty: only with `print`
  std::string kubeconfig;  // empty: $KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;     // of the kubeconfig; empty: its current one
  bool print = false;      // print the annotation, and change nothing
};

// Reads this machine's GPUs, and writes them and their memory into the node's object.
core::Result<ExitCode> PublishGpus(const PublishGpusFlags& flags);

// What is written of these GPUs. `remarks`: those that are left out, and why. An error: none is
// left, or they are not all of one model.
core::Result<engine::PublishedGpus> GpusToPublish(const std::vector<collect::GpuFacts>& gpus,
                                                  const catalogue::GpuCatalogue& catalogue,
                                                  std::vector<std::string>& remarks);

}  // namespace sharewell::cli
