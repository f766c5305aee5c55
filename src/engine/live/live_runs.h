// LiveRuns: the local engine's book of who has a process, who waits for a place that is still
// being left, and what the loop has yet to be told. The loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/live/live_engine.h"
#include "engine/live/step_window.h"

namespace sharewell::engine {

class LiveRuns {
 public:
  LiveRuns(std::vector<core::GivenGpu> gpus, Runner& runner, const JobDirectory& directory,
           const LiveOptions& options);

  void Know(const core::Job& job);
  void Adopt(core::JobId id, const RunRequest& request);

  void StopByPlan(core::JobId id);
  void LeaveByPlan(core::JobId id);  // the first half of a move
  void ArriveByPlan(core::JobId id, const core::Allocation& to);
  void Start(core::JobId id, const core::Allocation& to, std::optional<core::Seconds> profile);
  void Resize(core::JobId id, double cores);
  void Throttle(core::JobId id, core::Ratio share);
  void Drop(core::JobId id);  // the loop has given it up
  void Withdraw(core::JobId id);
  void Cancel(core::JobId id);
  void Requeue(core::JobId id);

  // Hears what happened until `until`. False: nothing ever will.
  bool Wait(std::optional<core::Seconds> until);
  // The runner was told something since this was last asked, and may have to tell something.
  bool TakeTouched();
  // When somebody will have run alone for as long as was asked.
  std::optional<core::Seconds> NextProfiled() const;
  bool Owes() const;  // there is something to tell that is worth a turn
  void TellEnds(Observation& out);
  bool TellProfiled(Observation& out);
  void TellProgress(Observation& out);
  std::vector<Ended> TakeEnded();
  std::vector<RunEvent> TakeNotes();
  std::optional<double> StepsOf(core::JobId id) const;
  std::optional<double> StepsPerSecond(core::JobId id) const;

 private:
  // Why a run was told to end.
  enum class Why : std::uint8_t {
    kPlan,     // the loop decided so, and already counts it as stopped or moved
    kRequeue,  // the loop is told once it is gone
    kFail,     // likewise
  };
  struct Place {
    RunRequest request;
    std::vector<core::GpuId> gpus;
    std::optional<core::Seconds> profile;
    core::Ratio share = 1;
  };
  struct Run {
    Place at;
    std::optional<core::Seconds> began;  // absent: an earlier server began it
    std::optional<core::Seconds> profiled_at;
    std::optional<Why> leaves;  // absent: it was not told to
  };
  struct Entry {
    bool exclusive = false;
    bool believed = false;  // the loop counts it as running
    bool over = false;      // finished or failed, told or about to be
    int ooms = 0;
    std::optional<Run> run;       // its process is there
    std::optional<Place> next;    // to be started when its place is free
    std::optional<double> steps;  // told in this run
    double steps_before = 0;      // when it was last told to leave
    StepWindow window;
    core::Seconds attained, settled;  // work done, and when that was worked out
    core::Seconds startup;            // of all its runs, up to their first steps
    core::Ratio rate = 0;
    core::Seconds told_at;
    core::Ratio told_rate = 0;
    bool fresh = false;  // more is known than was told
    bool due = false;    // and it is worth a turn

    bool Runs() const { return run && !run->leaves; }
  };

  // Work done so far and the pace from now on, as well as they are known.
  void Reckon(core::JobId id, Entry& job, bool told_steps);
  void ResidentsChanged(const std::vector<core::GpuId>& where);
  bool Free(const Entry& job) const;
  void Begin(core::JobId id, Entry& job);
  void BeginWhatCan();
  // The loop had it started, but its process never was.
  void GiveUp(core::JobId id, Entry& job, Outcome outcome);
  void Leave(Entry& job, Why why);
  void Over(core::JobId id, Entry& job, std::vector<core::JobId>& told);
  Outcome OutcomeOf(const Entry& job, const RunEnd& end) const;
  void Take(const RunEvent& event);
  static core::Seconds StartUp(core::Seconds passed, double steps,
                               std::optional<double> steps_alone);
  void TakeProgress(const RunEvent& event);
  void TakeEnd(const RunEvent& event);
  void LoseGpu(const std::string& uuid);
  // Those that the loop knows to be over go one turn later: until then their figures are asked for.
  void ForgetOver();

  Runner& runner_;
  const JobDirectory& directory_;
  const LiveOptions options_;
  std::vector<core::GivenGpu> gpus_;
  std::map<core::JobId, Entry> jobs_;  // all that are not over, and those in known_over_
  std::vector<core::JobId> known_over_;
  std::set<core::JobId> live_;                    // with a run or a start to come
  std::map<RunId, core::JobId> runs_;             // whose process is there
  std::vector<std::vector<core::JobId>> on_gpu_;  // processes, those that leave among them
  std::vector<core::JobId> starts_;               // to come, in the order they were decided
  std::set<core::GpuId> lost_;
  std::vector<core::JobId> finished_, failed_, out_of_memory_, requeued_;  // to be told
  std::vector<Ended> ended_;
  std::vector<RunEvent> notes_;
  bool news_ = false;  // a note that no turn was made for
  bool touched_ = false;
};

}  // namespace sharewell::engine
