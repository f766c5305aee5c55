// KubeBook: what is known of a Kubernetes cluster from one look to the next, as data: its pods and
// nodes as the API server shows them, which pods are one job, and the runs as they are wanted and
// as far as they have come. The parts of a KubeControl share it; each of them says which of it is
// its own to change. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster_book.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/control/kube_claims.h"
#include "engine/kubernetes/control/kube_control_options.h"
#include "engine/kubernetes/pods/pod_words.h"

namespace sharewell::engine {

// Claims of one look, and its bindings: each look waits for the answers to all that it writes.
inline constexpr std::size_t kMostKubeStartsAtOnce = 500;

// One pod of a run, at its place.
struct KubeMember {
  std::string uid, node;
  KubeClaim claim;
  std::optional<KubePod> last;         // as it was seen last, once it is gone
  std::optional<core::Seconds> asked;  // its binding, its eviction
  std::string version;                 // of the pod, when its binding was asked for
  bool kept = false;                   // its eviction is not allowed now
  // It has the place of one that failed, since; and is not bound yet.
  std::optional<core::Seconds> joins;
};

struct KubeRun : BookedRun {
  enum class Step : std::uint8_t { kPlace, kClaim, kBind, kBound, kRunning };

  std::vector<KubeMember> members;
  Step step = Step::kPlace;
  bool bind_sent = false;
  std::string stuck;   // told: why it does not begin, or does not leave
  std::string leaves;  // told: why it has to
  bool told_crashing = false;
  std::string refused;  // what the API server said last
};

// A job: one pod, or the pods of a group.
struct KubePodGroup {
  std::int64_t number = 0;
  std::string group;                 // "NAMESPACE/NAME"; empty: one pod
  std::vector<std::string> members;  // uids, in the order of their names
  PodWords words;                    // of the first
  KubeOwner owner;
  std::string name;
  bool told = false;
  std::optional<StartTerms> terms;           // as told
  std::string waits;                         // what the service says, for the condition
  std::string event_words;                   // told last as an Event
  std::string known;                         // of its needs, for the next server (pod_known.h)
  std::optional<core::UnixMillis> expected;  // when it should start, as it is to be told
  int evicted_before = 0;                    // ForeignQueue::ShowLeaving
  std::optional<core::Seconds> event_at, written_at;
  std::optional<core::Seconds> evicted;       // it waits for its owner's next pod since
  std::optional<core::Seconds> cancel_asked;  // its pods that wait are to be deleted
  bool withdrawn = false;                     // told

  // So many pods make it whole.
  std::size_t Size() const {
    return static_cast<std::size_t>(group.empty() ? 1 : words.group_size);
  }
};

// Of a node, by pods that are not ours.
struct KubeHostUse {
  double cores = 0;
  double memory = 0;

  friend bool operator==(const KubeHostUse&, const KubeHostUse&) = default;
};

struct KubeNodeHere : BookedNode {
  KubeNode kube;
  std::map<std::string, int> numbers;  // of its GPUs there, by uuid
  std::set<std::string> unlisted;      // uuids that its annotation does not list any more
  KubeClaims claims;                   // as the API server shows them
  std::string bad_claims;              // why they cannot be read
  bool there = false;
  bool changed = false;  // another GPU has a place of its
  std::optional<core::Seconds> down_since;
  std::optional<core::Seconds> asked;  // a change of its claims
  std::string asked_version;
  std::map<std::string, core::Seconds> resting;  // claims of nobody, since
  KubeClaims freed;                              // claims of ours that can go at once
  std::optional<core::Seconds> dead_since;       // there are claims to be removed
  KubeHostUse host_taken;                        // as told
  bool told_silent = false;                      // no agent is heard there
};

class KubeBook;
// A pod of it has failed, whatever became of the pod since.
bool HasFailedMember(const KubeBook& book, const KubeRun& run);

class KubeBook final : public ClusterBook<KubeRun, KubeNodeHere> {
 public:
  explicit KubeBook(KubeControlOptions options);
  KubeBook(const KubeBook&) = delete;  // parts refer to it
  KubeBook& operator=(const KubeBook&) = delete;

  const KubeControlOptions& options() const { return options_; }
  // A look begins: events go to `out` from now on.
  void Begin(core::Seconds now, std::vector<RunEvent>& out) {
    now_ = now;
    out_ = &out;
  }
  core::Seconds now() const { return now_; }
  std::vector<RunEvent>& out() { return *out_; }

  std::map<std::string, KubePod>& pods() { return pods_; }  // by uid: ours, and all that are bound
  const KubePod* PodOf(const KubeMember& member) const;     // null: it is gone
  std::map<std::int64_t, KubePodGroup>& groups() { return groups_; }
  std::map<std::string, std::int64_t>& group_of() { return group_of_; }  // by the pod's uid
  std::set<std::int64_t>& dirty() { return dirty_; }                     // groups to be looked at
  std::set<std::int64_t>& to_write() { return to_write_; }  // groups whose condition may be old
  std::int64_t& next_number() { return next_number_; }      // of jobs
  std::map<std::int64_t, KubeRun>& runs() { return runs_; }
  std::map<RunId, RunEnd>& ended() { return ended_; }
  std::set<std::int64_t>& cancel_waiting() { return cancel_waiting_; }
  std::set<std::int64_t>& expected() { return expected_; }
  std::map<std::string, KubeNodeHere>& nodes() { return nodes_; }
  std::set<std::string>& touched() { return touched_; }           // nodes whose pods changed
  std::map<std::string, std::string>& taken() { return taken_; }  // as told, by GPU
  // Of all that start terms are made of: nodes and volumes. Whoever changes them raises it.
  std::uint64_t& terms_version() { return terms_version_; }
  // Logs it once. False: it was said before.
  bool Remark(const std::string& words);

  void Expect(std::int64_t job) override { expected_.insert(job); }

  using ClusterBook::AddGpu;
  using ClusterBook::AnswerList;
  using ClusterBook::Emit;
  using ClusterBook::EmitChanged;
  using ClusterBook::GpuNamed;

 private:
  void AskAgain(KubeRun& run) override;

  const KubeControlOptions options_;
  std::map<std::string, KubePod> pods_;
  std::map<std::int64_t, KubePodGroup> groups_;
  std::map<std::string, std::int64_t> group_of_;
  std::set<std::int64_t> expected_, dirty_, to_write_;
  std::set<std::string> touched_;
  std::uint64_t terms_version_ = 1;
  std::int64_t next_number_;
};

}  // namespace sharewell::engine
