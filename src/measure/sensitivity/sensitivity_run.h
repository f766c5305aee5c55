// A job that stays alive while the world around it changes: its rate over any span of its life. For
// cli/commands/measure/sensitivity.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/jobs.h"
#include "measure/sensitivity/sensitivity_result.h"
#include "measure/throughput.h"
#include "measure/watch.h"
#include "measure/watch_sampler.h"
#include "measure/watch_world.h"
#include "platform/process/cgroup_limits.h"

namespace sharewell::measure {

class PhasedRun {
 public:
  enum class State { kRuns, kEnded, kInterrupted };

  static core::Result<std::unique_ptr<PhasedRun>> Start(const RunSpec& spec,
                                                        const WatchOptions& options,
                                                        WatchWorld& world);
  ~PhasedRun();
  PhasedRun(const PhasedRun&) = delete;
  PhasedRun& operator=(const PhasedRun&) = delete;

  // Lets it run on; sooner back when it ends or a signal comes.
  State Advance(core::Seconds time);
  // Until its rate is steady, or `at_most` is over.
  State WarmUp(const std::optional<core::Seconds>& given, core::Seconds at_most);
  State state() const { return state_; }
  std::optional<int> exit_code() const { return exit_code_; }
  core::Seconds Age();  // since its start

  // Its rate from an age to now. Steps, where the job tells them; else how busy it keeps the GPU or
  // the CPU.
  PhaseRate RateSince(core::Seconds age);
  bool TellsSteps() const;
  std::string Measure() const;
  std::vector<std::string> Notes() const;
  void Stop(core::Seconds grace);

 private:
  class OneJob;
  PhasedRun(const RunSpec& spec, const WatchOptions& options, WatchWorld& world);
  std::optional<double> Mean(core::Seconds from, core::Seconds to) const;
  std::optional<double> Busy(core::Seconds from, core::Seconds to) const;

  RunSpec spec_;
  WatchOptions options_;
  WatchWorld& world_;
  std::unique_ptr<Throughput> throughput_;
  std::unique_ptr<platform::Cgroup> cgroup_;  // goes after the process
  std::unique_ptr<OneJob> job_;
  std::unique_ptr<WatchSampler> sampler_;
  State state_ = State::kRuns;
  std::optional<int> exit_code_;
  core::Seconds started_, sampled_;
};

}  // namespace sharewell::measure
