// `sharewell kubernetes publish-gpus`: what a node's own agent writes into the node object.
#pragma once

#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "cli/args/command.h"
#include "collect/gpu/gpus.h"
#include "core/result.h"

namespace sharewell::cli {

struct PublishGpusFlags {
  std::string node;        // the node's name; empty: only with `print`
  std::string kubeconfig;  // empty: $KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;     // of the kubeconfig; empty: its current one
  bool print = false;      // print the annotation, and change nothing
};

// Reads this machine's GPUs and writes them into the annotation sharewell.io/gpus of the node.
core::Result<ExitCode> PublishGpus(const PublishGpusFlags& flags);

// The annotation for these GPUs. `remarks`: those that are left out, and why. An error: none is
// left, or they are not all of one model.
core::Result<std::string> GpusAnnotation(const std::vector<collect::GpuFacts>& gpus,
                                         const catalogue::GpuCatalogue& catalogue,
                                         std::vector<std::string>& remarks);

}  // namespace sharewell::cli
