#include "engine/kubernetes/control/kube_book.h"

#include <algorithm>
#include <utility>

namespace sharewell::engine {

KubeBook::KubeBook(KubeControlOptions options)
    : options_(std::move(options)),
      next_number_(std::max<std::int64_t>(options_.first_number, 1)) {}

const KubePod* KubeBook::PodOf(const KubeMember& member) const {
  const auto found = pods_.find(member.uid);
  return found == pods_.end() ? nullptr : &found->second;
}

bool HasFailedMember(const KubeBook& book, const KubeRun& run) {
  return std::any_of(run.members.begin(), run.members.end(), [&](const KubeMember& member) {
    const KubePod* pod = book.PodOf(member);
    if (pod == nullptr && member.last) pod = &*member.last;
    return pod != nullptr && pod->phase == KubePhase::kFailed;
  });
}

bool KubeBook::Remark(const std::string& words) {
  const bool is_new = IsNewRemark(words);
  if (is_new && out_ != nullptr) options_.log(words);
  return is_new;
}

void KubeBook::AskAgain(KubeRun& run) {
  if (run.step < KubeRun::Step::kBound) return;  // its binding may be under way
  for (KubeMember& member : run.members) member.asked.reset();
}

}  // namespace sharewell::engine
