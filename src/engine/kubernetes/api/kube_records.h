// What the API server knows of a pod, a node, a volume claim and a volume, as far as a decision
// needs it: plain data, read from the JSON of a list or a watch. Everything in a pod was written by
// a user: it is bounded here, and nothing of it is believed that the user's rights do not cover.
// Annotations may be changed by the user at any time; status may not.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::engine {

// Ours begin so: "sharewell.io/gpus".
inline constexpr std::string_view kKubePrefix = "sharewell.io/";
// The extended resource: MiB of GPU memory.
inline constexpr std::string_view kKubeGpuMemory = "sharewell.io/gpu-memory";
// The annotation with when a pod that waits should start, behind the prefix.
inline constexpr std::string_view kKubeStart = "expected-start";
// The condition of a pod that has its job's number. Status is not the user's to write.
inline constexpr std::string_view kKubeJobCondition = "sharewell.io/Job";

// Of others, that say which pods belong together: of the scheduler-plugins' coscheduling, Volcano,
// JobSet and Kubeflow. Users may write them.
inline constexpr std::string_view kCoschedulingGroup = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kJobSetName = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view kTrainingJobName = "training.kubeflow.org/job-name";
inline constexpr std::array<std::string_view, 3> kMarkLabels = {kCoschedulingGroup, kJobSetName,
                                                                kTrainingJobName};
inline constexpr std::string_view kVolcanoGroup = "scheduling.k8s.io/group-name";
inline constexpr std::string_view kVolcanoGroupToo = "scheduling.volcano.sh/group-name";
inline constexpr std::string_view kVolcanoSize = "scheduling.volcano.sh/group-min-member";
inline constexpr std::array<std::string_view, 3> kMarkAnnotations = {
    kVolcanoGroup, kVolcanoGroupToo, kVolcanoSize};

// The variable that tells a container its GPUs, and the field of a pod that it is to be read from:
// the Binding writes it.
inline constexpr std::string_view kKubeGpuVariable = "NVIDIA_VISIBLE_DEVICES";
inline constexpr std::string_view kKubeGpuField = "metadata.annotations['sharewell.io/gpu-ids']";

// CPUs are in thousandths, all else in units. "500m", "1Gi", "1e3", rounded up. Absent: it is no
// quantity, or below 0. One that is too large is the largest.
std::optional<std::int64_t> ParseQuantity(std::string_view text, std::int64_t scale);
using KubeAmounts = std::map<std::string, std::int64_t>;  // by resource: "cpu", "memory"
void AddAmounts(const KubeAmounts& more, KubeAmounts& to);

enum class KubePhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// One line of a node selector: "zone In (a, b)".
struct KubeMatch {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  bool field = false;  // of the node itself: metadata.name

  friend bool operator==(const KubeMatch&, const KubeMatch&) = default;
};
using KubeTerm = std::vector<KubeMatch>;  // all of them; of several terms one

struct KubeTaint {
  std::string key, value, effect;

  friend bool operator==(const KubeTaint&, const KubeTaint&) = default;
};
struct KubeToleration {
  std::string key, op, value, effect;  // empty key: all; empty effect: all

  friend bool operator==(const KubeToleration&, const KubeToleration&) = default;
};

struct KubeOwner {
  // Of the controller; empty: it has none. Of a JobSet, which a pod names by a label alone, `uid`
  // is made of its namespace and name.
  std::string kind, name, uid;

  friend bool operator==(const KubeOwner&, const KubeOwner&) = default;
};

struct KubePod {
  std::string uid, name, name_space, version;
  std::string scheduler, node;
  KubePhase phase = KubePhase::kPending;
  std::string reason, message;                // of its status: "Evicted"
  core::UnixMillis created = 0, started = 0;  // started: its kubelet has it since; 0: it has not
  bool deleting = false;
  std::map<std::string, std::string> annotations;         // ours alone, without the prefix
  std::map<std::string, std::string, std::less<>> marks;  // kMarkLabels, kMarkAnnotations
  // What its PodGroup says, once it was asked (kube_group_sizes.h): how many pods, or why nobody
  // knows.
  std::optional<int> group_size;
  std::string no_group_size;
  KubeAmounts requests;                         // at any time, init containers among it
  std::map<std::string, std::string> selector;  // spec.nodeSelector
  std::vector<KubeTerm> affinity;               // to nodes, required
  std::vector<KubeToleration> tolerations;
  int priority = 0;
  bool preempts = true;  // preemptionPolicy is not Never
  KubeOwner owner;
  std::vector<std::string> command;      // image, command and arguments of its first container
  std::string container;                 // whose log is the job's: "main", else its first
  std::optional<std::int64_t> deadline;  // activeDeadlineSeconds
  std::vector<std::string> claims;       // volume claims by name
  std::optional<int> exit_code;          // of the first container that failed, else 0
  bool out_of_memory = false;            // of the host: OOMKilled
  std::string waiting;                   // why a container does not start, in words
  bool crash_loops = false;              // one ends again and again (CrashLoopBackOff)
  bool reads_gpus = false;               // one has kKubeGpuVariable from kKubeGpuField
  std::optional<std::int64_t> job;       // kKubeJobCondition
  std::string told;                      // message of PodScheduled, where that is False
  std::vector<std::string> gates;        // schedulingGates by name
  // Fields that nobody here can judge: it must not be bound.
  std::vector<std::string> unjudged;
  // Wishes that are not kept, by field.
  std::vector<std::string> wishes;

  std::string Name() const { return name_space + "/" + name; }
  bool IsOver() const { return phase == KubePhase::kSucceeded || phase == KubePhase::kFailed; }
  friend bool operator==(const KubePod&, const KubePod&) = default;
};

struct KubeNode {
  std::string uid, name, version;
  bool ready = false;
  std::string not_ready;  // why, in words
  bool cordoned = false;
  std::map<std::string, std::string> labels;
  std::vector<KubeTaint> taints;
  KubeAmounts allocatable;
  std::string gpus;    // its annotation sharewell.io/gpus
  std::string claims;  // its annotation sharewell.io/claims

  friend bool operator==(const KubeNode&, const KubeNode&) = default;
};

struct KubeVolumeClaim {
  std::string name, name_space, volume;  // volume: empty until it is bound
  bool one_pod = false;                  // ReadWriteOncePod

  friend bool operator==(const KubeVolumeClaim&, const KubeVolumeClaim&) = default;
};
struct KubeVolume {
  std::string name;
  std::vector<KubeTerm> affinity;

  friend bool operator==(const KubeVolume&, const KubeVolume&) = default;
};

// An error: it is no such object. Lists in it are cut at 1,000, and then named as unjudged.
core::Result<KubePod> ParseKubePod(std::string_view text);
core::Result<KubeNode> ParseKubeNode(std::string_view text);
core::Result<KubeVolumeClaim> ParseKubeVolumeClaim(std::string_view text);
core::Result<KubeVolume> ParseKubeVolume(std::string_view text);

// What a Status says ("message" and "reason"); empty: it is none.
struct KubeComplaint {
  std::string reason, message;
};
KubeComplaint ParseKubeComplaint(std::string_view text);

}  // namespace sharewell::engine
