#include "testing/kube_stub_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"

namespace sharewell::fixtures {

using core::Seconds;
using engine::RunEvent;

KubeStubRunner::KubeStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit,
                               Pace pace)
    : ClusterStubRunner(
          world,
          [this, submit = std::move(submit)](const core::Job& job) {
            Advance();
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
  kube.EmitAll(control_);
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
  options.model = ModelsOf(cluster);
  return options;
}

void KubeStubRunner::Cycle(std::vector<RunEvent>& out) {
  kube.Emit(control_);
  control_.Cycle(Now(), out);
}

void KubeStubRunner::EndThere(std::int64_t job, int exit_code) {
  for (const std::string& key : kube.Running()) {
    if (kube.JobOf(key) == job) kube.EndPod(key, exit_code);
  }
}

bool KubeStubRunner::Follow() {
  bool changed = false;
  std::map<std::int64_t, std::vector<std::string>> runs;
  for (const std::string& key : kube.Running()) runs[kube.JobOf(key)].push_back(key);
  for (auto one = running_.begin(); one != running_.end();) {  // who leaves makes room first
    if (runs.contains(one->first)) {
      ++one;
      continue;
    }
    stubs_.Stop(one->second, {});
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
    StartStub(request);
    changed = true;
  }
  return changed;
}

}  // namespace sharewell::fixtures
