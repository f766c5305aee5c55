#include "testing/cluster_stub_runner.h"

#include <algorithm>
#include <utility>

namespace sharewell::fixtures {

using core::Seconds;
using engine::RunEvent;

ClusterStubRunner::ClusterStubRunner(sim::World& world, Submit submit, Pace pace)
    : stubs_(world, std::move(submit), std::move(pace)) {}

engine::GpuModelNamed ClusterStubRunner::ModelsOf(const core::Cluster& cluster) {
  return [&cluster](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    for (const core::GpuModel& model : cluster.models()) {
      if (model.name == name) return engine::KnownGpuModel{model.name, model.memory};
    }
    return std::nullopt;
  };
}

void ClusterStubRunner::Start(const engine::RunRequest& request) {
  Control().Start(request);
  asked_ = true;
}

void ClusterStubRunner::Stop(engine::RunId id, const engine::StopOrder&) {
  Control().Stop(id);
  asked_ = true;
}

bool ClusterStubRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  if (std::exchange(asked_, false)) Look(out);
  if (refused) return false;
  // As stubs tell it: what has left is heard of before anybody's new pace.
  const auto is_end = [](const RunEvent& event) {
    return std::holds_alternative<engine::RunEnded>(event);
  };
  if (std::any_of(out.begin(), out.end(), is_end)) return true;
  std::vector<RunEvent> told;
  bool known = false;  // all of it: the ends of those whom the cluster has stopped
  do {
    told.clear();
    if (!stubs_.Wait(until, told)) return false;
    Advance();
    const bool ends = TellEnds(told);
    if (ends) Look(out);
    if (refused) return false;
    // Steps go from the nodes' agents to the store, past the cluster's manager.
    known = !told.empty() && !ends;
    for (const RunEvent& event : told) {
      if (std::holds_alternative<engine::RunProgress>(event)) out.push_back(event);
      known = known && is_end(event);
    }
  } while (known);
  return true;
}

// Whether any of these has ended by itself.
bool ClusterStubRunner::TellEnds(const std::vector<RunEvent>& told) {
  bool any = false;
  for (const RunEvent& event : told) {
    const auto* ended = std::get_if<engine::RunEnded>(&event);
    if (ended == nullptr) continue;
    const auto found = running_.find(ended->id.job);
    if (found == running_.end() || found->second != ended->id) continue;
    running_.erase(found);
    EndThere(ended->id.job, ended->end.exit_code);
    any = true;
  }
  return any;
}

// The cluster is looked at until nothing is on its way any more, all in one instant.
void ClusterStubRunner::Look(std::vector<RunEvent>& out) {
  for (int quiet = 0; quiet < 2;) {
    const std::size_t before = out.size(), written = Written();
    Cycle(out);
    Advance();
    const bool changed = Follow();
    quiet = changed || Written() > written || out.size() > before ? 0 : quiet + 1;
  }
  for (const RunEvent& event : out) {
    const auto* refusal = std::get_if<engine::StartRefused>(&event);
    if (refusal != nullptr) why = refusal->why;
    refused = refused || refusal != nullptr;
  }
  if (const std::string waits = WhyNotStarted(); !refused && !waits.empty()) {
    refused = true;
    why = waits;
  }
  if (refused) out.clear();
  std::erase_if(out, [](const RunEvent& event) {
    return std::holds_alternative<engine::JobSubmitted>(
        event);  // whoever uses this submits by itself
  });
}

void ClusterStubRunner::StartStub(const engine::RunRequest& request) {
  running_[request.id.job] = request.id;
  stubs_.Start(request);
  ++starts;
}

}  // namespace sharewell::fixtures
