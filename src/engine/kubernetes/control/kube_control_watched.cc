// What agents on the nodes (`sharewell monitor`) tell of pods, and where none is heard.
#include <fmt/format.h>

#include <utility>

#include "engine/kubernetes/control/kube_control.h"
#include "engine/told_steps.h"

namespace sharewell::engine {

// Agents name a GPU by its number on the node, which is its place in the node's list.
void KubeControl::EmitSteps() {
  if (!options_.steps || (steps_asked_ && now_ < *steps_asked_ + options_.steps_every)) return;
  steps_asked_ = now_;
  std::map<std::int64_t, WatchedRun> running;
  for (const auto& [job, run] : runs_) {
    if (run.step != Step::kRunning) continue;
    WatchedRun& one = running[job];
    for (const Member& member : run.members) {
      one.nodes.push_back(member.node);
      one.names.push_back("pod/" + member.uid);  // of this attempt alone
      const auto here = nodes_.find(member.node);
      if (here == nodes_.end()) continue;
      for (const std::string& uuid : member.claim.gpus) {
        const auto number = here->second.numbers.find(uuid);
        if (number == here->second.numbers.end()) continue;
        one.gpus[uuid] = fmt::format("{}/{}", member.node, number->second);
      }
    }
  }
  EmitNewSteps(options_.steps(running), runs_, *out_);
}

// A node that is new comes as it is; of the others once in a while.
void KubeControl::EmitWatched() {
  if (!options_.watched) return;
  const bool due = !watched_asked_ || now_ >= *watched_asked_ + options_.steps_every;
  if (due) watched_asked_ = now_;
  for (auto& [name, here] : nodes_) {
    if (!here.usable || (!due && here.told_up)) continue;
    const auto heard = options_.watched(name);
    const bool alone = !heard.value_or(false), silent = heard && !*heard;
    const bool same = std::exchange(here.node.exclusive, alone) == alone;
    if (!here.told_up) {
      here.told_silent = false;
      continue;
    }
    const bool was_silent = std::exchange(here.told_silent, silent);
    if (same && was_silent == silent) continue;
    NodeChanged event{here.node.name, here.node.reserved, here.node.exclusive};
    if (silent) {
      event.why = "no agent is heard there: each of its GPUs is given to one pod at a time";
    } else if (was_silent) {
      event.why = "its agent is heard: pods may share its GPUs";
    }
    Emit(std::move(event));
  }
}

}  // namespace sharewell::engine
