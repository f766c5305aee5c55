// LiveRuns: the live engine's book of who runs, who waits for a place that is still being left,
// which nodes are up, and what the loop has yet to be told. The loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/live/live_engine.h"
#include "engine/live/step_window.h"

namespace sharewell::engine {

class LiveRuns {
 public:
  LiveRuns(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& runner,
           const LiveOptions& options);

  void Know(const core::Job& job, RunRequest request);
  void Adopt(core::JobId id, const RunRequest& run, RunRequest next);
  void SetPace(core::JobId id, const LonePace& pace);
  void SetTimeLimit(core::JobId id, core::Seconds limit);
  void AddNode(const RunnerNode& node);
  // As LiveEngine has them: live_ids.cc.
  void MarkStaying(std::vector<bool>& stays) const;
  void Renumber(const core::Renumbering& ids);

  void StopByPlan(core::JobId id);
  void CountEviction(core::JobId id) { ++jobs_[id].evictions; }
  bool IsBeingLeft(const std::vector<core::GpuId>& gpus) const;
  void PauseByPlan(core::JobId id);
  void LeaveByPlan(core::JobId id);  // the first half of a move
  void ArriveByPlan(core::JobId id, const core::Allocation& to);
  void Start(core::JobId id, const core::Allocation& to, std::optional<core::Seconds> profile);
  void Resize(core::JobId id, double cores);
  void Throttle(core::JobId id, core::Ratio share);
  void Drop(core::JobId id);  // the loop has given it up
  void Withdraw(core::JobId id);
  void Cancel(core::JobId id);
  void Requeue(core::JobId id);
  // As LiveEngine has them: live_pauses.cc.
  void SetGpuMemory(core::JobId id, std::optional<core::Bytes> memory);
  void Pause(core::JobId id);
  void Park(core::JobId id);
  void ParkFound(const RunRequest& run, RunRequest next);
  bool CancelParked(std::int64_t number);
  void ResumeFound(core::JobId id);

  // Hears what happened until `until`. False: nothing ever will.
  bool Wait(std::optional<core::Seconds> until);
  // The runner was told something since this was last asked, and may have to tell something.
  bool TakeTouched();
  // When there is something to do without anything happening: somebody has run alone for as long as
  // was asked, a start that was refused is tried again.
  std::optional<core::Seconds> NextDue() const;
  bool Owes() const;  // there is something to tell that is worth a turn
  void TellEnds(Observation& out);
  bool TellProfiled(Observation& out);
  // As LiveEngine has them: live_stays.cc.
  void TakeBackStaying();              // before TellEnds: who was to have their place does not
  void TellStaying(Observation& out);  // after it
  void TellProgress(Observation& out);
  void TellPaused(Observation& out);
  std::vector<Ended> TakeEnded();
  std::vector<RunEvent> TakeNotes();
  std::optional<double> StepsOf(core::JobId id) const;
  std::optional<core::Seconds> StepsToldAt(core::JobId id) const;

 private:
  // Why a run was told to end.
  enum class Why : std::uint8_t {
    kPlan,     // the loop decided so, and already counts it as stopped or moved
    kRequeue,  // the loop is told once it is gone
    kFail,     // likewise
  };
  enum class Paused : std::uint8_t { kNo, kPausing, kPaused, kResuming };
  // One attempt, to come or under way.
  struct Run {
    RunRequest request;
    std::vector<core::GpuId> gpus;
    core::NodeId node;                     // of a CPU-only job
    std::optional<core::Seconds> profile;  // tell when it has run alone for so long
    core::Ratio share = 1;
    std::optional<core::Seconds> began;  // absent: to come, or an earlier server began it
    std::optional<core::Seconds> profiled_at;
    core::Seconds attained;     // by its job, when it began
    bool started = false;       // told so
    std::optional<Why> leaves;  // absent: it was not told to
    Paused paused = Paused::kNo;
    bool asked_to_pause = false;  // somebody asked, no plan: the loop counts it as running
    bool wanted_back = false;     // it is to be resumed when its place is free
    bool was_told = false;        // to leave, whatever became of it
    std::string refused;          // why it does not leave; empty: nobody said so
    bool taken_back = false;      // the loop is to be told that it runs
    std::optional<core::Seconds> stays_until;  // it is not stopped again; told as JobView::stays
    std::optional<core::Seconds> stop_again;   // it is to leave all the same
  };
  struct Entry {
    RunRequest request;  // as it was submitted; its id is that of the last attempt
    LonePace pace;
    bool exclusive = false;
    bool believed = false;  // the loop counts it as running
    bool over = false;      // finished or failed, told or about to be
    int ooms = 0;
    int evictions = 0;
    int refusals = 0;             // one after the other
    int refused_stops = 0;        // likewise
    core::Seconds not_before;     // it is not started again
    std::optional<Run> run;       // its process is there, or on its way
    std::optional<Run> next;      // to be started when its place is free
    std::optional<double> steps;  // told in this run
    core::Seconds steps_at;       // when
    double steps_before = 0;      // when it was last told to leave
    StepWindow window;
    core::Seconds attained, settled;  // work done, and when that was worked out
    core::Seconds startup;            // of all its runs, up to their first steps
    core::Ratio rate = 0;
    core::Seconds told_at;
    core::Ratio told_rate = 0;
    bool fresh = false;  // more is known than was told
    bool due = false;    // and it is worth a turn

    std::optional<core::Bytes> gpu_memory;  // that it has; absent: not known

    bool Runs() const {
      return run && !run->leaves &&
             (run->paused == Paused::kNo || run->paused == Paused::kResuming);
    }
    // Its process waits, or is about to.
    bool IsPaused() const {
      return run && !run->leaves &&
             (run->paused == Paused::kPaused || run->paused == Paused::kPausing);
    }
  };
  struct KnownNode {  // by NodeId
    std::string name;
    std::size_t first_gpu = 0, gpus = 0;
    bool up = true;
  };

  // Work done so far and the pace from now on, as well as they are known.
  void Reckon(Entry& job, bool told_steps);
  void ResidentsChanged(const std::vector<core::GpuId>& where);
  bool Free(const Entry& job) const;
  bool Usable(const Run& run) const;  // its GPUs and its node are there
  void Begin(core::JobId id, Entry& job);
  void BeginWhatCan();
  // The loop had it started, but its process never was.
  void GiveUp(core::JobId id, Entry& job, Outcome outcome, const std::string& why = {});
  void Leave(Entry& job, Why why);
  void SendStop(Run& run);
  void Over(core::JobId id, Entry& job, std::vector<core::JobId>& told);
  Outcome OutcomeOf(const Entry& job, const RunEnd& end) const;

  void Note(RunEvent event);
  void Handle(const RunStarted& event);
  void Handle(const StartRefused& event);
  void Handle(const RunProgress& event);
  void Handle(const RunEnded& event);
  // Nothing here depends on these: they are for records and users.
  void Handle(const TimeLimitReached& event) { Note(event); }
  void Handle(const RunNote& event) { Note(event); }
  void Handle(const RunnerNote& event) { Note(event); }
  void Handle(const JobSubmitted& event) { Note(event); }
  void Handle(const JobWithdrawn& event) { Note(event); }
  void Handle(const TermsChanged& event) { Note(event); }
  void Handle(const NodeChanged& event) { Note(event); }
  void Handle(const GpuTaken& event) { Note(event); }
  void Handle(const HostTaken& event) { Note(event); }
  // live_pauses.cc
  void BeginPause(core::JobId id, Entry& job, bool asked);
  void BeginResume(core::JobId id, Entry& job);
  void RefusePause(core::JobId id, Entry& job, const PauseRefused& event);
  Entry* InState(RunId id, Paused state);  // null: that run is not, or not so
  void Handle(const PauseRefused& event);
  void Handle(const RunPaused& event);
  void Handle(const RunResumed& event);
  void Handle(const ResumeRefused& event);
  bool EndParked(const RunEnded& event);
  void LeaveGpus(core::JobId id, const Run& run);
  core::Allocation PlaceOf(const Run& run) const;
  // live_stays.cc
  void Handle(const StopRefused& event);
  void GiveUpStartsOn(const Run& run);
  void StopAgainWhatIsDue();
  // live_nodes.cc
  void Handle(const GpuLost& event);
  void Handle(const GpuBack& event);
  void Handle(const NodeCame& event);
  void Handle(const NodeWent& event);
  void Handle(const RunsListed& list);
  void TakeNodes(const std::vector<RunnerNode>& up);
  void LeaveUnusable();  // all whose GPU or node is lost
  KnownNode* NodeNamed(const std::string& name);

  // Those that the loop knows to be over go one turn later: until then their figures are asked for.
  void ForgetOver();

  Runner& runner_;
  const LiveOptions options_;
  std::vector<core::GivenGpu> gpus_;
  std::vector<KnownNode> nodes_;
  std::set<std::string> offered_;      // nodes that came and were not added
  std::map<core::JobId, Entry> jobs_;  // all that are not over, and those in known_over_
  std::vector<core::JobId> known_over_;
  std::set<core::JobId> live_;                    // with a run or a start to come
  std::map<RunId, core::JobId> runs_;             // whose process is there
  std::vector<std::vector<core::JobId>> on_gpu_;  // processes, those that leave among them
  std::vector<core::JobId> starts_;               // to come, in the order they were decided
  std::map<std::int64_t, Entry> parked_;  // paused, and not in the loop's queue; by job's number
  std::vector<PausedJob> paused_;         // to be told
  std::set<core::GpuId> lost_;
  std::vector<core::JobId> finished_, failed_, out_of_memory_, requeued_;  // to be told
  std::vector<Ended> ended_;
  std::vector<RunEvent> notes_;
  std::optional<core::Seconds> listed_;  // as of when the youngest list was that was heard
  bool news_ = false;                    // a note that no turn was made for
  bool touched_ = false;
};

}  // namespace sharewell::engine
