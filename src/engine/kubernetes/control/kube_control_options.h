// What a KubeControl is told when it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/pods/pod_words.h"
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

}  // namespace sharewell::engine
