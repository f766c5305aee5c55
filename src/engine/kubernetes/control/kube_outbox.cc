#include "engine/kubernetes/control/kube_outbox.h"

#include <algorithm>
#include <utility>

#include "core/result.h"

namespace sharewell::engine {

void KubeOutbox::Begin() {
  failed_ = more_ = false;
  problem_.clear();
}

void KubeOutbox::Put(KubeRequest request, TakeAnswer take) {
  writes_.push_back({std::move(request), std::move(take)});
}

// All at once, so that a Cycle waits for the API server once, whatever it has to say. A request
// that got no answer may have happened.
void KubeOutbox::Send() {
  if (writes_.empty()) return;
  const std::vector<Write> writes = std::exchange(writes_, {});
  std::vector<KubeRequest> requests;
  requests.reserve(writes.size());
  for (const Write& write : writes) requests.push_back(write.request);
  const auto answers = options_.ask(requests);
  SHAREWELL_CHECK(answers.size() == requests.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) {
      if (!std::exchange(failed_, true)) problem_ = answers[i].error().message;
    } else {
      HandleComplaint(requests[i], *answers[i]);
    }
    if (writes[i].take) writes[i].take(requests[i], answers[i]);
  }
}

// What a next try will not mend is said once, and shown until it is over.
void KubeOutbox::HandleComplaint(const KubeRequest& request, const KubeAnswer& answer) {
  if (answer.status == 401 || answer.status == 403) {
    std::string words = RefusedInWords(request, answer);
    if (answer.status == 401) words = "the API server does not know who asks (401): " + words;
    if (words != right_problem_) options_.log(words);
    right_problem_ = std::move(words);
  } else if (answer.status < 300 && request.path.find("/events") == std::string::npos) {
    right_problem_.clear();
  } else if (answer.status >= 500 || answer.status == 429) {
    // A disruption budget says 429 too: it is told of the pod.
    if (answer.status >= 500 && !std::exchange(failed_, true)) {
      problem_ = RefusedInWords(request, answer);
    }
  }
}

}  // namespace sharewell::engine
