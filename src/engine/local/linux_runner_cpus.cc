// The CPUs of runs: what each is given, and what it is lent beside that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "engine/local/linux_runner_impl.h"
#include "engine/local/run/supervised.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

// By then a job without steps has looked how many CPUs it has.
constexpr core::Seconds kLendAfter{30};

}  // namespace

void LinuxRunner::SetCores(RunId id, double cores) {
  Impl& in = *impl_;
  if (!in.room) return;
  Impl::Run& run = *in.Find(id);
  run.request.cores = cores;
  if (run.waits && !run.spec) return;  // it has none yet
  in.ApplyCpus(run, in.room->Resize(id, cores));
  in.LendCpus();
}

void LinuxRunner::Impl::ApplyCpus(Run& run, const std::vector<int>& cpus) {
  const double cores = run.request.cores;
  platform::CgroupLimits limits{.cpus = cpus};
  limits.cpu_time = std::numeric_limits<double>::infinity();
  if (cores > 0 && cores != std::floor(cores)) limits.cpu_time = cores;
  run.lent.clear();
  if (run.group) run.group->Change(limits);
  if (run.group == nullptr || !run.group->Bounds("cpuset")) {
    const auto top = engine::SupervisorOf(run.folder);
    if (top) engine::KeepTreeToCpus(*top, cpus);
  }
  const auto change = [&](engine::JobSpec& spec) {
    spec.Set("cores", fmt::format("{}", cores));
    spec.Set("given_cpus", platform::FormatCpus(cpus));
    if (spec.Get("cpus")) spec.Set("cpus", platform::FormatCpus(cpus));
  };
  if (run.spec) return change(*run.spec);
  // A server that comes later finds what it has now.
  if (auto spec = engine::ReadSpec(run.folder)) {
    change(*spec);
    [[maybe_unused]] const auto written = engine::WriteSpec(run.folder, *spec);
  }
}

void LinuxRunner::Impl::TakeCpus(Run& run) {
  if (!room) return;
  room->Return(run.request.id);
  std::optional<int> node;
  const auto& gpus = run.request.gpus;
  if (!gpus.empty() && options.gpu_nodes.contains(gpus.front().uuid)) {
    node = options.gpu_nodes.at(gpus.front().uuid);
  }
  ApplyCpus(run, room->Take(run.request.id, run.request.cores, !gpus.empty(), node));
  LendCpus();
}

// What nobody was given would stand idle, and a loop that is kept to as many cores as it keeps busy
// has none to spare (docs/mix.md). So runs with GPUs may use it too, all of them at once, and lose
// it as soon as somebody is given it. Not before a run's first step: it may count its CPUs
// to see how many loaders to start. CPU-only runs keep to what they have, for theirs is the traffic
// that training jobs suffer from.
void LinuxRunner::Impl::LendCpus() {
  if (!room) return;
  const std::vector<int> spare = room->Spare();
  for (auto& [id, run] : runs) {
    const double cores = run.request.cores;
    if (run.ended || !run.command || run.request.gpus.empty()) continue;
    if (cores <= 0 || cores != std::floor(cores)) continue;  // not bounded, or by time as well
    if (run.steps <= 0 && Now() < run.since + kLendAfter) continue;
    const std::vector<int> own = room->Own(id);
    if (own.empty()) continue;  // it is paused
    std::vector<int> may_use;
    std::set_union(own.begin(), own.end(), spare.begin(), spare.end(), std::back_inserter(may_use));
    const std::vector<int>& has = run.lent.empty() ? own : run.lent;
    if (may_use == has) continue;
    if (run.group && run.group->Bounds("cpuset")) {
      run.group->Change({.cpus = may_use});
    } else if (const auto top = engine::SupervisorOf(run.folder)) {
      engine::KeepTreeToCpus(*top, may_use, has);
    }
    run.lent = std::move(may_use);
  }
}

}  // namespace sharewell::engine
