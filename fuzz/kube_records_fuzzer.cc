// Any bytes as an object of the API server, as a node's claims or as a quantity: read, or refused
// with a reason. What is read of a pod can be judged without harm; claims are written as they are
// read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_claims.h"
#include "engine/kubernetes/control/kube_fit.h"
#include "engine/kubernetes/control/kube_group_sizes.h"
#include "engine/kubernetes/pods/pod_words.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharewell::engine;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = ParseKubeNode(text);
  if (!node && node.error().message.empty()) __builtin_trap();
  if (const auto pod = ParseKubePod(text)) {
    if (pod->uid.empty() || pod->name.empty() || pod->name_space.empty()) __builtin_trap();
    for (const auto& [name, amount] : pod->requests) {
      if (amount < 0) __builtin_trap();
    }
    const PodWords words = ParsePodWords(*pod);
    if (words.gpus < 0 || words.gpus > 64 || words.group_size < 1) __builtin_trap();
    if (words.model.find('/') != std::string::npos) __builtin_trap();
    if (!pod->unjudged.empty() && words.refusal.empty()) __builtin_trap();
    const auto job = SubmissionOf(*pod, words, words.group_size);
    if (job.user.admin || job.asked.priority != 0) __builtin_trap();
    if (node) {
      (void)WhyNotOn(*pod, *node);
      (void)WhyNoRoom(pod->requests, pod->requests, *node);
    }
    if (ShapeOf(*pod).empty()) __builtin_trap();
    std::string problem;
    (void)KnownNeeds(*pod, problem);
    (void)WaitsRequest(*pod, {1, job.remark, problem, 5}, 0);
  }
  if (const auto claims = ParseKubeClaims(text)) {
    const auto again = ParseKubeClaims(FormatKubeClaims(*claims));
    if (!again || again->size() != claims->size()) __builtin_trap();
  }
  if (const auto gpus = ParseKubeGpus(text); gpus && gpus->islands.known()) {
    const auto count = static_cast<int>(gpus->uuids.size());
    const auto again = sharewell::core::GpuIslands::Parse(gpus->islands.Text(), count);
    if (!again || *again != gpus->islands) __builtin_trap();
  }
  const auto pods = ParsePodGroupSize(text);
  if (pods ? *pods < 1 || *pods > 1000 : pods.error().message.empty()) __builtin_trap();
  (void)ParseKubeVolume(text);
  (void)ParseKubeVolumeClaim(text);
  if (const auto amount = ParseQuantity(text, 1000); amount && *amount < 0) __builtin_trap();
  return 0;
}
