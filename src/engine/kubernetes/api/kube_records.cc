#include "engine/kubernetes/api/kube_records.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "core/text/quoted.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Result;

constexpr std::size_t kMostListed = 1000;
constexpr std::size_t kMostText = 64 << 10;

// A value that is not there, or of another kind, is empty: the API server has checked all of it.
class KubeValue {
 public:
  KubeValue() = default;
  explicit KubeValue(json::Value value) : value_(value) {}

  KubeValue operator[](std::string_view key) const { return KubeValue(value_[key]); }
  bool there() const { return !value_.is_null(); }
  std::string Text() const { return std::string(value_.Text().value_or("").substr(0, kMostText)); }
  std::optional<std::int64_t> Whole() const { return value_.Whole(); }
  bool Flag() const { return value_.Bool().value_or(false); }
  // "500m", or a number as it stands.
  std::optional<std::int64_t> Amount(std::int64_t scale) const {
    if (const auto text = value_.Text()) return ParseQuantity(*text, scale);
    return value_.is_number() ? ParseQuantity(value_.Line(), scale) : std::nullopt;
  }
  std::vector<KubeValue> List() const {
    std::vector<KubeValue> values;
    for (const json::Value one : value_.items()) {
      if (values.size() > kMostListed) break;
      values.emplace_back(one);
    }
    return values;
  }
  std::vector<std::pair<std::string_view, KubeValue>> Fields() const {
    std::vector<std::pair<std::string_view, KubeValue>> fields;
    for (const auto& [key, value] : value_.members()) {
      if (fields.size() > kMostListed) break;
      fields.emplace_back(key, KubeValue(value));
    }
    return fields;
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const KubeValue& one : List()) texts.push_back(one.Text());
    return texts;
  }
  std::map<std::string, std::string> Map() const {
    std::map<std::string, std::string> map;
    for (const auto& [key, value] : Fields()) map.emplace(key, value.Text());
    return map;
  }

 private:
  json::Value value_;
};

// "2026-11-17T02:20:32Z", perhaps with a fraction. 0: it is none.
core::UnixMillis TimeIn(const std::string& text) {
  int part[6] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int& one : part) {
    const auto [next, error] = std::from_chars(at, end, one);
    if (error != std::errc() || one < 0) return 0;
    at = next == end ? next : next + 1;
  }
  using namespace std::chrono;  // NOLINT: its literals and calendar
  if (part[0] > 9999) return 0;
  const year_month_day date{year{part[0]}, month{static_cast<unsigned>(part[1])},
                            day{static_cast<unsigned>(part[2])}};
  if (!date.ok() || part[3] > 23 || part[4] > 59 || part[5] > 60) return 0;
  const auto time = sys_days(date) + hours(part[3]) + minutes(part[4]) + seconds(part[5]);
  return std::max<core::UnixMillis>(time.time_since_epoch() / milliseconds(1), 0);
}

KubeMatch MatchOf(const KubeValue& value, bool field) {
  return {value["key"].Text(), value["operator"].Text(), value["values"].Texts(), field};
}

// `too_many`: where a list was cut.
std::vector<KubeTerm> TermsOf(const KubeValue& terms, bool& too_many) {
  std::vector<KubeTerm> out;
  std::size_t all = 0;
  for (const KubeValue& value : terms.List()) {
    KubeTerm term;
    for (const KubeValue& one : value["matchExpressions"].List()) {
      term.push_back(MatchOf(one, false));
      all += term.back().values.size() + 1;
    }
    for (const KubeValue& one : value["matchFields"].List()) {
      term.push_back(MatchOf(one, true));
      all += term.back().values.size() + 1;
    }
    out.push_back(std::move(term));
    too_many = too_many || all > kMostListed;
    if (too_many) return {};
  }
  too_many = out.size() > kMostListed;
  return out;
}

// What is not requested but limited counts as requested.
KubeAmounts RequestsOf(const KubeValue& container, std::vector<std::string>& unjudged) {
  KubeAmounts amounts;
  for (const char* kind : {"requests", "limits"}) {
    for (const auto& [name, value] : container["resources"][kind].Fields()) {
      const auto amount = value.Amount(name == "cpu" ? 1000 : 1);
      if (amount) {
        amounts.emplace(name, *amount);  // what is requested already stays
      } else {
        unjudged.push_back("resources." + std::string(kind) + "." + std::string(name));
      }
    }
  }
  return amounts;
}

void TakeMost(const KubeAmounts& other, KubeAmounts& to) {
  for (const auto& [name, amount] : other) {
    std::int64_t& most = to[name];
    most = std::max(most, amount);
  }
}

// Init containers run one after the other, before the others; those that are restarted always run
// on beside all that come after them.
void TakeRequests(const KubeValue& spec, KubePod& pod) {
  KubeAmounts together, on, most;
  for (const KubeValue& one : spec["containers"].List()) {
    AddAmounts(RequestsOf(one, pod.unjudged), together);
  }
  for (const KubeValue& one : spec["initContainers"].List()) {
    const KubeAmounts its = RequestsOf(one, pod.unjudged);
    if (one["restartPolicy"].Text() == "Always") {
      AddAmounts(its, on);
      AddAmounts(its, together);
      TakeMost(on, most);
    } else {
      KubeAmounts then = on;
      AddAmounts(its, then);
      TakeMost(then, most);
    }
  }
  TakeMost(most, together);
  for (const auto& [name, value] : spec["overhead"].Fields()) {
    AddAmounts({{std::string(name), value.Amount(name == "cpu" ? 1000 : 1).value_or(0)}}, together);
  }
  pod.requests = std::move(together);
}

void TakeVolumes(const KubeValue& spec, KubePod& pod) {
  // Their disks are tied to zones, to one node, or to a claim that has yet to be made.
  static const std::set<std::string_view> kTied = {"awsElasticBlockStore",
                                                   "azureDisk",
                                                   "cinder",
                                                   "ephemeral",
                                                   "gcePersistentDisk",
                                                   "iscsi",
                                                   "rbd",
                                                   "vsphereVolume",
                                                   "scaleIO",
                                                   "photonPersistentDisk",
                                                   "portworxVolume"};
  for (const KubeValue& volume : spec["volumes"].List()) {
    for (const auto& [kind, value] : volume.Fields()) {
      if (kind == "persistentVolumeClaim") pod.claims.push_back(value["claimName"].Text());
      if (kTied.contains(kind)) pod.unjudged.push_back("spec.volumes." + std::string(kind));
    }
  }
}

void TakeUnjudged(const KubeValue& spec, KubePod& pod) {
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    const KubeValue affinity = spec["affinity"][kind];
    const std::string field = std::string("spec.affinity.") + kind;
    if (!affinity["requiredDuringSchedulingIgnoredDuringExecution"].List().empty()) {
      pod.unjudged.push_back(field);
    } else if (affinity.there()) {
      pod.wishes.push_back(field);
    }
  }
  const KubeValue wished =
      spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
  if (!wished.List().empty()) pod.wishes.emplace_back("spec.affinity.nodeAffinity.preferred");
  for (const KubeValue& one : spec["topologySpreadConstraints"].List()) {
    auto& to = one["whenUnsatisfiable"].Text() == "ScheduleAnyway" ? pod.wishes : pod.unjudged;
    to.emplace_back("spec.topologySpreadConstraints");
  }
  if (!spec["resourceClaims"].List().empty()) pod.unjudged.emplace_back("spec.resourceClaims");
  for (const char* kind : {"containers", "initContainers"}) {
    for (const KubeValue& container : spec[kind].List()) {
      for (const KubeValue& port : container["ports"].List()) {
        if (port["hostPort"].Whole().value_or(0) == 0) continue;
        pod.unjudged.push_back("spec." + std::string(kind) + ".ports.hostPort");
      }
    }
    if (spec[kind].List().size() > kMostListed) {
      pod.unjudged.push_back("spec." + std::string(kind));
    }
  }
  for (const KubeValue& gate : spec["schedulingGates"].List()) {
    pod.gates.push_back(gate["name"].Text());
  }
  for (auto* fields : {&pod.unjudged, &pod.wishes}) {
    std::sort(fields->begin(), fields->end());
    fields->erase(std::unique(fields->begin(), fields->end()), fields->end());
  }
}

bool ReadsGpus(const KubeValue& container) {
  const auto all = container["env"].List();
  return std::any_of(all.begin(), all.end(), [](const KubeValue& one) {
    return one["name"].Text() == kKubeGpuVariable &&
           one["valueFrom"]["fieldRef"]["fieldPath"].Text() == kKubeGpuField;
  });
}

void TakeSpec(const KubeValue& spec, KubePod& pod) {
  pod.scheduler = spec["schedulerName"].Text();
  pod.node = spec["nodeName"].Text();
  pod.selector = spec["nodeSelector"].Map();
  bool too_many = false;
  pod.affinity =
      TermsOf(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                  ["nodeSelectorTerms"],
              too_many);
  if (too_many) pod.unjudged.emplace_back("spec.affinity.nodeAffinity");
  for (const KubeValue& one : spec["tolerations"].List()) {
    pod.tolerations.push_back(
        {one["key"].Text(), one["operator"].Text(), one["value"].Text(), one["effect"].Text()});
  }
  pod.priority = static_cast<int>(std::clamp<std::int64_t>(spec["priority"].Whole().value_or(0),
                                                           -2'000'000'000, 2'000'001'000));
  pod.preempts = spec["preemptionPolicy"].Text() != "Never";
  if (const auto deadline = spec["activeDeadlineSeconds"].Whole(); deadline && *deadline > 0) {
    pod.deadline = *deadline;
  }
  const auto containers = spec["containers"].List();
  if (!containers.empty()) {
    constexpr std::size_t kMostWords = 64, kMostWord = 1024;
    pod.command.push_back(containers.front()["image"].Text());
    for (const char* part : {"command", "args"}) {
      for (std::string& word : containers.front()[part].Texts()) {
        pod.command.push_back(std::move(word));
      }
    }
    if (pod.command.size() > kMostWords) pod.command.resize(kMostWords);
    for (std::string& word : pod.command) word.resize(std::min(word.size(), kMostWord));
  }
  for (const KubeValue& one : containers) {
    std::string name = one["name"].Text();
    if (pod.container.empty() || name == "main") pod.container = std::move(name);
  }
  pod.reads_gpus = std::any_of(containers.begin(), containers.end(), ReadsGpus);
  TakeRequests(spec, pod);
  TakeVolumes(spec, pod);
  TakeUnjudged(spec, pod);
}

void TakeContainers(const KubeValue& status, KubePod& pod) {
  bool all_ended = false;
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    for (const KubeValue& one : status[kind].List()) {
      const KubeValue ended = one["state"]["terminated"], waits = one["state"]["waiting"];
      if (ended.there()) {
        all_ended = true;
        const int code = static_cast<int>(
            std::clamp<std::int64_t>(ended["exitCode"].Whole().value_or(0), -255, 255));
        if (!pod.exit_code || *pod.exit_code == 0) pod.exit_code = code < 0 ? 1 : code;
        if (ended["reason"].Text() == "OOMKilled") pod.out_of_memory = true;
      }
      const std::string why = waits["reason"].Text();
      pod.crash_loops = pod.crash_loops || why == "CrashLoopBackOff";
      if (waits.there() && why != "ContainerCreating" && why != "PodInitializing" &&
          pod.waiting.empty() && !why.empty()) {
        const std::string words = waits["message"].Text().substr(0, 300);
        pod.waiting = why + (words.empty() ? "" : ": " + words);
      }
    }
  }
  if (!all_ended) pod.exit_code.reset();
}

void TakeStatus(const KubeValue& status, KubePod& pod) {
  const std::string phase = status["phase"].Text();
  pod.phase = phase == "Running"                    ? KubePhase::kRunning
              : phase == "Succeeded"                ? KubePhase::kSucceeded
              : phase == "Failed"                   ? KubePhase::kFailed
              : phase == "Pending" || phase.empty() ? KubePhase::kPending
                                                    : KubePhase::kUnknown;
  pod.reason = status["reason"].Text();
  pod.message = status["message"].Text().substr(0, 1000);
  pod.started = TimeIn(status["startTime"].Text());
  for (const KubeValue& one : status["conditions"].List()) {
    const std::string type = one["type"].Text();
    if (type == "PodScheduled" && one["status"].Text() == "False") {
      pod.told = one["message"].Text();
    } else if (type == kKubeJobCondition) {
      std::int64_t number = 0;
      const std::string text = one["message"].Text();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size() && number > 0) pod.job = number;
    }
  }
  TakeContainers(status, pod);
}

void TakeMarks(const KubeValue& meta, KubePod& pod) {
  const auto take = [&](const KubeValue& from, std::string_view key) {
    if (std::string text = from[key].Text(); !text.empty()) pod.marks.emplace(key, std::move(text));
  };
  for (const std::string_view key : kMarkLabels) take(meta["labels"], key);
  for (const std::string_view key : kMarkAnnotations) take(meta["annotations"], key);
  // A JobSet makes Jobs, and may make them anew.
  const auto set = pod.marks.find(kJobSetName);
  if (set == pod.marks.end() || pod.owner.kind != "Job") return;
  pod.owner = {"JobSet", set->second, pod.name_space + "/JobSet/" + set->second};
}

// An object that has a name.
Result<json::Document> ObjectIn(std::string_view text, const char* what) {
  auto parsed = json::Document::Parse(text);
  if (!parsed || !parsed->root().is_object()) {
    return FailedError("the API server sent a {} that is no JSON object: {}", what,
                       core::Quoted(text));
  }
  if (KubeValue(parsed->root())["metadata"]["name"].Text().empty()) {
    return FailedError("the API server sent a {} without a name: {}", what, core::Quoted(text));
  }
  return parsed;
}

}  // namespace

Result<KubePod> ParseKubePod(std::string_view text) {
  const auto parsed = ObjectIn(text, "pod");
  RETURN_IF_ERROR(parsed);
  const KubeValue object(parsed->root());
  const KubeValue meta = object["metadata"];
  KubePod pod;
  pod.name = meta["name"].Text();
  pod.name_space = meta["namespace"].Text();
  pod.uid = meta["uid"].Text();
  if (pod.uid.empty() || pod.name_space.empty()) {
    return FailedError("the API server sent pod {} without a namespace or a uid",
                       core::Quoted(pod.name));
  }
  pod.version = meta["resourceVersion"].Text();
  pod.created = TimeIn(meta["creationTimestamp"].Text());
  pod.deleting = meta["deletionTimestamp"].there();
  for (const auto& [key, value] : meta["annotations"].Fields()) {
    if (!key.starts_with(kKubePrefix)) continue;
    pod.annotations.emplace(key.substr(kKubePrefix.size()), value.Text());
  }
  for (const KubeValue& one : meta["ownerReferences"].List()) {
    if (!one["controller"].Flag()) continue;
    pod.owner = {one["kind"].Text(), one["name"].Text(), one["uid"].Text()};
  }
  TakeMarks(meta, pod);
  TakeSpec(object["spec"], pod);
  TakeStatus(object["status"], pod);
  return pod;
}

Result<KubeNode> ParseKubeNode(std::string_view text) {
  const auto parsed = ObjectIn(text, "node");
  RETURN_IF_ERROR(parsed);
  const KubeValue object(parsed->root());
  const KubeValue meta = object["metadata"], spec = object["spec"];
  const KubeValue status = object["status"];
  KubeNode node;
  node.name = meta["name"].Text();
  node.uid = meta["uid"].Text();
  node.version = meta["resourceVersion"].Text();
  node.labels = meta["labels"].Map();
  node.gpus = meta["annotations"]["sharewell.io/gpus"].Text();
  node.claims = meta["annotations"]["sharewell.io/claims"].Text();
  node.cordoned = spec["unschedulable"].Flag();
  for (const KubeValue& one : spec["taints"].List()) {
    node.taints.push_back({one["key"].Text(), one["value"].Text(), one["effect"].Text()});
  }
  for (const auto& [name, value] : status["allocatable"].Fields()) {
    const auto amount = value.Amount(name == "cpu" ? 1000 : 1);
    if (amount) node.allocatable.emplace(name, *amount);
  }
  node.not_ready = "its kubelet has not told yet that it is ready";
  for (const KubeValue& one : status["conditions"].List()) {
    if (one["type"].Text() != "Ready") continue;
    node.ready = one["status"].Text() == "True";
    const std::string why = one["message"].Text().substr(0, 300);
    if (!why.empty()) node.not_ready = why;
  }
  if (node.ready) node.not_ready.clear();
  return node;
}

Result<KubeVolumeClaim> ParseKubeVolumeClaim(std::string_view text) {
  const auto parsed = ObjectIn(text, "volume claim");
  RETURN_IF_ERROR(parsed);
  const KubeValue object(parsed->root());
  KubeVolumeClaim claim;
  claim.name = object["metadata"]["name"].Text();
  claim.name_space = object["metadata"]["namespace"].Text();
  if (object["status"]["phase"].Text() == "Bound") {
    claim.volume = object["spec"]["volumeName"].Text();
  }
  for (const std::string& mode : object["spec"]["accessModes"].Texts()) {
    claim.one_pod = claim.one_pod || mode == "ReadWriteOncePod";
  }
  return claim;
}

Result<KubeVolume> ParseKubeVolume(std::string_view text) {
  const auto parsed = ObjectIn(text, "volume");
  RETURN_IF_ERROR(parsed);
  const KubeValue object(parsed->root());
  KubeVolume volume;
  volume.name = object["metadata"]["name"].Text();
  bool too_many = false;
  volume.affinity =
      TermsOf(object["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"], too_many);
  if (too_many) volume.affinity = {{{"", "never", {}, false}}};
  return volume;
}

KubeComplaint ParseKubeComplaint(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  const KubeValue value(json::RootOf(parsed));
  return {value["reason"].Text(), value["message"].Text().substr(0, 500)};
}

}  // namespace sharewell::engine
