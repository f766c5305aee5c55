#include "engine/local/run_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "engine/local/run/supervised.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

// By then a job without steps has looked how many CPUs it has.
constexpr core::Seconds kLendAfter{30};

// Besides its CPU time, where the machine can: what it moves hurts others more than what it
// computes.
void BoundBandwidth(LocalRun& run, core::Ratio share) {
  if (share >= 1 || !run.group) return run.bandwidth.reset();
  if (!run.bandwidth) {
    run.bandwidth =
        platform::BandwidthGroup::Make(fmt::format("sharewell.job-{}", run.request.id.job));
  }
  if (!run.bandwidth || !run.bandwidth->SetShare(share)) return;
  std::vector<int> pids;
  for (const std::string& procs : run.group->procs()) {
    std::ifstream file(procs);
    for (int pid = 0; file >> pid;) pids.push_back(pid);
  }
  run.bandwidth->Add(pids);
}

}  // namespace

std::optional<std::vector<int>> RunCpus::Take(const LocalRun& run) {
  if (!room_) return std::nullopt;
  const RunRequest& request = run.request;
  auto cpus =
      room_->Take(request.id, request.cores, !request.gpus.empty(), book_.GpuNodeOf(request));
  Lend();  // what others were lent may be its own now
  return cpus;
}

void RunCpus::TakeAgain(LocalRun& run) {
  if (!room_) return;
  const RunRequest& request = run.request;
  room_->Return(request.id);
  Apply(run,
        room_->Take(request.id, request.cores, !request.gpus.empty(), book_.GpuNodeOf(request)));
  Lend();
}

void RunCpus::Claim(const LocalRun& run, const std::vector<int>& cpus) {
  if (!room_) return;
  room_->Claim(run.request.id, cpus, run.request.cores, !run.request.gpus.empty(),
               book_.GpuNodeOf(run.request));
}

void RunCpus::Return(RunId id) {
  if (room_) room_->Return(id);
}

void RunCpus::Resize(LocalRun& run, double cores) {
  if (!room_) return;
  run.request.cores = cores;
  if (run.waits && !run.spec) return;  // it has none yet
  Apply(run, room_->Resize(run.request.id, cores));
  Lend();
}

void RunCpus::SetShare(LocalRun& run, core::Ratio share) {
  BoundBandwidth(run, share);
  const double all =
      static_cast<double>(room_ ? room_->all().size() : platform::AllowedCpus().size());
  const double cores = run.request.cores > 0 ? std::min(run.request.cores, all) : all;
  const platform::CgroupLimits limits{.cpu_time = share < 1
                                                      ? std::max(share, 0.01) * cores
                                                      : std::numeric_limits<double>::infinity()};
  if (run.group && run.group->Change(limits)) return;
  if (!book_.IsNews("share")) return;
  book_.Emit(RunNote{
      run.request.id,
      "it cannot be slowed down for others: CPU time is not bounded by a control group here"});
}

void RunCpus::Apply(LocalRun& run, const std::vector<int>& cpus) {
  const double cores = run.request.cores;
  platform::CgroupLimits limits{.cpus = cpus};
  limits.cpu_time = std::numeric_limits<double>::infinity();
  if (cores > 0 && cores != std::floor(cores)) limits.cpu_time = cores;
  run.lent.clear();
  if (run.group) run.group->Change(limits);
  if (run.group == nullptr || !run.group->Bounds("cpuset")) {
    const auto top = SupervisorOf(run.folder);
    if (top) KeepTreeToCpus(*top, cpus);
  }
  const auto change = [&](JobSpec& spec) {
    spec.Set("cores", fmt::format("{}", cores));
    spec.Set("given_cpus", platform::FormatCpus(cpus));
    if (spec.Get("cpus")) spec.Set("cpus", platform::FormatCpus(cpus));
  };
  if (run.spec) return change(*run.spec);
  // A server that comes later finds what it has now.
  if (auto spec = ReadSpec(run.folder)) {
    change(*spec);
    [[maybe_unused]] const auto written = WriteSpec(run.folder, *spec);
  }
}

// What nobody was given would stand idle, and a loop that is kept to as many cores as it keeps busy
// has none to spare (docs/mix.md). So runs with GPUs may use it too, all of them at once, and lose
// it as soon as somebody is given it. Not before a run's first step: it may count its CPUs
// to see how many loaders to start. CPU-only runs keep to what they have, for theirs is the traffic
// that training jobs suffer from.
void RunCpus::Lend() {
  if (!room_) return;
  const std::vector<int> spare = room_->Spare();
  for (auto& [id, run] : book_.runs) {
    const double cores = run.request.cores;
    if (run.ended || !run.command || run.request.gpus.empty()) continue;
    if (cores <= 0 || cores != std::floor(cores)) continue;  // not bounded, or by time as well
    if (run.steps <= 0 && book_.Now() < run.since + kLendAfter) continue;
    const std::vector<int> own = room_->Own(id);
    if (own.empty()) continue;  // it is paused
    std::vector<int> may_use;
    std::set_union(own.begin(), own.end(), spare.begin(), spare.end(), std::back_inserter(may_use));
    const std::vector<int>& has = run.lent.empty() ? own : run.lent;
    if (may_use == has) continue;
    if (run.group && run.group->Bounds("cpuset")) {
      run.group->Change({.cpus = may_use});
    } else if (const auto top = SupervisorOf(run.folder)) {
      KeepTreeToCpus(*top, may_use, has);
    }
    run.lent = std::move(may_use);
  }
}

}  // namespace sharewell::engine
