#include "testing/kube_stub_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"

namespace sharewell::fixtures {

using core::Seconds;
using engine::RunEvent;

namespace {

bool TellsOf(const std::vector<RunEvent>& events, RunEvent::Kind kind) {
  return std::any_of(events.begin(), events.end(),
                     [&](const RunEvent& event) { return event.kind == kind; });
}

}  // namespace

KubeStubRunner::KubeStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit,
                               Pace pace)
    : stubs_(
          world,
          [this, submit = std::move(submit)](const core::Job& job) {
            kube.Advance(stubs_.Now());
            const auto id = static_cast<std::int64_t>(job.id.value) + 1;
            KubeTold told;
            told.lasts = Seconds(1e12);
            told.number = id;
            told.cpu = told.memory = "0";  // the policy's cores are held by the world
            told.owner = fmt::format("job-{}", id);
            told.annotations["gpus"] = job.gpus == 0 ? "0" : "1";
            if (job.gpus > 1) {
              told.annotations["pod-group"] = told.owner;
              told.annotations["pod-group-size"] = std::to_string(job.gpus);
            }
            for (int i = 0; i < std::max(job.gpus, 1); ++i) {
              kube.AddPod(fmt::format("{}-{}", told.owner, i), told);
            }
            submit(job);
          },
          std::move(pace)),
      control_(OptionsOf(cluster, kube)) {
  kube.leaving = kube.remaking = Seconds(0);
  int next = 0;
  for (const core::Node& node : cluster.nodes()) {
    std::vector<std::string> uuids;
    for (int i = 0; i < node.gpus; ++i) uuids.push_back(fmt::format("GPU-{}", next++));
    kube.AddNode(node.name, uuids, cluster.model(node.model).name, 1000);
  }
  kube.TellAll(control_);
  const auto nodes = control_.Open(Seconds(0));
  for (const core::Node& node : cluster.nodes()) {
    const auto same = std::find_if(nodes.begin(), nodes.end(), [&](const engine::RunnerNode& one) {
      return one.name == node.name;
    });
    SHAREWELL_CHECK(same != nodes.end());
    gpus.insert(gpus.end(), same->gpus.begin(), same->gpus.end());
  }
}

engine::KubeControlOptions KubeStubRunner::OptionsOf(const core::Cluster& cluster, FakeKube& kube) {
  engine::KubeControlOptions options = FakeKubeRunner::Options(kube);
  options.model = [&cluster](std::string_view name) -> std::optional<engine::KubeGpuModel> {
    for (const core::GpuModel& model : cluster.models()) {
      if (model.name == name) return engine::KubeGpuModel{model.name, model.memory};
    }
    return std::nullopt;
  };
  return options;
}

void KubeStubRunner::Start(const engine::RunRequest& request) {
  control_.Start(request);
  asked_ = true;
}

void KubeStubRunner::Stop(engine::RunId id, Seconds) {
  control_.Stop(id);
  asked_ = true;
}

bool KubeStubRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  if (std::exchange(asked_, false)) Look(out);
  if (refused) return false;
  // As stubs tell it: what has left is heard of before anybody's new pace.
  if (TellsOf(out, RunEvent::Kind::kEnded)) return true;
  std::vector<RunEvent> told;
  bool known = false;  // all of it: the ends of those whose pods were evicted
  do {
    told.clear();
    if (!stubs_.Wait(until, told)) return false;
    kube.Advance(Now());
    const bool ends = TellEnds(told);
    if (ends) Look(out);
    if (refused) return false;
    // Steps do not go through the API server.
    known = !told.empty() && !ends;
    for (const RunEvent& event : told) {
      if (event.kind == RunEvent::Kind::kProgress) out.push_back(event);
      known = known && event.kind == RunEvent::Kind::kEnded;
    }
  } while (known);
  return true;
}

// Whether any of these has ended by itself.
bool KubeStubRunner::TellEnds(const std::vector<RunEvent>& told) {
  bool any = false;
  for (const RunEvent& event : told) {
    const auto found = running_.find(event.id.job);
    if (event.kind != RunEvent::Kind::kEnded || found == running_.end()) continue;
    if (found->second != event.id) continue;
    running_.erase(found);
    for (const std::string& key : kube.Running()) {
      if (kube.JobOf(key) == event.id.job) kube.EndPod(key, event.end.exit_code);
    }
    any = true;
  }
  return any;
}

// It is looked at until nothing is on its way any more, all in one instant.
void KubeStubRunner::Look(std::vector<RunEvent>& out) {
  for (int quiet = 0; quiet < 2;) {
    const std::size_t before = out.size(), written = kube.log.size();
    kube.Tell(control_);
    control_.Cycle(Now(), out);
    kube.Advance(Now());
    const bool changed = FollowKube();
    quiet = changed || kube.log.size() > written || out.size() > before ? 0 : quiet + 1;
  }
  for (const RunEvent& event : out) {
    if (event.kind == RunEvent::Kind::kRefused) {
      refused = true;
      why = event.message;
    }
  }
  if (refused) out.clear();
  std::erase_if(out, [](const RunEvent& event) {
    return event.kind == RunEvent::Kind::kSubmitted;  // whoever uses this submits by itself
  });
}

// What runs there runs in the world, and nothing else. By the API server's words alone.
bool KubeStubRunner::FollowKube() {
  bool changed = false;
  std::map<std::int64_t, std::vector<std::string>> runs;
  for (const std::string& key : kube.Running()) runs[kube.JobOf(key)].push_back(key);
  for (auto one = running_.begin(); one != running_.end();) {  // who leaves makes room first
    if (runs.contains(one->first)) {
      ++one;
      continue;
    }
    stubs_.Stop(one->second, Seconds(0));
    one = running_.erase(one);
    changed = true;
  }
  for (const auto& [job, keys] : runs) {
    if (running_.contains(job)) continue;
    engine::RunRequest request;
    for (const std::string& key : keys) {
      const auto& annotations = kube.pod(key)["metadata"]["annotations"];
      request.id = {job, std::stoi(annotations["sharewell.io/attempt"].get<std::string>())};
      std::string uuid = annotations["sharewell.io/gpu-ids"];
      for (const core::GivenGpu& gpu : gpus) {
        if (gpu.uuid == uuid) request.gpus.push_back(gpu);
      }
      const auto node = kube.node(kube.pod(key)["spec"]["nodeName"].get<std::string>());
      const auto claims =
          engine::ParseKubeClaims(node["metadata"]["annotations"].value("sharewell.io/claims", ""));
      request.cores += claims->at(kube.pod(key)["metadata"]["uid"].get<std::string>()).cores;
    }
    std::sort(request.gpus.begin(), request.gpus.end(),
              [](const core::GivenGpu& a, const core::GivenGpu& b) { return a.index < b.index; });
    running_[job] = request.id;
    stubs_.Start(request);
    ++starts;
    changed = true;
  }
  return changed;
}

}  // namespace sharewell::fixtures
