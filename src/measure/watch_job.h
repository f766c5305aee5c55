// One job of a watch: how it is bounded, how fast it goes, and the signal by which its steady state
// is known. For cli/commands/predict/watch.cc.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job/profile_record.h"
#include "core/numbers/steady.h"
#include "measure/profile_series.h"
#include "measure/throughput.h"
#include "measure/watch.h"
#include "measure/watch_world.h"
#include "platform/process/cgroup_limits.h"

namespace sharewell::measure {

// A signal, one value a tick, from tick `first` on.
struct Signal {
  std::size_t first = 0;
  std::span<const double> values;
  core::SteadyRules rules;
};

class WatchJob {
 public:
  // `together`: a group, bounded to so much `memory`, that it runs in beside others; null: none.
  static core::Result<std::unique_ptr<WatchJob>> Make(const RunSpec& spec,
                                                      const platform::Cgroup* together = nullptr,
                                                      std::optional<core::Bytes> memory = {});

  core::Result<void> Start(WatchWorld& world);
  const RunSpec& spec() const { return spec_; }
  WatchedJob* process() const { return process_.get(); }  // null: not started
  const std::string& cgroup() const { return cgroup_->folder(); }
  bool MemoryKilled() const { return cgroup_->MemoryKilled(); }
  // Its command ended, and nothing that it started (unless it failed) runs on.
  bool Finished();
  // What costs more than a reading does: facts of its own, and how much of its memory its
  // processes share. More than once, since what it loads comes late.
  void LookDeeper(const ProfileSeries& series, const WatchOptions& options);
  void Stop(core::Seconds grace);  // what is told of it goes into the notes

  // The end of a tick; `ticks` are all of them so far, the start first.
  void Tick(const ProfileSeries& series, std::span<const core::Seconds> ticks, core::Seconds wall);
  Signal Primary(const WatchOptions& options) const;
  // Steps came often enough in it to speak of a mean, or there are none to expect.
  bool EnoughArrivals(Span window) const;
  WatchJobLine Line(const ProfileSeries& series, std::span<const core::Seconds> ticks) const;

  struct Outcome {
    core::Seconds start;  // of all of them
    Span window, life;
    std::optional<core::UnixMillis> created;
    core::Settling settling;
    bool only = true;  // no other job was watched beside it
  };
  core::ProfileRecord Record(const ProfileSeries& series, const Outcome& outcome,
                             const WatchOptions& options) const;

  void AddNote(std::string note);

 private:
  WatchJob(const RunSpec& spec, std::unique_ptr<Throughput> throughput,
           std::unique_ptr<platform::Cgroup> cgroup);
  std::vector<std::string> Gpus(const ProfileSeries& series) const;
  bool HadItsGpusAlone(const ProfileSeries& series, const Outcome& outcome,
                       std::vector<std::string>& notes) const;
  core::Figure StepsFigure(Span window) const;

  RunSpec spec_;
  std::unique_ptr<Throughput> throughput_;
  std::unique_ptr<platform::Cgroup> cgroup_;  // goes after the process
  std::unique_ptr<WatchedJob> process_;
  WatchWorld* world_ = nullptr;
  std::optional<int> exit_code_;
  bool stopped_ = false;
  core::Seconds started_;
  std::vector<double> cpu_, busy_, steps_;  // one a tick; steps from tick first_step_ on
  bool has_gpu_ = false;
  std::size_t first_step_ = 0;
  std::vector<core::Seconds> step_ticks_;  // ends of the ticks in steps_
  Facts facts_;
  core::Ratio unshared_ = 1;
  std::vector<std::string> notes_;
};

}  // namespace sharewell::measure
