// KubeControl: what a Kubernetes cluster does and what it is told, one look at a time. KubeRunner
// calls it on a thread of its own; tests call it on a clock of theirs. One thread. It is given what
// changed (reflector.h), and writes through one function that may wait.
//
// A pod is started in steps, each of which may fail, hang, or happen without its answer: its GPUs
// are claimed in the node's annotation (kube_claims.h), and only when the API server shows the
// claim is the pod bound, in one write with its annotations. What was done is never taken from an
// answer but read from the watch; every step can be done again. That makes it safe to end at any
// point and begin anew: all that must survive stands in claims, bindings and status.
//
// Numbers of jobs are short, and stand in a condition of the pod's status, which its user cannot
// write. Until the first look at the queue has been written there, a server that is killed gives
// the pod another number.
//
// Pods of one group are one job: all start or none. A pod that was evicted by us, or lost its node,
// is the same job again when its owner makes the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster_book.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/api/reflector.h"
#include "engine/kubernetes/control/kube_claims.h"
#include "engine/kubernetes/pods/pod_words.h"
#include "engine/runner.h"
#include "engine/watched_runs.h"

namespace sharewell::engine {

struct KubeControlOptions {
  GpuModelNamed model;                     // REQUIRED
  std::function<core::UnixMillis()> wall;  // REQUIRED: the time of day
  // Many requests at once; answers in their order. REQUIRED.
  std::function<std::vector<core::Result<KubeAnswer>>(std::span<const KubeRequest>)> ask;
  std::string scheduler = "sharewell";  // pods with this schedulerName are ours
  std::string name_space;               // of this namespace alone; empty: of all
  std::int64_t first_number = 1;        // no job before it is new
  core::Seconds start_within{60};       // of a claim; then the start is refused
  core::Seconds again_after{15};        // a stop or a cancel is said again
  core::Seconds write_again{3};         // what the API server does not show
  core::Seconds lost_after{60};         // a node that is not ready is lost
  core::Seconds claim_rests{30};        // of somebody who did not bind; then it is taken away
  core::Seconds remade_within{600};     // an evicted pod by its owner
  core::Seconds words_every{10};        // a pod's condition is written
  // What it needs by the model that its user names, and by its namespace. Empty: nobody can say.
  // It must not wait: absent is not known yet, and asked again with the next Cycle.
  std::function<std::optional<core::Result<core::Needs>>(
      const std::string& name_space, const PodWords& words, const core::Submission& asked)>
      predict = {};
  StepsOfRuns steps = {};        // empty: nobody watches the nodes
  core::Seconds steps_every{1};  // it is asked
  // Whether an agent is at work on that node; absent: not known yet. Without one nobody would see
  // who slows whom, so its GPUs are not shared. Empty: nobody asks for agents. It must not wait.
  std::function<std::optional<bool>(const std::string& node)> watched = {};
  std::function<void(const std::string&)> log = [](const std::string&) {};
  // Whether new jobs may have numbers up to `last`, as no other server gives them out; asked again
  // with the next Cycle. Empty: they may.
  std::function<bool(std::int64_t last)> may_number = {};
};

// One pod of a run, at its place.
struct KubeMember {
  std::string uid, node;
  KubeClaim claim;
  std::optional<KubePod> last;         // as it was seen last, once it is gone
  std::optional<core::Seconds> asked;  // its binding, its eviction
  std::string version;                 // of the pod, when its binding was asked for
  bool kept = false;                   // its eviction is not allowed now
};

struct KubeRun : BookedRun {
  enum class Step : std::uint8_t { kPlace, kClaim, kBind, kBound, kRunning };

  std::vector<KubeMember> members;
  Step step = Step::kPlace;
  bool bind_sent = false;
  std::string stuck;    // told: why it does not begin, or does not leave
  std::string refused;  // what the API server said last
};

struct KubeNodeHere : BookedNode {
  KubeNode kube;
  std::map<std::string, int> numbers;  // of its GPUs there, by uuid
  KubeClaims claims;                   // as the API server shows them
  std::string bad_claims;              // why they cannot be read
  bool there = false;
  std::optional<core::Seconds> down_since;
  std::optional<core::Seconds> asked;  // a change of its claims
  std::string asked_version;
  std::map<std::string, core::Seconds> resting;  // claims of nobody, since
  KubeClaims freed;                              // claims of ours that can go at once
  std::optional<core::Seconds> dead_since;       // there are claims to be removed
  bool told_silent = false;                      // no agent is heard there
};

class KubeControl : public ClusterBook<KubeRun, KubeNodeHere> {
 public:
  explicit KubeControl(KubeControlOptions options);

  // What changed, in order. A record that cannot be read is a remark.
  void HandlePods(std::span<const KubeChange> changes);
  void HandleNodes(std::span<const KubeChange> changes);
  void TakeVolumeClaims(std::span<const KubeChange> changes);
  void TakeVolumes(std::span<const KubeChange> changes);
  // Whether all that there is was told; until then nothing is started, and nothing is taken to be
  // gone.
  void SetCurrent(bool current) { current_ = current; }
  // May it write? False: another server leads. Nothing is written then.
  void SetLeads(bool leads) { leads_ = leads; }

  // Those that are up. The first call: later on, events tell what changes.
  std::vector<RunnerNode> Open(core::Seconds now);
  const std::string& problem() const { return problem_; }
  void SetProblem(std::string words) { outside_problem_ = std::move(words); }

  std::vector<RunRequest> Recover();
  void Expect(std::int64_t job) override { expected_.insert(job); }
  void Emit(std::int64_t job, std::string words);

  // All that follows from what was told since. When the next one is due although nothing came.
  core::Seconds Cycle(core::Seconds now, std::vector<RunEvent>& out);

  struct Written {
    std::int64_t claims = 0, bindings = 0, evictions = 0, deletes = 0, conditions = 0, events = 0;
  };
  const Written& written() const { return written_; }

 private:
  using Step = KubeRun::Step;
  using Member = KubeMember;
  using Run = KubeRun;
  using NodeHere = KubeNodeHere;
  using MembersByNode = std::map<std::string, std::vector<const Member*>>;
  // A job: one pod, or the pods of a group.
  struct PodGroup {
    std::int64_t number = 0;
    std::string group;                 // "NAMESPACE/NAME"; empty: one pod
    std::vector<std::string> members;  // uids, in the order of their names
    PodWords words;                    // of the first
    KubeOwner owner;
    std::string name;
    bool told = false;
    std::optional<StartTerms> terms;  // as told
    std::uint64_t terms_version = 0;  // of what they were made of
    std::string waits;                // what the service says, for the condition
    std::string event_words;          // told last as an Event
    std::optional<core::Seconds> event_at, written_at;
    std::optional<core::Seconds> evicted;  // it waits for its owner's next pod since
    bool withdrawn = false;                // told
  };
  struct HostUse {
    double cores = 0;
    double memory = 0;
    friend bool operator==(const HostUse&, const HostUse&) = default;
  };

  // A request of this Cycle, and what is done with its answer.
  using TakeAnswer = std::function<void(const KubeRequest&, const core::Result<KubeAnswer>&)>;
  struct Write {
    KubeRequest request;
    TakeAnswer take;
  };

  // kube_control.cc
  using ClusterBook::Emit;
  void AskAgain(Run& run) override;
  void TakeComplaint(const KubeRequest& request, const KubeAnswer& answer);
  core::Seconds NextDue() const;
  void Put(KubeRequest request, TakeAnswer take = {});
  void SendEvents();
  void SendWrites();
  bool Starts() const;

  // kube_control_pods.cc
  void PutPod(KubePod pod);
  void DropPod(const std::string& uid);
  bool IsOurs(const KubePod& pod) const;
  void JoinAll();
  std::set<std::string> Leaving() const;
  void Join(const KubePod& pod);
  void AwaitOwner(PodGroup& pod_group);
  void ForgetGone(PodGroup& pod_group);
  void DropPodGroup(std::int64_t number);
  PodGroup& NewPodGroup(const KubePod& pod, const std::string& group);
  void EmitExpected();
  void EmitWaiting();
  void EmitOne(PodGroup& pod_group);
  StartTerms TermsOf(const PodGroup& pod_group);
  const StartTerms& NodesFor(const KubePod& pod);
  std::string WhyItWaits(const PodGroup& pod_group) const;
  std::string WhyVolumesWait(const KubePod& pod) const;
  bool VolumesAllow(const KubePod& pod, const KubeNode& node) const;
  void Withdraw(PodGroup& pod_group, RunId id, std::string why);
  void SendWaits();
  void SendCancels();

  // kube_control_nodes.cc
  void HandleNode(KubeNode node);
  void EmitNodes(bool first);
  void EmitTaken();
  void EmitHostTaken();
  void Remark(const std::string& words);
  KubeAmounts UsedOn(const std::string& node, const MembersByNode& members) const;
  bool IsLost(const std::string& node) const;
  void TouchNode(const std::string& name) { touched_.insert(name); }

  // kube_control_place.cc
  MembersByNode Placed() const;
  void Place();
  bool PlaceOne(Run& run, MembersByNode& placed);
  std::string SplitGpus(const Run& run, const PodGroup& pod_group,
                        std::vector<Member>& members) const;
  KubeClaim ClaimOf(const RunRequest& request, std::vector<std::string> gpus,
                    std::size_t pods) const;
  std::string WhyNotHere(const Member& member, const MembersByNode& placed);
  KubeClaims WantedClaims(NodeHere& here, const MembersByNode& placed);
  bool IsDead(NodeHere& here, const std::string& uid);
  void Free(const Member& member);
  bool IsOthers(NodeHere& here, const Member& member);
  void GiveUpLostClaims();
  void SendClaims();
  void TakeClaimAnswer(const KubeRequest& request, const std::string& node,
                       const core::Result<KubeAnswer>& answer);
  void TakeBindAnswer(const KubeRequest& request, std::int64_t job,
                      const core::Result<KubeAnswer>& answer);
  bool ClaimsAreShown(const Run& run) const;
  void SendBindings();
  void AdvanceBinding(std::int64_t job);

  // kube_control_watched.cc
  void EmitSteps();
  void EmitWatched();

  // kube_control_runs.cc
  void AdvanceRuns();
  void AdvanceBefore(std::int64_t job);
  bool LosesPod(std::int64_t job, const std::vector<std::string>& uids);
  void AdvanceBound(std::int64_t job);
  void SendStops();
  void TakeStopAnswer(const KubeRequest& request, std::int64_t job, std::size_t member,
                      const core::Result<KubeAnswer>& answer);
  void KeepRun(Run& run, const std::string& why);
  bool AllOver(const Run& run) const;
  RunEnd EndOf(const Run& run) const;
  void EndRun(std::int64_t job, RunEnd end);
  void Refuse(std::int64_t job, std::string why);
  void EmitStarted(Run& run);
  void TakeOver(std::int64_t job, const std::string& how);
  const KubePod* PodOf(const Member& member) const;
  std::string NameOf(const Run& run) const;
  void QueueEvent(const KubePod& pod, const KubeEventWords& words);

  const KubeControlOptions options_;
  std::optional<core::Seconds> steps_asked_, watched_asked_;
  bool current_ = false, leads_ = true, opened_ = false;
  bool newest_eviction_ = true;
  std::map<std::string, KubePod> pods_;                   // by uid: ours, and all that are bound
  std::map<std::string, std::set<std::string>> on_node_;  // bound pods that are not over, by node
  std::map<std::string, KubeVolumeClaim> volume_claims_;  // by "NAMESPACE/NAME"
  std::map<std::string, KubeVolume> volumes_;
  std::map<std::int64_t, PodGroup> pod_groups_;
  std::map<std::string, std::int64_t> pod_group_of_;  // by uid
  std::map<std::string, std::int64_t> group_;         // that is not complete, by "NAMESPACE/NAME"
  std::set<std::int64_t> expected_;
  std::map<std::int64_t, core::Seconds> cancel_asked_;
  std::set<std::string> joins_;                            // pods that are new, by uid
  std::map<std::string, std::set<std::int64_t>> awaited_;  // groups that were evicted, by owner
  std::set<std::int64_t> dirty_;                           // groups to be looked at
  std::set<std::int64_t> to_write_;                        // groups whose condition may be old
  std::int64_t next_to_write_ = 0;                         // whose turn it is
  std::set<std::string> touched_;                          // nodes whose pods changed
  std::map<std::string, HostUse> host_taken_;              // as told, by node
  std::map<std::string, StartTerms> shapes_;               // where pods of one shape may run
  std::uint64_t terms_version_ = 1, shapes_version_ = 0, told_version_ = 0;
  std::vector<Write> writes_;                  // of the Cycle under way, the most urgent first
  std::map<std::string, KubeRequest> events_;  // to be written, by uid: the newest of each pod
  std::deque<std::string> event_turns_;        // their uids
  std::int64_t next_number_;
  std::string problem_, outside_problem_, right_problem_;
  bool failed_ = false;                     // a write of this Cycle had no answer
  std::optional<core::Seconds> next_told_;  // when conditions and Events are written again
  bool busy_ = false;        // pods are being started: what is for people waits for them
  bool no_numbers_ = false;  // new pods wait for numbers
  bool more_ = false;        // there is more to write than one Cycle does
  Written written_;
};

}  // namespace sharewell::engine
