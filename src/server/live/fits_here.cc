#include "server/live/fits_here.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/words.h"

namespace sharewell::server {
namespace {

using core::GpuModel;
using core::Submission;

std::string GpusInWords(const core::Cluster& cluster) {
  std::vector<std::string> parts;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int count = cluster.CountOf(core::GpuModelId(m));
    if (count > 0) parts.push_back(fmt::format("{} {}", count, cluster.models()[m].name));
  }
  return parts.empty() ? "no GPU" : fmt::format("{}", fmt::join(parts, " and "));
}

// Of one GPU model, with a GPU on each.
int MostNodes(const Submission& submission, const core::Cluster& cluster) {
  std::vector<int> of_model(cluster.models().size());
  int most = 1;
  for (const core::Node& node : cluster.nodes()) {
    if (node.gpus == 0 || !core::IsAllowed(submission.gpu_models, cluster.model(node.model)))
      continue;
    most = std::max(most, ++of_model[node.model.index()]);
  }
  return std::clamp(submission.gpus, 1, most);
}

// What is predicted of a model's graph is sure enough to refuse by where even its lower bound is
// more than any GPU has. That bound lies as far below the median as the upper one above it: errors
// of memory are factors. What was seen is not refused: frameworks keep what room there is.
core::Result<void> CheckPredictedMemory(const Submission& submission, core::Bytes most) {
  if (submission.gpu_memory || !submission.needs) return {};  // the user's own word stands
  const core::Needs& needs = *submission.needs;
  const auto& median = needs.profile.gpu_memory;
  const auto& upper = needs.gpu_memory_upper;
  if (needs.sources.gpu_memory != core::Source::kPredicted || !median || !upper) return {};
  const core::Bytes least(median->value * std::min(1.0, median->value / upper->value));
  if (!(least > most)) return {};
  return core::UsageError(
      "it is predicted to need {} of GPU memory, at least {} ({}), and the largest GPU that it "
      "allows has {}; use a smaller --batch, or give --gpu-memory SIZE if you know that it needs "
      "less",
      core::SizeText(*median), core::SizeText(least), needs.from, core::SizeText(most));
}

}  // namespace

core::Result<void> CheckFitsHere(const Submission& submission, const core::Cluster& cluster) {
  // The cluster of a manager, which may make nodes when there is something to run.
  if (cluster.nodes().empty()) {
    return core::UsageError("the cluster has no node yet that can be used; it waits for one");
  }
  const bool one = cluster.nodes().size() == 1;
  const char* here_is = one ? "this machine" : "this cluster";
  const char* node_is = one ? "this machine" : "the largest node";
  // What it asks for is for all of its nodes together.
  const int nodes = MostNodes(submission, cluster);
  const std::string spread = nodes == 1 ? "" : fmt::format(", on at most {} nodes", nodes);
  double cores = 0;
  for (const core::Node& node : cluster.nodes()) cores = std::max(cores, node.cores.value_or(1e9));
  if (submission.cores.value_or(0) > cores * nodes) {
    return core::UsageError(
        "it asks for {}{}, and {} has {:g}; ask for fewer, or leave --cpus "
        "out to be given what it needs",
        core::Cores(*submission.cores), spread, node_is, cores);
  }
  std::optional<core::Bytes> host;  // absent: some node that it may use does not say
  bool unknown = false;
  for (const core::Node& node : cluster.nodes()) {
    if (submission.gpus > 0 && node.gpus == 0) continue;
    if (submission.gpus > 0 && !core::IsAllowed(submission.gpu_models, cluster.model(node.model)))
      continue;
    unknown = unknown || !node.memory;
    host = std::max(host.value_or(core::Bytes(0)), node.memory.value_or(core::Bytes(0)));
  }
  if (submission.memory && host && !unknown && *submission.memory > *host * nodes) {
    return core::UsageError(
        "it asks for {} of host memory{}, and {} has {} for jobs; ask for less, or leave --memory "
        "out",
        core::SizeText(*submission.memory), spread, node_is, core::SizeText(*host));
  }
  if (submission.gpus <= 0) return {};
  const std::string here = GpusInWords(cluster);
  if (cluster.gpu_count() == 0) {
    return core::UsageError("{} has no GPU; submit it with --gpus 0 as a CPU-only job", here_is);
  }
  int most = 0;
  core::Bytes memory;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const GpuModel& model = cluster.models()[m];
    if (!core::IsAllowed(submission.gpu_models, model)) continue;
    most = std::max(most, cluster.CountOf(core::GpuModelId(m)));
    memory = std::max(memory, model.memory);
  }
  if (most == 0) {
    return core::UsageError("no GPU model that it allows is here ({}): {} has {}",
                            core::Quoted(fmt::format("{}", fmt::join(submission.gpu_models, ", "))),
                            here_is, here);
  }
  if (submission.gpus > most) {
    return core::UsageError("it asks for {} of one model, and {} has {}",
                            core::Count(static_cast<std::uint64_t>(submission.gpus), "GPU"),
                            here_is, here);
  }
  if (submission.gpu_memory && *submission.gpu_memory > memory) {
    return core::UsageError(
        "it asks for {} of GPU memory, and the largest GPU that it allows has {}",
        core::SizeText(*submission.gpu_memory), core::SizeText(memory));
  }
  return CheckPredictedMemory(submission, memory);
}

}  // namespace sharewell::server
