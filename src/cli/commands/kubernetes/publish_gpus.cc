#include "cli/commands/kubernetes/publish_gpus.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_access.h"
#include "engine/kubernetes/api/kube_http.h"
#include "engine/kubernetes/control/kube_publish.h"

namespace sharewell::cli {

using core::Result;

Result<engine::PublishedGpus> GpusToPublish(const std::vector<collect::GpuFacts>& gpus,
                                            const catalogue::GpuCatalogue& catalogue,
                                            std::vector<std::string>& remarks) {
  engine::PublishedGpus found;
  for (const collect::GpuFacts& gpu : gpus) {
    if (gpu.name.empty() || gpu.uuid.empty()) {
      remarks.push_back(
          fmt::format("GPU {} does not answer and is left out; see `sharewell doctor`", gpu.index));
      continue;
    }
    if (gpu.mig) {
      remarks.push_back(fmt::format(
          "GPU {} is in MIG mode and is left out: pods are given whole GPUs, or shares of them",
          gpu.index));
      continue;
    }
    const auto known = catalogue.Find(gpu.name);
    if (!known) {
      remarks.push_back(fmt::format(
          "GPU {} is left out: the catalogue (`sharewell gpus`) does not know its model {}",
          gpu.index, core::Quoted(gpu.name)));
      continue;
    }
    if (!found.model.empty() && known->name != found.model) {
      return core::FailedError(
          "this machine has GPUs of several models, {} and {}: Sharewell uses nodes of one model, "
          "so write those of one of them by hand: kubectl annotate node NAME "
          "sharewell.io/gpus='{} GPU-...'",
          core::Quoted(found.model), core::Quoted(known->name), found.model);
    }
    found.model = known->name;
    found.memory = known->memory;
    found.uuids.resize(static_cast<std::size_t>(gpu.index));
    found.uuids.push_back(gpu.uuid);
  }
  if (found.uuids.empty()) {
    return core::FailedError("this machine has no GPU that pods can be given: {}",
                             fmt::join(remarks, "; "));
  }
  const std::vector<collect::GpuFacts> named(
      gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(found.uuids.size()));
  found.islands = collect::IslandsOf(named);
  return found;
}

Result<ExitCode> PublishGpus(const PublishGpusFlags& flags) {
  if (flags.node.empty() && !flags.print) {
    return core::UsageError(
        "publish-gpus: give --node NAME, the node's name in Kubernetes (spec.nodeName of a pod "
        "there), or --print");
  }
  const auto gpus = collect::FindGpus(collect::GivenNvmlLibrary());
  RETURN_IF_ERROR(gpus);
  std::vector<std::string> remarks;
  const auto found = GpusToPublish(*gpus, catalogue::GpuCatalogue::Builtin(), remarks);
  RETURN_IF_ERROR(found);
  for (const std::string& remark : remarks) SayLine(remark);
  if (flags.print) {
    const auto words = engine::FormatKubeGpus(*found);
    RETURN_IF_ERROR(words);
    RETURN_IF_ERROR(WriteOut(*words + "\n"));
    return kOk;
  }
  auto access = engine::FindKubeAccess({.kubeconfig = flags.kubeconfig, .context = flags.context});
  RETURN_IF_ERROR(access);
  const auto http = engine::NewKubeHttp(std::move(*access));
  RETURN_IF_ERROR(http);
  const auto node = engine::PublishKubeGpus(**http, flags.node, *found);
  RETURN_IF_ERROR(node);
  for (const int number : node->left_out) {
    SayLine(
        fmt::format("GPU {} stays left out, as the node's annotation has it; to publish all of "
                    "them: kubectl annotate node {} sharewell.io/gpus- , then this again",
                    number, flags.node));
  }
  SayLine(fmt::format("node {}: {} {}", flags.node,
                      node->changed ? "written:" : "says already:", node->words));
  return kOk;
}

}  // namespace sharewell::cli
