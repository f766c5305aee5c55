// KubeOutbox: what one look writes to the API server. It is gathered, the most urgent first, and
// sent all at once, so that a look waits for the API server once, whatever it has to say. A request
// that got no answer may have happened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_control_options.h"

namespace sharewell::engine {

struct KubeWritten {
  std::int64_t claims = 0, bindings = 0, evictions = 0, deletes = 0, conditions = 0, events = 0;
};

class KubeOutbox {
 public:
  // What is done with an answer.
  using TakeAnswer = std::function<void(const KubeRequest&, const core::Result<KubeAnswer>&)>;

  // `options` must outlive it.
  explicit KubeOutbox(const KubeControlOptions& options) : options_(options) {}

  void Begin();  // a look
  void Put(KubeRequest request, TakeAnswer take = {});
  bool empty() const { return writes_.empty(); }
  void Send();

  // There is more to write than one look does.
  void AskForMore() { more_ = true; }
  bool has_more() const { return more_; }
  // A write of this look had no answer; why.
  bool failed() const { return failed_; }
  const std::string& problem() const { return problem_; }
  // What a next try will not mend: shown until it is over.
  const std::string& right_problem() const { return right_problem_; }
  KubeWritten& written() { return written_; }

 private:
  struct Write {
    KubeRequest request;
    TakeAnswer take;
  };
  void HandleComplaint(const KubeRequest& request, const KubeAnswer& answer);

  const KubeControlOptions& options_;
  std::vector<Write> writes_;
  std::string problem_, right_problem_;
  bool failed_ = false, more_ = false;
  KubeWritten written_;
};

}  // namespace sharewell::engine
