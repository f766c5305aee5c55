// FakeKube: a Kubernetes cluster that is played: an API server with its rules for writes
// (resourceVersion, bindings, evictions), kubelets that start and end pods, owners that make
// evicted pods again, and answers that fail or get lost after what was asked has happened. On a
// clock of the test's.
//
// What must never happen is looked for all the while: a pod that is bound without a claim, a GPU
// that is over-committed, a job that runs twice. `wrong` says what did first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/foreign_queue.h"
#include "engine/kubernetes/control/kube_control.h"
#include "engine/runner.h"
#include "testing/random_case.h"
#include "testing/runner_history.h"

namespace sharewell::fixtures {

// How a pod is made, and how it runs.
struct KubeTold {
  core::Seconds lasts{10};
  int exit_code = 0;
  std::string owner = {};                            // empty: none, and it is not made again
  std::map<std::string, std::string> annotations{};  // without the prefix
  std::int64_t number = 0;                           // in its status; 0: none
  std::string name_space = "team";
  std::string scheduler = "sharewell";
  std::string cpu = "1", memory = "1Gi";
  nlohmann::json meta = nlohmann::json::object();  // merged over its metadata
  bool injected = true;                            // it reads its GPUs from the binding
  nlohmann::json spec = nlohmann::json::object();  // merged over the rest
};

class FakeKube {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kFails,  // nothing was done, no answer
    kLost,   // it was done, no answer
    kBusy,   // 500, nothing was done
  };

  explicit FakeKube(std::uint64_t seed = 1) : dice_(seed) {}

  void AddNode(const std::string& name, const std::vector<std::string>& gpus,
               const std::string& model, int cpus = 16);
  void SetReady(const std::string& name, bool ready);
  void ChangeNode(const std::string& name, const nlohmann::json& patch);
  void RemoveNode(const std::string& name);  // and all its pods
  bool HasNode(const std::string& name) const { return nodes_.contains(name); }
  nlohmann::json& node(const std::string& name) { return nodes_.at(name); }
  // Its uid.
  std::string AddPod(const std::string& name, KubeTold told = {});
  void ChangePod(const std::string& key, const nlohmann::json& patch);
  void DeletePod(const std::string& key);              // as a user does
  void EndPod(const std::string& key, int exit_code);  // one that runs
  bool HasPod(const std::string& key) const { return pods_.contains(key); }
  nlohmann::json& pod(const std::string& key) { return pods_.at(key).json; }  // "team/a"
  const std::map<std::string, int>& starts() const { return starts_; }        // by pod
  std::vector<std::string> Running() const;                                   // by key
  std::int64_t JobOf(const std::string& key) const;  // by its binding; 0: none
  bool HasPodOf(std::int64_t number) const { return numbers_.contains(number); }
  void AddVolume(const std::string& claim, const std::string& volume,
                 const nlohmann::json& terms = nullptr);

  std::vector<core::Result<engine::KubeAnswer>> Ask(std::span<const engine::KubeRequest> requests);
  // What changed since the last time goes to it.
  void Emit(engine::KubeControl& control);
  // A new one that knows nothing: all that there is.
  void EmitAll(engine::KubeControl& control);

  void Advance(core::Seconds to);
  core::Seconds now() const { return now_; }
  bool HasNews() const { return !pod_changes_.empty() || !node_changes_.empty(); }
  bool quiet() const;  // nothing is bound that has not ended

  std::deque<Fault> faults;  // of the next requests, in turn
  double chance_of_fault = 0;
  core::Seconds leaving{1};  // told to end, to gone
  core::Seconds remaking{0.5};
  bool knows_policy_v1 = true;
  bool starts_pods = true;
  std::set<std::string> budgets;                     // keys of pods that may not be evicted
  std::map<std::string, int> refuse;                 // requests whose path ends so: status
  std::map<std::string, nlohmann::json> pod_groups;  // what a GET of that path brings
  std::vector<engine::KubeRequest> log;              // that arrived
  std::vector<std::string> events;                   // messages
  std::vector<std::string> reasons;                  // of them, each with its pod: "Shared a"
  std::string wrong;

 private:
  struct Pod {
    nlohmann::json json;
    KubeTold told;
    std::optional<core::Seconds> ends, leaves;
    bool remade = false;  // by its owner, once it is gone
  };
  engine::KubeAnswer Carry(const engine::KubeRequest& request);
  engine::KubeAnswer OnNode(const std::string& name, const engine::KubeRequest& request);
  engine::KubeAnswer OnPod(Pod& pod, const std::string& key, const std::string& part,
                           const engine::KubeRequest& request);
  engine::KubeAnswer Bind(Pod& pod, const std::string& key, const nlohmann::json& binding);
  void Put(Pod& pod);
  void PutNode(const std::string& name);
  void Gone(const std::string& key);
  core::Seconds Happen();
  void Audit();
  std::string Version() { return std::to_string(++version_); }
  core::UnixMillis Wall() const {
    return 1'800'000'000'000 + static_cast<core::UnixMillis>(now_.value * 1e3);
  }

  Dice dice_;
  core::Seconds now_;
  std::int64_t version_ = 100, uids_ = 0;
  std::map<std::string, Pod> pods_;  // by "NAMESPACE/NAME"
  std::map<std::string, nlohmann::json> nodes_, claims_, volumes_;
  std::vector<std::pair<core::Seconds, std::pair<std::string, KubeTold>>> to_make_;
  std::vector<engine::KubeChange> pod_changes_, node_changes_;
  std::map<std::string, int> starts_;
  std::set<std::int64_t> numbers_;
};

// A KubeControl over it as a runner, on its clock.
class FakeKubeRunner : public engine::Runner, public engine::ForeignQueue {
 public:
  explicit FakeKubeRunner(FakeKube& kube) : control(Options(kube)), kube_(kube) {}
  static engine::KubeControlOptions Options(FakeKube& kube);
  void Open();

  core::Seconds Now() override { return kube_.now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override {
    Asked();
    order.cancels ? control.Cancel(id) : control.Stop(id);
  }
  void Change(engine::RunId, const engine::RunBounds&) override {}
  std::vector<engine::RunRequest> Recover() override { return control.Recover(); }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId id) override { control.Forget(id); }
  void Expect(std::int64_t job) override { control.Expect(job); }
  void CancelWaiting(std::int64_t job) override { Asked(), control.CancelWaiting(job); }
  void ShowReason(std::int64_t job, const std::string& words) override {
    control.notices().Put(job, words);
  }
  void ShowLeaving(std::int64_t job, int evicted, const std::string& words) override {
    control.notices().PutLeaving(job, evicted, words);
  }
  std::string Problem() override { return control.problem(); }

  engine::KubeControl control;
  std::function<void(const engine::RunRequest&)> before_start = {};
  std::optional<core::Seconds> list_every = {};  // it tells all that is there

 private:
  void Asked() { asked_ = true; }

  FakeKube& kube_;
  core::Seconds due_;
  core::Seconds listed_at_ = kube_.now();
  bool asked_ = true;
};

// For RunnerHistory: its jobs are made as pods when they are first started; one of several GPUs is
// a group of pods of one each.
class KubeSide : public RunnerSide {
 public:
  KubeSide(int nodes, std::uint64_t seed, double chance_of_fault);
  engine::Runner& runner() override { return runner_; }
  void NodeGoes(const std::string& name) override;
  void NodeComes(const engine::RunnerNode& node) override;
  bool quiet() const override { return kube.quiet(); }
  std::string wrong() const override { return kube.wrong; }

  FakeKube kube;

 private:
  Dice dice_;
  FakeKubeRunner runner_;
};

}  // namespace sharewell::fixtures
