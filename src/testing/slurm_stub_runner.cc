#include "testing/slurm_stub_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"
#include "engine/slurm/job_note.h"

namespace sharewell::fixtures {

using core::Seconds;
using engine::RunEvent;
using engine::SlurmJob;
using engine::SlurmPhase;

namespace {

// No policy gives a job more CPUs: Slurm gives none more than it asked for.
constexpr int kAsked = 64;

bool Tells(const std::vector<RunEvent>& events, RunEvent::Kind kind) {
  return std::any_of(events.begin(), events.end(),
                     [&](const RunEvent& event) { return event.kind == kind; });
}

}  // namespace

SlurmStubRunner::SlurmStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit,
                                 Pace pace)
    : stubs_(
          world,
          [this, submit = std::move(submit)](const core::Job& job) {
            slurm.Advance(stubs_.Now());
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
  options.model = [&cluster](std::string_view name) -> std::optional<engine::SlurmGpuModel> {
    for (const core::GpuModel& model : cluster.models()) {
      if (model.name == name) return engine::SlurmGpuModel{model.name, model.memory};
    }
    return std::nullopt;
  };
  options.steps = {};
  options.back_after = Seconds(0);  // there is no Prolog, and all happens in one instant
  return options;
}

void SlurmStubRunner::Start(const engine::RunRequest& request) {
  control_.Start(request);
  asked_ = true;
}

void SlurmStubRunner::Stop(engine::RunId id, Seconds) {
  control_.Stop(id);
  asked_ = true;
}

bool SlurmStubRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  if (std::exchange(asked_, false)) Look(out);
  if (refused) return false;
  // As stubs tell it: what has left is heard of before anybody's new pace.
  if (Tells(out, RunEvent::Kind::kEnded)) return true;
  std::vector<RunEvent> told;
  bool known = false;  // all of it: the ends of those whom Slurm has stopped
  do {
    told.clear();
    if (!stubs_.Wait(until, told)) return false;
    slurm.Advance(Now());
    const bool ends = TellEnds(told);
    if (ends) Look(out);
    if (refused) return false;
    // Steps go from the nodes' agents to the store, past Slurm.
    known = !told.empty() && !ends;
    for (const RunEvent& event : told) {
      if (event.kind == RunEvent::Kind::kProgress) out.push_back(event);
      known = known && event.kind == RunEvent::Kind::kEnded;
    }
  } while (known);
  return true;
}

// Whether any of these has ended by itself.
bool SlurmStubRunner::TellEnds(const std::vector<RunEvent>& told) {
  bool any = false;
  for (const RunEvent& event : told) {
    const auto found = running_.find(event.id.job);
    if (event.kind != RunEvent::Kind::kEnded || found == running_.end()) continue;
    if (found->second != event.id) continue;
    running_.erase(found);
    slurm.End(event.id.job, event.end.exit_code);
    any = true;
  }
  return any;
}

// Slurm is looked at until nothing is on its way any more, all in one instant.
void SlurmStubRunner::Look(std::vector<RunEvent>& out) {
  for (int quiet = 0; quiet < 2;) {
    const std::size_t before = out.size();
    const std::size_t lines = slurm.log.size();
    control_.Cycle(Now(), out);
    slurm.Advance(Now());
    const bool changed = FollowSlurm();
    quiet = changed || slurm.log.size() > lines || out.size() > before ? 0 : quiet + 1;
  }
  refused = refused || Tells(out, RunEvent::Kind::kRefused) || !AllStarted();
  if (refused) out.clear();
  std::erase_if(out, [](const RunEvent& event) {
    return event.kind == RunEvent::Kind::kSubmitted;  // whoever uses this submits by itself
  });
}

// Whether nothing that was released waits in Slurm's queue.
bool SlurmStubRunner::AllStarted() {
  const auto jobs = slurm.Jobs({});
  return std::none_of(jobs->begin(), jobs->end(), [](const SlurmJob& job) {
    return job.phase == SlurmPhase::kPending && job.priority > 0;
  });
}

// What runs in Slurm runs in the world, and nothing else. By Slurm's words alone.
bool SlurmStubRunner::FollowSlurm() {
  bool changed = false;
  const auto jobs = slurm.Jobs({});
  for (const bool starts_now : {false, true}) {  // who leaves makes room first
    for (const SlurmJob& job : *jobs) {
      const bool runs = job.phase == SlurmPhase::kRunning;
      const auto found = running_.find(job.id);
      if (runs != starts_now || runs == (found != running_.end())) continue;
      changed = true;
      if (!runs) {
        stubs_.Stop(found->second, Seconds(0));
        running_.erase(found);
        continue;
      }
      const auto request = RequestOf(job);
      running_[job.id] = request.id;
      stubs_.Start(request);
      ++starts;
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
