#include "cli/commands/jobs/demo_jobs.h"

#include <fmt/format.h>

#include <array>

namespace sharewell::cli {
namespace {

struct Load {
  double busy, sm, dram, kernel;  // kernel: its mean time in microseconds
};

struct DemoJob {
  DemoPart part;
  const char* name;
  double rate, seconds;  // steps a second, and how long it takes, alone
  double gib;            // GPU memory
  Load told, real;
  int gpus = 1;
  bool tells = true;  // false: nothing is known of it
  std::vector<std::int64_t> after = {};
};

// Loads like those of data/h200, rounded. The newcomer's is not what it tells: its long kernels
// keep all SMs, so that the short ones of a recurrent network wait for them.
const std::vector<DemoJob>& AllDemoJobs() {
  constexpr Load kLstm{0.6, 0.25, 0.1, 15}, kBert{0.45, 0.35, 0.2, 60}, kResnet{0.4, 0.3, 0.25, 80},
      kSmall{0.2, 0.1, 0.05, 30}, kLight{0.15, 0.1, 0.05, 200}, kHeavy{1, 1, 0.9, 4000};
  using enum DemoPart;
  static const std::vector<DemoJob> all = {
      {kFirst, "lstm", 25, 80, 18, kLstm, kLstm},
      {kFirst, "bert", 20, 80, 120, kBert, kBert},
      {kNewcomer, "newcomer", 8, 40, 30, kLight, kHeavy},
      {kOthers, "resnet-lr-0.1", 15, 25, 6, kResnet, kResnet},
      {kOthers, "resnet-lr-0.01", 15, 25, 6, kResnet, kResnet},
      {kOthers, "mobilenet", 18, 30, 3, kSmall, kSmall},
      {kOthers, "deepfm", 30, 20, 4, kSmall, kSmall},
      {kOthers, "detector", 10, 25, 9, kBert, kBert},
      {kOthers, "speech", 12, 25, 5, kSmall, kSmall},
      {kOthers, "unknown-script", 10, 20, 4, kSmall, kSmall, 1, false},
      {kOthers, "evaluate", 20, 10, 3, kSmall, kSmall, 1, true, {4, 5}},
      {kOthers, "two-gpu-job", 10, 20, 40, kResnet, kResnet, 2},
  };
  return all;
}

core::Submission SubmissionOf(const DemoJob& job, const DemoPlaces& places) {
  core::Submission one;
  one.name = job.name;
  one.command = {places.program, "stand-in",
                 "--rate",       fmt::format("{}", job.rate),
                 "--steps",      fmt::format("{:.0f}", job.rate * job.seconds),
                 "--busy",       fmt::format("{}", job.real.busy),
                 "--sm",         fmt::format("{}", job.real.sm),
                 "--dram",       fmt::format("{}", job.real.dram),
                 "--kernel",     fmt::format("{}", job.real.kernel),
                 "--loads",      places.folder,
                 "--server",     places.server};
  one.folder = places.folder;
  one.gpus = job.gpus;
  one.cores = 1;
  one.watch = false;  // no Python is in it
  one.after = job.after;
  if (!job.tells) return one;
  core::Needs needs;
  needs.sources = core::Sources::All(core::Source::kTold);
  needs.sources.pace = core::Source::kPredicted;
  needs.from = "what the demo tells of it";
  core::Profile& profile = needs.profile;
  profile.workload.name = job.name;
  profile.gpu = "H200";
  profile.steps_per_second = job.rate;
  profile.busy = job.told.busy;
  profile.sm = job.told.sm;
  profile.dram = job.told.dram;
  profile.gpu_memory = core::GiB(job.gib);
  profile.cpu_cores = 1;
  profile.host_memory = core::GiB(0.1);
  profile.kernel_time = core::Seconds(job.told.kernel / 1e6);
  needs.gpu_memory_upper = core::GiB(job.gib * 1.1);
  // Where lengths are known, a bound counts over the whole run: too long for a demo.
  if (job.part == DemoPart::kOthers) needs.duration = core::Seconds(job.seconds);
  one.needs = std::move(needs);
  return one;
}

}  // namespace

std::vector<core::Submission> DemoJobs(DemoPart part, const DemoPlaces& places) {
  std::vector<core::Submission> jobs;
  for (const DemoJob& job : AllDemoJobs()) {
    if (job.part == part) jobs.push_back(SubmissionOf(job, places));
  }
  return jobs;
}

}  // namespace sharewell::cli
