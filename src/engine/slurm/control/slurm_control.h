// SlurmControl: what a Slurm cluster does and what it is told, one look at a time. SlurmRunner
// calls it on a thread of its own; tests call it on a clock of theirs. One thread; each call may
// wait for Slurm.
//
// A job is placed in steps, each of which may fail, hang, or happen without its answer: the place
// is written (an update is not atomic), read again, and only where all of it holds is the job
// released. Until it is released it is held, and nothing can start it. Every step can be done
// again. What was done is never taken from an answer but read from Slurm; that makes it safe to end
// at any point and begin anew.
//
// Nothing is undone behind an admin's back: a job that somebody else has released, moved or changed
// is theirs (JobWithdrawn), and what they have is taken (GpuTaken).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/cluster_book.h"
#include "engine/runner.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/control/slurm_claim.h"
#include "engine/slurm/control/slurm_place.h"
#include "engine/slurm/control/slurm_strangers.h"
#include "engine/slurm/read/slurm_client.h"
#include "engine/slurm/read/slurm_terms.h"
#include "engine/watched_runs.h"

namespace sharewell::engine {

struct SlurmControlOptions {
  GpuModelNamed model;  // REQUIRED
  bool admin = true;    // false: jobs of `uid` alone, whose notes are in Comment
  std::uint32_t uid = 0;
  bool dry_run = false;             // say what would be done, and do nothing
  core::Seconds poll{1};            // between two looks
  core::Seconds start_within{30};   // of a release; then it is held again
  core::Seconds nodes_every{5};     // nodes are read
  core::Seconds again_after{15};    // a stop or a cancel is said again
  core::Seconds longest_pause{10};  // while Slurm does not answer
  // What a job needs by the model that its user names in the comment. Empty: nobody can say. It
  // must not wait: absent is not known yet, and asked again with the next look.
  std::function<std::optional<core::Result<core::Needs>>(
      const UserWords& words, const SlurmJob& job, const core::Submission& asked)>
      predict = {};
  StepsOfRuns steps = {};          // empty: nobody watches the nodes
  core::Seconds shares_every{60};  // fair share is read
  // A node that has a job again in the second in which that left it runs no Prolog for it.
  core::Seconds back_after{1.1};
  std::function<void()> alive = [] {};     // after each look that Slurm answered
  std::function<core::UnixMillis()> wall;  // REQUIRED: the time of day
  std::function<void(const std::string&)> log = [](const std::string&) {};
  // Called in the course of a look, between two questions: commands that came meanwhile are given
  // now. A look at a long queue takes longer than a start may wait. False: there were none.
  std::function<bool()> meanwhile = [] { return false; };
  // Whether an agent is heard on that node: jobs share GPUs only where one is. It must not wait.
  // Empty: agents cannot be heard, and jobs share everywhere.
  std::function<bool(const std::string& node)> watched = {};
  // Says in Slurm that this server places the jobs, and keeps from placing any where another one
  // does. Absent: nothing is said.
  std::optional<SlurmClaim> claim = {};
};

struct SlurmRun : BookedRun {
  enum class Step : std::uint8_t { kPlace, kReleased, kRunning };
  enum class Place : std::uint8_t { kUnread, kRight, kWrong };  // of one that has begun

  JobNote note;  // with its put, once it was worked out
  Step step = Step::kPlace;
  Place place = Place::kUnread;
  std::optional<core::Seconds> asked;  // a stop, a cancel or a release was last said
  bool told_stuck = false;
  core::UnixMillis began = 0;         // when it was seen to run
  std::optional<core::Seconds> gone;  // since when Slurm does not know it
  std::int64_t limit_minutes = 0;     // its time limit, where it was extended
};

struct SlurmNodeHere : BookedNode {
  SlurmNode slurm;
  bool plain = false;  // its GPUs have no shards
};

class SlurmControl : public ClusterBook<SlurmRun, SlurmNodeHere> {
 public:
  // `client` must outlive it.
  SlurmControl(SlurmClient& client, SlurmControlOptions options);

  // Reads the nodes. An error too: another server places the jobs.
  core::Result<void> Open();
  std::string problem() const { return problem_ ? problem_->words : std::string(); }
  // The last call: another server may begin at once.
  void Leave();

  core::Result<std::vector<RunRequest>> Recover();
  void Expect(std::int64_t job) override;
  void SetTimeLimit(RunId id, core::Seconds limit);

  // One look, and all that follows from it. When the next one is due.
  core::Seconds Cycle(core::Seconds now, std::vector<RunEvent>& out);
  // Between two looks: carries out a few starts and stops that came since the last one, without
  // reading the whole queue again. When the next look is due.
  core::Seconds DoNow(core::Seconds now, std::vector<RunEvent>& out);

 private:
  using Step = SlurmRun::Step;
  using Run = SlurmRun;
  using NodeHere = SlurmNodeHere;
  struct Problem {
    std::string words;
    bool other_server = false;  // it places the jobs; else Slurm does not answer as it should
  };
  struct Known {
    std::optional<SlurmQueueLine> line;  // absent: it is expected, and was not seen
    std::optional<SlurmJob> job;         // as it was read last
    std::optional<SlurmQueueLine> read;  // its line then
    std::optional<JobNote> note;
    bool told = false;                // the service has it
    std::optional<StartTerms> terms;  // as told; absent: none were
    std::uint64_t terms_version = 0;  // of what they were made of
    std::string kept;                 // why Slurm did not start it when it was released
    core::Seconds kept_until;
    core::Seconds read_at;
    core::Seconds left_at{-1000};         // its last place,
    std::vector<std::string> left_nodes;  // which were these
    core::UnixMillis terms_until = 0;
    std::string home;  // the partition that it was seen in last, of ours
  };
  // slurm_control.cc
  void AskAgain(Run& run) override { run.asked.reset(); }
  core::Seconds NextLook() const;
  core::Result<void> Look();
  core::Result<void> ReadQueue();
  core::Result<void> LookAtGone();
  core::Result<void> SplitArrays();
  void EmitWaiting();
  void KeepToLargeNodes(const SlurmJob& job, core::Submission& asked) const;
  void KeepAloneWithoutRights(ForeignJob& foreign) const;
  bool PutPrediction(const Known& known, ForeignJob& foreign) const;  // false: not known yet
  void EmitSteps();
  bool Ours(const SlurmJob& job) const;
  void HandleJob(Known& known, SlurmJob job);
  core::Seconds Fail(const std::string& message);
  void Well();

  // slurm_control_claim.cc
  core::Result<void> KeepClaim();
  core::Result<void> WriteClaims(const std::vector<std::pair<std::string, std::string>>& texts);

  // slurm_control_terms.cc
  SlurmIsThere IsThere() const;
  bool WaitsForUs(const SlurmJob& job) const;
  void ReadReservations();
  void ReadShares();
  std::string ReservedBy(const std::string& node) const;
  void EmitReserved(NodeHere& here);
  void EmitWatched(NodeHere& here);
  SlurmFacts Facts() const;
  StartTerms TermsNow(const Known& known, const SlurmFacts& facts) const;
  void EmitTerms(std::int64_t id, Known& known, const SlurmFacts& facts);
  core::Result<bool> IsKept(std::int64_t job, const SlurmQueueLine& line);

  // slurm_control_nodes.cc
  core::Result<void> ReadNodes(bool first);
  void HandleNode(SlurmNode node, bool first);
  void HandleGpus(const SlurmNode& node, NodeHere& here);
  void TakePlain(const SlurmJob& job, const NodeHere& here,
                 std::map<std::string, std::string>& taken) const;
  void Remark(const std::string& words);
  void RemarkOnAgents();
  core::Bytes GpuMemoryOf(const RunRequest& request) const;
  std::map<std::string, int> FreeShards() const;
  bool HasRuns(const std::string& node) const;
  std::map<std::string, std::string> Taken() const;
  void EmitHostTaken();
  void AskForWholeNodes(const SlurmJob& job, core::Submission& asked) const;

  // slurm_control_place.cc
  core::Result<void> Place();
  core::Result<void> PlaceAlone(std::int64_t job);
  core::Result<bool> ReadyToPlace(std::int64_t job, std::map<std::string, int>& free);
  std::string LacksKept(const JobNote::Put& put) const;
  core::Result<void> PlaceSoon();
  core::Result<void> StartMeanwhile();

  // slurm_control_runs.cc
  core::Result<void> AdvanceRuns();
  core::Result<void> AdvanceReleased(std::int64_t job);
  core::Result<void> AdvanceRunning(std::int64_t job);
  core::Result<void> GiveBack(std::int64_t job);
  core::Result<void> SendStops();
  bool TakenOver(std::int64_t job, const SlurmQueueLine& line);
  core::Result<bool> HoldAndClear(std::int64_t job);
  core::Result<void> ShowAll(const std::vector<std::int64_t>& jobs);
  core::Result<std::optional<SlurmJob>> Show(std::int64_t job);
  void EmitStarted(Run& run);
  std::string NameOf(std::int64_t job) const;
  const SlurmQueueLine* LineOf(std::int64_t job) const;

  // slurm_control_ends.cc
  core::Result<void> LookAtEnd(std::int64_t job);
  std::optional<SlurmJob> ByAccounts(std::int64_t job, std::string& unknown);
  void AccountForgotten();
  void Refuse(std::int64_t job, std::string why);
  void End(std::int64_t job, RunEnd end);

  // slurm_control_watch.cc
  core::Result<void> SendLimits();
  core::Result<void> LookAtBegun(const std::vector<std::int64_t>& released);
  bool LostItsPlace(const SlurmJob& job, const JobNote& given) const;
  core::Result<void> TakeBack(std::int64_t job);

  SlurmPlaceOptions place_options() const { return {options_.admin}; }

  SlurmClient& client_;
  const SlurmControlOptions options_;
  std::map<std::int64_t, Known> known_;    // by Slurm's id
  std::vector<RunEvent> found_;            // by Recover: told by the first Cycle
  std::map<RunId, core::Seconds> limits_;  // to be set
  std::map<std::int64_t, int> at_once_;    // of arrays, by their id
  SlurmStrangers strangers_;
  std::map<std::string, StrangersUse> host_taken_;  // as told, by node
  std::map<std::string, SlurmReservation> reservations_;
  std::map<std::string, core::Seconds> partition_limits_;
  std::uint64_t terms_version_ = 1;
  SlurmShares shares_;
  std::optional<core::Seconds> nodes_read_, shares_read_;
  core::Seconds again_at_;
  core::Seconds pause_;
  std::optional<Problem> problem_;
  // By this look, of those that ShowAll was asked for; absent: Slurm does not remember it.
  std::map<std::int64_t, std::optional<SlurmJob>> shown_;
  bool placed_ = false;  // any, by this look
  std::optional<ClaimKeeper> claim_;
  std::string other_server_;                   // places the jobs: why we do not
  std::map<std::string, std::string> claims_;  // as they are written, by node
  core::Seconds claim_again_;                  // Slurm refused it: not before then
};

}  // namespace sharewell::engine
