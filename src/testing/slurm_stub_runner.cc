#include "testing/slurm_stub_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"
#include "engine/slurm/control/job_note.h"

namespace sharewell::fixtures {

using core::Seconds;
using engine::SlurmJob;
using engine::SlurmPhase;

namespace {

// No policy gives a job more CPUs: Slurm gives none more than it asked for.
constexpr int kAsked = 64;

}  // namespace

SlurmStubRunner::SlurmStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit,
                                 Pace pace)
    : ClusterStubRunner(
          world,
          [this, submit = std::move(submit)](const core::Job& job) {
            Advance();
            const auto id = static_cast<std::int64_t>(job.id.value) + 1;
            slurm.SubmitAs(id, job.gpus, {.lasts = Seconds(1e12), .exit_code = 0}, 1);
            slurm.job(id).cpus = kAsked;
            submit(job);
          },
          std::move(pace)),
      control_(slurm, OptionsOf(cluster, slurm)) {
  slurm.leaving = Seconds(0);
  for (const core::Node& node : cluster.nodes()) {
    slurm.AddNode(node.name, node.gpus, cluster.model(node.model).name,
                  static_cast<int>(node.cores.value_or(kAsked)));
  }
  SHAREWELL_CHECK(control_.Open().has_value());
  for (const engine::RunnerNode& node : control_.Nodes()) {
    gpus.insert(gpus.end(), node.gpus.begin(), node.gpus.end());
  }
}

engine::SlurmControlOptions SlurmStubRunner::OptionsOf(const core::Cluster& cluster,
                                                       FakeSlurm& slurm) {
  engine::SlurmControlOptions options = FakeSlurmRunner::Options(slurm);
  options.model = ModelsOf(cluster);
  options.steps = {};
  options.back_after = Seconds(0);  // there is no Prolog, and all happens in one instant
  return options;
}

// It was released, and waits in Slurm's queue.
std::string SlurmStubRunner::WhyNotStarted() {
  const auto jobs = slurm.Jobs({});
  const auto found = std::find_if(jobs->begin(), jobs->end(), [](const SlurmJob& job) {
    return job.phase == SlurmPhase::kPending && job.priority > 0;
  });
  return found == jobs->end() ? "" : fmt::format("job {} waits in Slurm's queue", found->id);
}

bool SlurmStubRunner::Follow() {
  bool changed = false;
  const auto jobs = slurm.Jobs({});
  for (const bool starts_now : {false, true}) {  // who leaves makes room first
    for (const SlurmJob& job : *jobs) {
      const bool runs = job.phase == SlurmPhase::kRunning;
      const auto found = running_.find(job.id);
      if (runs != starts_now || runs == (found != running_.end())) continue;
      changed = true;
      if (!runs) {
        stubs_.Stop(found->second, {});
        running_.erase(found);
        continue;
      }
      StartStub(RequestOf(job));
    }
  }
  return changed;
}

engine::RunRequest SlurmStubRunner::RequestOf(const SlurmJob& job) const {
  const auto note = engine::ParseJobNote(job.admin_comment);
  SHAREWELL_CHECK(note && note->put && job.nodes.size() == 1);
  engine::RunRequest request;
  request.id = {job.id, note->put->attempt};
  request.cores = note->put->cores;
  const auto& kept = note->put->kept;
  for (const engine::SlurmSlot& slot : job.slots) {
    if (std::find(kept.begin(), kept.end(), slot.slot) != kept.end()) continue;
    const std::string uuid = engine::SlurmGpuUuid(job.nodes.front(), slot.slot);
    for (const core::GivenGpu& gpu : gpus) {
      if (gpu.uuid == uuid) request.gpus.push_back(gpu);
    }
  }
  SHAREWELL_CHECK(!request.gpus.empty());
  return request;
}

}  // namespace sharewell::fixtures
