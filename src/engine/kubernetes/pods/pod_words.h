// PodWords: what a user says of a pod in its annotations (sharewell.io/gpus, /model, /batch,
// /precision, /profile, /gpu-memory, /max-slowdown, /exclusive, /may-evict, /pod-group,
// /pod-group-size, /restart, /watch), and what becomes of it: a Submission. A pod group may be
// named as coscheduling and Volcano name theirs, too. All of it is input from anyone: bounded, and
// it decides on nothing but the pod's own needs. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/submission.h"
#include "engine/kubernetes/api/kube_records.h"
#include "engine/runner.h"

namespace sharewell::engine {

// What a Binding writes, and nobody else (kube_writes.h).
inline constexpr std::array<std::string_view, 6> kOfBinding = {
    "gpu-ids", "sm-share", "memory-limit", "client-priority", "job", "attempt"};

// What happens to a group of which one pod fails.
enum class GroupRestart : std::uint8_t {
  kOne,   // the pod that is made for it has its place
  kAll,   // the others are evicted, so that all of them are made again
  kFail,  // the others run on, and nobody has its place
};

// Whose PodGroup says how many pods a group has, where the pods do not.
enum class PodGroupKind : std::uint8_t { kNone, kCoscheduling, kVolcano };

struct PodWords {
  int gpus = 1;         // 0: a CPU-only pod
  std::string model;    // a plain name, no path
  std::string profile;  // of the store
  std::optional<int> batch;
  std::string precision;                  // one of core::kPrecisionWords; empty: it does not say
  std::optional<core::Bytes> gpu_memory;  // of each GPU
  std::optional<double> max_slowdown;
  std::vector<std::string> gpu_models;
  bool exclusive = false;
  bool watch = false;      // its steps are counted and told from inside of it
  bool may_evict = false;  // a pod without an owner may be ended so that others keep their bounds
  std::string group;       // of its namespace; empty: it stands for itself
  int group_size = 1;
  PodGroupKind unsized = PodGroupKind::kNone;  // that one has to be asked for its size
  GroupRestart restart = GroupRestart::kOne;
  // What was not understood, in words with what to do; it is bound all the same.
  std::string problem;
  // Why it is never bound as it stands, in words with what to do; empty: it can be.
  std::string refusal;

  friend bool operator==(const PodWords&, const PodWords&) = default;
};
PodWords ParsePodWords(const KubePod& pod);

// "NAMESPACE/NAME"; empty: it stands for itself.
inline std::string GroupOf(const KubePod& pod, const PodWords& words) {
  return words.group.empty() ? "" : pod.name_space + "/" + words.group;
}

// The user of a pod is its namespace: the API server does not keep who made it. No account of this
// machine has this uid.
inline constexpr std::uint32_t kKubeUid = 4'294'967'294;

// Nothing would make the pod again after an eviction, and its user has not allowed one.
bool KeepsPlace(const KubePod& pod, const PodWords& words);

// What an earlier server, or its user, has written of its needs (pod_known.h). Absent: nothing, or
// `problem` says what is wrong with it.
std::optional<core::Needs> KnownNeeds(const KubePod& pod, std::string& problem);

// Of one pod, or of so many alike that start together.
ForeignJob SubmissionOf(const KubePod& pod, const PodWords& words, int pods);

}  // namespace sharewell::engine
