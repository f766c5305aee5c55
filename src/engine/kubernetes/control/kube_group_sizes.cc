#include "engine/kubernetes/control/kube_group_sizes.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <utility>

#include "core/text/quoted.h"
#include "json/value.h"

namespace sharewell::engine {

namespace {

constexpr std::int64_t kMostOfPodGroup = 1000;
constexpr std::size_t kMostGroupsAsked = 100;  // of one look

// Empty: the pod needs no answer. Names are plain (ParsePodWords).
std::string PodGroupPath(const KubePod& pod) {
  if (pod.marks.empty()) return {};
  const PodWords words = ParsePodWords(pod);
  if (words.unsized == PodGroupKind::kNone || !words.refusal.empty()) return {};
  return fmt::format("/apis/{}/namespaces/{}/podgroups/{}",
                     words.unsized == PodGroupKind::kVolcano ? "scheduling.volcano.sh/v1beta1"
                                                             : "scheduling.x-k8s.io/v1alpha1",
                     pod.name_space, words.group);
}

}  // namespace

core::Result<int> ParsePodGroupSize(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return core::FailedError("its PodGroup is no JSON: {}", core::Quoted(text));
  const json::Value least = parsed->root()["spec"]["minMember"];
  const auto size = least.Whole();
  if (size && *size >= 1 && *size <= kMostOfPodGroup) return static_cast<int>(*size);
  return core::FailedError("spec.minMember of its PodGroup is {}, and Sharewell takes 1 to {}",
                           least.is_null() ? "not there" : least.Quoted(), kMostOfPodGroup);
}

void KubeGroupSizes::Ask(KubeOutbox& outbox) {
  std::set<std::string> paths;
  for (const std::string& uid : pods_.joins()) {
    const auto pod = book_.pods().find(uid);
    if (pod == book_.pods().end()) continue;
    std::string path = PodGroupPath(pod->second);
    if (path.empty()) continue;
    const auto asked = asked_.find(path);
    if (asked != asked_.end() && book_.now() < asked->second + book_.options().write_again)
      continue;
    paths.insert(std::move(path));
    if (paths.size() >= kMostGroupsAsked) break;
  }
  for (const std::string& path : paths) {
    asked_[path] = book_.now();
    outbox.Put({"GET", path, "", ""}, [this, &outbox](const auto& request, const auto& answer) {
      TakeAnswer(request, answer);
      if (!asked_.contains(request.path)) outbox.AskForMore();  // its pods can be jobs now
    });
  }
}

// One that has too much to do is asked again. Any other answer is one: who makes a PodGroup after
// its pods makes the pods again.
void KubeGroupSizes::TakeAnswer(const KubeRequest& request,
                                const core::Result<KubeAnswer>& answer) {
  if (!answer || answer->status >= 500 || answer->status == 429 || answer->status == 401) return;
  asked_.erase(request.path);
  const auto size = answer->status < 300
                        ? ParsePodGroupSize(answer->body)
                        : core::Result<int>(core::FailedError("its PodGroup cannot be read ({})",
                                                              RefusedInWords(request, *answer)));
  for (const std::string& uid : pods_.joins()) {
    const auto pod = book_.pods().find(uid);
    if (pod == book_.pods().end() || PodGroupPath(pod->second) != request.path) continue;
    if (size) pod->second.group_size = *size;
    if (!size) pod->second.no_group_size = size.error().message;
  }
}

}  // namespace sharewell::engine
