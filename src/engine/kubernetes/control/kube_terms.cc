#include "engine/kubernetes/control/kube_terms.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {

namespace {

constexpr int kNodesNamed = 3;

// With an image of CUDA it would see all GPUs of its node.
std::string NotInjected(const KubePod& pod) {
  return fmt::format(
      "no container of it reads from the binding which GPUs it gets ({} from {}), so it is not "
      "started; add that by `sharewell kubernetes inject < FILE.yaml | kubectl apply -f -`, after "
      "`kubectl delete {} -n {}`",
      kKubeGpuVariable, kKubeGpuField,
      pod.owner.uid.empty() ? "pod " + pod.name : pod.owner.kind + " " + pod.owner.name,
      pod.name_space);
}

}  // namespace

// Empty: nothing but a place.
std::string KubeTerms::WhyItWaits(const KubePodGroup& pod_group) const {
  if (pod_group.evicted && pod_group.members.empty()) {
    return fmt::format("waits for the pod that {} {} makes after the eviction",
                       pod_group.owner.kind, core::Quoted(pod_group.owner.name));
  }
  const std::size_t size = pod_group.Size();
  const KubePod& first = book_.pods().at(pod_group.members.front());
  for (const std::string& uid : pod_group.members) {
    const KubePod& pod = book_.pods().at(uid);
    const PodWords words = ParsePodWords(pod);
    if (!words.refusal.empty()) return words.refusal;
    if (words.gpus > 0 && !pod.reads_gpus) return NotInjected(pod);
    if (!pod.gates.empty()) {
      return fmt::format("waits until its spec.schedulingGates are removed: {}",
                         core::Quoted(fmt::format("{}", fmt::join(pod.gates, ", "))));
    }
    if (pod_group.group.empty()) continue;
    if (words.gpus != pod_group.words.gpus || words.group_size != pod_group.words.group_size ||
        ShapeOf(pod) != ShapeOf(first)) {
      return fmt::format(
          "pods {} and {} of its pod group ask for different things; Sharewell starts a group only "
          "of pods that are alike",
          core::Quoted(first.name), core::Quoted(pod.name));
    }
  }
  if (pod_group.members.size() < size) {
    const bool fails = pod_group.words.restart == GroupRestart::kFail;
    return fmt::format(
        "waits for the rest of its pod group: {} of {} pods are there{}", pod_group.members.size(),
        size,
        fails ? "; it has not the place of one that failed, as sharewell.io/restart is \"fail\""
              : "");
  }
  return volumes_.WhyWait(first);
}

// Of all pods with the same shape once, until nodes or volumes change.
const StartTerms& KubeTerms::NodesFor(const KubePod& pod) {
  if (std::exchange(shapes_version_, book_.terms_version()) != book_.terms_version())
    shapes_.clear();
  const auto [found, is_new] = shapes_.try_emplace(ShapeOf(pod));
  StartTerms& terms = found->second;
  if (!is_new) return terms;
  std::size_t all = 0;
  std::vector<std::string> why;
  for (const auto& [name, here] : book_.nodes()) {
    if (!here.usable || !here.there) continue;
    ++all;
    std::string not_here = WhyNotOn(pod, here.kube);
    if (not_here.empty() && !volumes_.Allow(pod, here.kube)) not_here = "its volume is elsewhere";
    if (not_here.empty()) {
      terms.nodes.push_back(name);
    } else if (why.size() < kNodesNamed) {
      why.push_back(fmt::format("{}: {}", name, not_here));
    }
  }
  if (terms.nodes.empty() && all > 0) {
    terms.waits_for = fmt::format("none of {} nodes can take it ({}{})", all, fmt::join(why, "; "),
                                  all > why.size() ? "; ..." : "");
  }
  if (terms.nodes.size() == all) terms.nodes.clear();  // any
  return terms;
}

StartTerms KubeTerms::Of(const KubePodGroup& pod_group) {
  StartTerms terms;
  terms.waits_for = WhyItWaits(pod_group);
  if (!pod_group.members.empty()) {
    const KubePod& first = book_.pods().at(pod_group.members.front());
    if (terms.waits_for.empty()) terms = NodesFor(first);
    terms.priority = first.priority;
    terms.preempts = first.preempts;
    terms.keeps_place = KeepsPlace(first, pod_group.words);
  } else if (pod_group.terms) {
    terms.priority = pod_group.terms->priority;
    terms.preempts = pod_group.terms->preempts;
    terms.keeps_place = pod_group.terms->keeps_place;
  }
  if (!pod_group.group.empty() && pod_group.words.gpus > 1)
    terms.gpus_a_node = pod_group.words.gpus;
  return terms;
}

}  // namespace sharewell::engine
