#include "testing/fake_kube.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"

namespace sharewell::fixtures {

using core::Result;
using core::Seconds;
using engine::KubeAnswer;
using engine::KubeChange;
using engine::KubeRequest;
using engine::RunEvent;
using nlohmann::json;

namespace {

KubeAnswer Says(int status, const std::string& message) {
  KubeAnswer answer;
  answer.status = status;
  answer.body = json{{"kind", "Status"}, {"message", message}, {"code", status}}.dump();
  return answer;
}

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path + "/") {
    if (c != '/') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  return parts;
}

std::string PhaseOf(const json& pod) { return pod["status"].value("phase", "Pending"); }
bool IsOver(const json& pod) { return PhaseOf(pod) == "Succeeded" || PhaseOf(pod) == "Failed"; }
std::string NodeNameOf(const json& pod) { return pod["spec"].value("nodeName", ""); }

// Conditions are merged by their type.
void MergeStatus(json& pod, const json& patch) {
  const json status = patch.value("status", json::object());
  for (const auto& [key, value] : status.items()) {
    if (key != "conditions") {
      pod["status"][key] = value;
      continue;
    }
    json& all = pod["status"]["conditions"];
    if (!all.is_array()) all = json::array();
    for (const json& one : value) {
      auto same = std::find_if(all.begin(), all.end(),
                               [&](const json& has) { return has["type"] == one["type"]; });
      if (same == all.end()) {
        all.push_back(one);
      } else {
        *same = one;
      }
    }
  }
}

}  // namespace

void FakeKube::PutNode(const std::string& name) {
  nodes_.at(name)["metadata"]["resourceVersion"] = Version();
  node_changes_.push_back(
      {KubeChange::Kind::kPut, name, nodes_.at(name)["metadata"]["uid"], nodes_.at(name).dump()});
}

void FakeKube::AddNode(const std::string& name, const std::vector<std::string>& gpus,
                       const std::string& model, int cpus) {
  nodes_[name] = {
      {"metadata",
       {{"name", name},
        {"uid", "node-" + name + "-" + std::to_string(++uids_)},
        {"annotations",
         {{"sharewell.io/gpus", fmt::format("{} {}", model, fmt::join(gpus, " "))}}}}},
      {"spec", json::object()},
      {"status",
       {{"allocatable", {{"cpu", std::to_string(cpus)}, {"memory", "64Gi"}, {"pods", "110"}}},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  PutNode(name);
}

void FakeKube::SetReady(const std::string& name, bool ready) {
  nodes_.at(name)["status"]["conditions"] = {{{"type", "Ready"},
                                              {"status", ready ? "True" : "Unknown"},
                                              {"message", "Kubelet stopped posting node status."}}};
  PutNode(name);
}

void FakeKube::ChangeNode(const std::string& name, const json& patch) {
  nodes_.at(name).merge_patch(patch);
  PutNode(name);
}

void FakeKube::RemoveNode(const std::string& name) {
  node_changes_.push_back({KubeChange::Kind::kGone, name, nodes_.at(name)["metadata"]["uid"], ""});
  nodes_.erase(name);
  std::vector<std::string> there;
  for (const auto& [key, pod] : pods_) {
    if (NodeNameOf(pod.json) == name) there.push_back(key);
  }
  for (const std::string& key : there) {
    if (!IsOver(pods_.at(key).json)) pods_.at(key).remade = true;
    Gone(key);
  }
}

void FakeKube::Put(Pod& pod) {
  json& meta = pod.json["metadata"];
  meta["resourceVersion"] = Version();
  pod_changes_.push_back(
      {KubeChange::Kind::kPut,
       meta["namespace"].get<std::string>() + "/" + meta["name"].get<std::string>(), meta["uid"],
       pod.json.dump()});
}

std::string FakeKube::AddPod(const std::string& name, KubeTold told) {
  const std::string uid = fmt::format("uid-{}", ++uids_);
  Pod pod;
  json& meta = pod.json["metadata"];
  meta = {{"name", name},
          {"namespace", told.name_space},
          {"uid", uid},
          {"creationTimestamp",
           fmt::format("2027-01-15T{:02}:{:02}:{:02}Z", static_cast<int>(now_.value) / 3600 % 24,
                       static_cast<int>(now_.value) / 60 % 60, static_cast<int>(now_.value) % 60)}};
  for (const auto& [key, value] : told.annotations) {
    meta["annotations"]["sharewell.io/" + key] = value;
  }
  if (!told.owner.empty()) {
    meta["ownerReferences"] = {
        {{"kind", "Job"}, {"name", told.owner}, {"uid", "of-" + told.owner}, {"controller", true}}};
  }
  meta.merge_patch(told.meta);
  pod.json["spec"] = {
      {"schedulerName", told.scheduler},
      {"containers",
       {{{"name", "main"},
         {"image", "train"},
         {"resources", {{"requests", {{"cpu", told.cpu}, {"memory", told.memory}}}}}}}}};
  if (told.injected) {
    pod.json["spec"]["containers"][0]["env"] = {
        {{"name", std::string(engine::kKubeGpuVariable)},
         {"valueFrom", {{"fieldRef", {{"fieldPath", std::string(engine::kKubeGpuField)}}}}}}};
  }
  pod.json["spec"].merge_patch(told.spec);
  pod.json["status"] = {{"phase", "Pending"}};
  if (told.number > 0) {
    numbers_.insert(told.number);
    pod.json["status"]["conditions"] = {{{"type", std::string(engine::kKubeJobCondition)},
                                         {"status", "True"},
                                         {"message", std::to_string(told.number)}}};
  }
  const std::string key = told.name_space + "/" + name;
  pod.told = std::move(told);
  Pod& kept = pods_[key] = std::move(pod);
  Put(kept);
  return uid;
}

void FakeKube::ChangePod(const std::string& key, const json& patch) {
  Pod& pod = pods_.at(key);
  json rest = patch;
  MergeStatus(pod.json, patch);
  rest.erase("status");
  pod.json.merge_patch(rest);
  Put(pod);
}

void FakeKube::Gone(const std::string& key) {
  Pod& pod = pods_.at(key);
  pod_changes_.push_back(
      {KubeChange::Kind::kGone, key, pod.json["metadata"]["uid"], pod.json.dump()});
  if (pod.remade && !pod.told.owner.empty()) {
    KubeTold next = pod.told;
    next.number = 0;
    const std::string name = pod.json["metadata"]["name"];
    to_make_.push_back({now_ + remaking, {name.substr(0, name.find('~')), std::move(next)}});
  }
  pods_.erase(key);
}

void FakeKube::DeletePod(const std::string& key) {
  Pod& pod = pods_.at(key);
  if (NodeNameOf(pod.json).empty() || IsOver(pod.json)) return Gone(key);
  pod.json["metadata"]["deletionTimestamp"] = "2027-01-15T00:00:00Z";
  if (!pod.leaves) pod.leaves = now_ + leaving;
  Put(pod);
}

void FakeKube::EndPod(const std::string& key, int exit_code) {
  pods_.at(key).told.exit_code = exit_code;
  pods_.at(key).ends = now_;
  Happen();
}

void FakeKube::AddVolume(const std::string& claim, const std::string& volume, const json& terms) {
  claims_["team/" + claim] = {{"metadata", {{"name", claim}, {"namespace", "team"}}},
                              {"spec", {{"volumeName", volume}}},
                              {"status", {{"phase", volume.empty() ? "Pending" : "Bound"}}}};
  if (volume.empty()) return;
  volumes_[volume] = {{"metadata", {{"name", volume}}}, {"spec", json::object()}};
  if (!terms.is_null()) {
    volumes_[volume]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = terms;
  }
}

std::vector<std::string> FakeKube::Running() const {
  std::vector<std::string> keys;
  for (const auto& [key, pod] : pods_) {
    if (PhaseOf(pod.json) == "Running") keys.push_back(key);
  }
  return keys;
}

std::int64_t FakeKube::JobOf(const std::string& key) const {
  const json& meta = pods_.at(key).json["metadata"];
  if (!meta.contains("annotations") || !meta["annotations"].contains("sharewell.io/job")) return 0;
  return std::stoll(meta["annotations"]["sharewell.io/job"].get<std::string>());
}

bool FakeKube::quiet() const {
  return std::all_of(pods_.begin(), pods_.end(), [](const auto& one) {
    return NodeNameOf(one.second.json).empty() || IsOver(one.second.json);
  });
}

std::vector<Result<KubeAnswer>> FakeKube::Ask(std::span<const KubeRequest> requests) {
  std::vector<Result<KubeAnswer>> answers;
  for (const KubeRequest& request : requests) {
    Fault fault = Fault::kNone;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    } else if (dice_.Chance(chance_of_fault)) {
      fault = static_cast<Fault>(dice_.Between(1, 3));
    }
    if (fault == Fault::kBusy) {
      answers.emplace_back(Says(500, "etcdserver: request timed out"));
      continue;
    }
    if (fault != Fault::kFails) log.push_back(request);
    auto answer = fault == Fault::kFails ? KubeAnswer() : Carry(request);
    if (fault == Fault::kNone) {
      answers.emplace_back(std::move(answer));
    } else {
      answers.emplace_back(core::FailedError("the API server does not answer within 10 s"));
    }
  }
  return answers;
}

KubeAnswer FakeKube::Carry(const KubeRequest& request) {
  for (const auto& [end, status] : refuse) {
    if (request.path.ends_with(end)) return Says(status, "refused by the test");
  }
  const auto parts = SplitPath(request.path);
  if (parts.size() == 4 && parts[2] == "nodes") return OnNode(parts[3], request);
  if (parts.size() == 7 && parts[5] == "podgroups") {
    const auto found = pod_groups.find(request.path);
    if (found == pod_groups.end()) return Says(404, "the server could not find the resource");
    KubeAnswer answer = Says(200, "");
    answer.body = found->second.dump();
    return answer;
  }
  if (parts.size() == 5 && parts[4] == "events") {
    const json event = json::parse(request.body);
    events.push_back(event["message"]);
    reasons.push_back(fmt::format("{} {}", event["reason"].get<std::string>(),
                                  event["involvedObject"]["name"].get<std::string>()));
    return Says(201, "");
  }
  if (parts.size() >= 6 && parts[4] == "pods") {
    const std::string key = parts[3] + "/" + parts[5];
    const auto pod = pods_.find(key);
    if (pod == pods_.end()) return Says(404, fmt::format("pods \"{}\" not found", parts[5]));
    return OnPod(pod->second, key, parts.size() > 6 ? parts[6] : "", request);
  }
  if (wrong.empty()) wrong = "nobody knows " + request.path;
  return Says(404, "not found");
}

KubeAnswer FakeKube::OnNode(const std::string& name, const KubeRequest& request) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return Says(404, fmt::format("nodes \"{}\" not found", name));
  json patch = json::parse(request.body);
  if (patch["metadata"]["resourceVersion"] != node->second["metadata"]["resourceVersion"] ||
      patch["metadata"]["uid"] != node->second["metadata"]["uid"]) {
    return Says(409,
                "the object has been modified; please apply your changes to the latest version");
  }
  node->second.merge_patch(patch);
  PutNode(name);
  return Says(200, "");
}

KubeAnswer FakeKube::OnPod(Pod& pod, const std::string& key, const std::string& part,
                           const KubeRequest& request) {
  const json body = json::parse(request.body);
  const json& uid = pod.json["metadata"]["uid"];
  if (part == "binding") return Bind(pod, key, body);
  if (part == "status") {
    if (body["metadata"]["uid"] != uid) return Says(409, "uid");
    MergeStatus(pod.json, body);
    if (body["metadata"].contains("annotations")) {
      pod.json["metadata"]["annotations"].merge_patch(body["metadata"]["annotations"]);
    }
    Put(pod);
    return Says(200, "");
  }
  const json& conditions =
      part == "eviction" ? body["deleteOptions"]["preconditions"] : body["preconditions"];
  if (conditions["uid"] != uid) return Says(409, "the uid in the precondition is another one");
  if (part == "eviction") {
    if (!knows_policy_v1 && body["apiVersion"] == "policy/v1") {
      return Says(400, "no kind \"Eviction\" is registered for version \"policy/v1\"");
    }
    if (budgets.contains(key)) {
      return Says(429, "Cannot evict pod as it would violate the pod's disruption budget.");
    }
    pod.remade = true;
  }
  DeletePod(key);
  return Says(201, "");
}

KubeAnswer FakeKube::Bind(Pod& pod, const std::string& key, const json& binding) {
  const std::string name = binding["target"]["name"];
  if (!NodeNameOf(pod.json).empty()) {
    return Says(409, fmt::format("pod {} is already assigned to node", key));
  }
  // As newer servers do: 1.20 ignores both.
  if (binding["metadata"]["uid"] != pod.json["metadata"]["uid"]) return Says(409, "uid");
  if (binding["metadata"]["resourceVersion"] != pod.json["metadata"]["resourceVersion"]) {
    return Says(409, "the object has been modified");
  }
  const std::string uid = pod.json["metadata"]["uid"];
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) {
    if (wrong.empty()) wrong = fmt::format("{} is bound to {}, which is not there", key, name);
    return Says(201, "");
  }
  const auto claims = engine::ParseKubeClaims(
      node->second["metadata"]["annotations"].value("sharewell.io/claims", ""));
  if (wrong.empty() && (!claims || !claims->contains(uid) ||
                        fmt::format("{}", fmt::join(claims->at(uid).gpus, ",")) !=
                            binding["metadata"]["annotations"]["sharewell.io/gpu-ids"])) {
    wrong = fmt::format("{} is bound to {} without a claim", key, name);
  }
  pod.json["spec"]["nodeName"] = name;
  for (const auto& [field, value] : binding["metadata"]["annotations"].items()) {
    pod.json["metadata"]["annotations"][field] = value;
  }
  MergeStatus(pod.json,
              {{"status", {{"conditions", {{{"type", "PodScheduled"}, {"status", "True"}}}}}}});
  Put(pod);
  Audit();
  return Says(201, "");
}

// By what the bindings say, and what stands in the nodes.
void FakeKube::Audit() {
  std::map<std::string, std::vector<bool>> shares;  // by GPU
  std::map<std::int64_t, std::set<std::string>> attempts;
  for (const auto& [key, pod] : pods_) {
    const std::string node = NodeNameOf(pod.json);
    if (node.empty() || IsOver(pod.json) || JobOf(key) == 0 || !nodes_.contains(node)) continue;
    attempts[JobOf(key)].insert(pod.json["metadata"]["annotations"]["sharewell.io/attempt"]);
    const auto claims = engine::ParseKubeClaims(
        nodes_.at(node)["metadata"]["annotations"].value("sharewell.io/claims", ""));
    const std::string uid = pod.json["metadata"]["uid"];
    if (!claims || !claims->contains(uid)) {
      if (wrong.empty()) wrong = fmt::format("{} runs, and its claim is gone", key);
      continue;
    }
    for (const std::string& gpu : claims->at(uid).gpus)
      shares[gpu].push_back(claims->at(uid).shares);
  }
  for (const auto& [gpu, all] : shares) {
    const bool alone = std::find(all.begin(), all.end(), false) != all.end();
    if (wrong.empty() && alone && all.size() > 1) wrong = fmt::format("{} is over-committed", gpu);
  }
  for (const auto& [job, all] : attempts) {
    if (wrong.empty() && all.size() > 1) wrong = fmt::format("job {} runs twice", job);
  }
}

// What is due; when something else will be.
Seconds FakeKube::Happen() {
  std::vector<std::string> gone;
  Seconds next(1e18);
  for (auto& [key, pod] : pods_) {
    const std::string name = NodeNameOf(pod.json);
    if (name.empty() || !nodes_.contains(name)) continue;
    const bool ready = nodes_.at(name)["status"]["conditions"][0]["status"] == "True";
    if (pod.leaves) {
      // Of a node that does not answer the garbage collector takes it.
      const Seconds leaves = *pod.leaves + Seconds(ready ? 0 : 5);
      next = std::min(next, leaves);
      if (now_ >= leaves) gone.push_back(key);
      continue;
    }
    if (IsOver(pod.json) || !ready) continue;
    if (PhaseOf(pod.json) == "Pending" && starts_pods) {
      pod.json["status"]["phase"] = "Running";
      pod.ends = now_ + pod.told.lasts;
      ++starts_[key];
      Put(pod);
    } else if (PhaseOf(pod.json) == "Running" && pod.ends && *pod.ends <= now_) {
      const int code = pod.told.exit_code;
      pod.json["status"]["phase"] = code == 0 ? "Succeeded" : "Failed";
      pod.json["status"]["containerStatuses"] = {
          {{"state", {{"terminated", {{"exitCode", code}}}}}}};
      Put(pod);
      continue;
    }
    if (pod.ends) next = std::min(next, *pod.ends);
  }
  for (const std::string& key : gone) Gone(key);
  for (auto& [at, made] : std::exchange(to_make_, {})) {
    if (at > now_) {
      next = std::min(next, at);
      to_make_.emplace_back(at, std::move(made));
    } else {
      AddPod(fmt::format("{}~{}", made.first, uids_), std::move(made.second));
    }
  }
  return next;
}

// In ticks; those in which nothing happens are left out.
void FakeKube::Advance(Seconds to) {
  constexpr Seconds kTick(0.25);
  Seconds next = Happen();  // what takes no time
  while (now_ < to) {
    const double idle = std::floor((std::min(next, to) - now_) / kTick) - 1;
    if (idle > 0) now_ = now_ + kTick * idle;
    now_ = std::min(now_ + kTick, to);
    next = Happen();
  }
}

void FakeKube::Emit(engine::KubeControl& control) {
  control.HandleNodes(std::exchange(node_changes_, {}));
  control.HandlePods(std::exchange(pod_changes_, {}));
}

void FakeKube::EmitAll(engine::KubeControl& control) {
  std::vector<KubeChange> nodes, pods, claims, volumes;
  node_changes_.clear();
  pod_changes_.clear();
  for (const auto& [name, node] : nodes_) {
    nodes.push_back({KubeChange::Kind::kPut, name, node["metadata"]["uid"], node.dump()});
  }
  for (const auto& [key, pod] : pods_) {
    pods.push_back({KubeChange::Kind::kPut, key, pod.json["metadata"]["uid"], pod.json.dump()});
  }
  for (const auto& [key, one] : claims_)
    claims.push_back({KubeChange::Kind::kPut, key, "", one.dump()});
  for (const auto& [key, one] : volumes_) {
    volumes.push_back({KubeChange::Kind::kPut, key, "", one.dump()});
  }
  control.volumes().HandleClaims(claims);
  control.volumes().Handle(volumes);
  control.HandleNodes(nodes);
  control.HandlePods(pods);
  control.SetCurrent(true);
}

engine::KubeControlOptions FakeKubeRunner::Options(FakeKube& kube) {
  engine::KubeControlOptions options;
  options.model = [](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    if (name != "A" && name != "V100") return std::nullopt;
    return engine::KnownGpuModel{std::string(name), core::GiB(32)};
  };
  options.wall = [&kube] {
    return 1'800'000'000'000 + static_cast<core::UnixMillis>(kube.now().value * 1e3);
  };
  options.ask = [&kube](std::span<const KubeRequest> requests) { return kube.Ask(requests); };
  return options;
}

void FakeKubeRunner::Open() {
  kube_.EmitAll(control);
  control.Open(Now());
}

void FakeKubeRunner::Start(const engine::RunRequest& request) {
  if (before_start) before_start(request);
  control.Start(request);
  asked_ = true;
}

bool FakeKubeRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  for (;;) {
    if (list_every && Now() >= listed_at_ + *list_every) {
      listed_at_ = Now();
      control.List(Now());
      Asked();
    }
    if (until && *until <= Now()) return true;
    kube_.Emit(control);
    if (std::exchange(asked_, false) || Now() >= due_) {
      due_ = control.Cycle(Now(), out);
      if (!out.empty()) return true;
    }
    // A watch tells at once.
    kube_.Advance(Now() + Seconds(0.25));
    asked_ = kube_.HasNews();
  }
}

KubeSide::KubeSide(int nodes, std::uint64_t seed, double chance_of_fault)
    : kube(seed), dice_(seed + 17), runner_(kube) {
  for (int i = 0; i < nodes; ++i) NodeComes(NodeOf(static_cast<std::size_t>(i)));
  runner_.Open();
  runner_.list_every = Seconds(30);
  kube.chance_of_fault = chance_of_fault;
  runner_.before_start = [this](const engine::RunRequest& request) {
    const std::int64_t job = request.id.job;
    if (kube.HasPodOf(job)) return;
    KubeTold told;
    told.lasts = Seconds(dice_.LogUniform(1, 200));
    told.exit_code = dice_.Chance(0.2) ? 1 : 0;
    told.number = job;
    told.cpu = "100m";
    told.owner = fmt::format("job-{}", job);
    const std::size_t gpus = request.gpus.size();
    told.annotations["gpus"] = gpus == 0 ? "0" : "1";
    if (gpus > 1) {
      told.annotations["pod-group"] = fmt::format("group-{}", job);
      told.annotations["pod-group-size"] = std::to_string(gpus);
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(gpus, 1); ++i) {
      kube.AddPod(fmt::format("job-{}-{}", job, i), told);
    }
  };
}

// Half of them are removed from the cluster with all that runs there.
void KubeSide::NodeGoes(const std::string& name) {
  if (!kube.HasNode(name)) return;
  if (dice_.Chance(0.5)) {
    kube.RemoveNode(name);
  } else {
    kube.SetReady(name, false);
  }
}

void KubeSide::NodeComes(const engine::RunnerNode& node) {
  if (kube.HasNode(node.name)) return kube.SetReady(node.name, true);
  std::vector<std::string> gpus;
  for (const core::GivenGpu& gpu : node.gpus) gpus.push_back(gpu.uuid);
  kube.AddNode(node.name, gpus, "A");
}

}  // namespace sharewell::fixtures
