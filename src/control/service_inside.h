// What the service is made of. Everything here belongs to the loop's thread, except where it says
// otherwise.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/estimator.h"
#include "control/loop.h"
#include "control/recorder.h"
#include "control/service.h"
#include "core/snapshot.h"
#include "engine/local/local_engine.h"

namespace sharewell::control {

constexpr int kPartedAlone = 2;  // parted so often, a job is not put beside others again

struct Service::Impl final : Estimator, Recorder, engine::JobDirectory {
  // A job that is not over.
  struct Live {
    core::JobRecord record;
    core::JobId id;          // in the snapshot; not valid: held
    bool alone = true;       // nobody shared with it in this attempt
    bool adopted = false;    // it ran before this server did: what went before was not seen
    bool elsewhere = false;  // on GPUs that are not here any more
  };
  // What was asked and waits for the loop's thread.
  struct Asked {
    std::vector<core::Submission> jobs;  // a submission; empty: `act`
    core::Account who;
    Answer<std::vector<JobPtr>> submitted;
    std::function<void()> act;
  };
  struct Owed {  // an answer that waits for the first decision
    std::vector<std::int64_t> numbers;
    Answer<std::vector<JobPtr>> answer;
  };

  Impl(const core::Cluster& all, std::vector<GpuView> views, engine::Runner& run, Advisor& advice,
       store::JobStore& store, const ServiceOptions& chosen, Sight* watch);

  // The loop's side.
  core::Estimate Believe(const core::Job& job) const override;
  core::Estimate Measured(const core::Job& job) const override;
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override;
  void OnDecision(core::Seconds took) override;
  // The engine's side.
  engine::RunRequest RequestOf(core::JobId job) const override;
  std::optional<double> StepsAlone(core::JobId job) const override;
  core::Ratio RateAlone(core::JobId job) const override;
  static std::optional<double> StepsByProfile(const Live& job);

  void Work();                   // the thread
  core::Result<void> Restore();  // service_restore.cc
  void RestoreOne(const core::JobRecord& record, std::map<engine::RunId, engine::RunRequest>& runs);

  // Asked from outside: service_asked.cc.
  void Post(Asked asked);  // any thread
  void TakeAsked();
  void TakeSubmissions(std::span<Asked> asked);
  void AnswerSubmitted();
  core::Result<std::vector<core::JobRecord>> Admit(const Asked& asked, std::int64_t first);
  core::Result<void> DoAct(Action action, std::int64_t number, const core::Account& who);
  core::Result<void> DoCancel(Live& job, const core::Account& who);
  core::Result<void> DoHold(Live& job);
  core::Result<void> DoRelease(Live& job);
  core::Result<void> DoDrain(const std::string& gpu, bool drained, const core::Account& who);

  // What happened: service_happened.cc.
  void AfterTurn();
  void TakeEnd(const engine::Ended& ended);
  void TakeNote(const engine::RunEvent& note);
  void LookAtPaces();
  void Part(core::JobId id);
  void Learn(const Live& job);
  void ReleaseDependents(std::int64_t number, core::Phase how);
  void SeatReservations();
  std::string Unusable() const;  // GPUs that take no jobs, as the end of a sentence

  // Queueing and records: service_record.cc.
  core::Job JobOf(const core::JobRecord& record, core::JobId id);
  // Into the loop's queue, with the next turn. Ids are given then: a reservation may come before.
  void Enqueue(std::int64_t number);
  void EnqueueIfItFits(Live& job);  // admitted earlier, perhaps by another machine; else held
  void SubmitEnqueued();
  void ComeAfter(const core::JobRecord& record);  // a held one: looked at when those are over
  std::string Waits(const core::JobRecord& record) const;  // why it is held; empty: it is not
  // One of those it comes after that is over and did not finish well; absent: none.
  std::optional<std::int64_t> FailedBefore(const core::JobRecord& record) const;
  Live* Find(std::int64_t number);
  Live* Find(core::JobId id);
  const Live* Find(core::JobId id) const;
  std::string NameOf(core::JobId id) const;
  std::vector<std::int64_t> Beside(const std::vector<core::GpuId>& gpus, core::JobId but) const;
  // Changed, to be stored with the next Commit and shown at once.
  void Touch(Live& job);
  void Say(const char* kind, std::int64_t job, std::string text);
  // Writes what is owed and `extra`. On failure nothing is written, what was owed stays owed, and
  // the users are told by View().
  core::Result<void> Commit(store::JobChanges extra = {});
  void CommitAll();
  void ForgetEnded();                                  // REQUIRES: their ends are stored
  void Count(const core::JobRecord& record, bool in);  // among its user's live ones
  void Over(std::int64_t number);  // out of the live ones; its folder goes once that is stored
  core::UnixMillis Wall() const;
  void Publish();  // the view

  const core::Cluster& cluster;
  engine::Runner& runner;
  Advisor& advisor;
  store::JobStore& jobs;
  const ServiceOptions options;
  Sight* const sight;  // may be null

  core::Snapshot snapshot;
  engine::LocalEngine engine;
  std::optional<Loop> loop;
  Guard guard;
  JobBoard board;
  EventHub hub;
  std::map<std::int64_t, Live> live;
  std::vector<std::int64_t> number_of;  // by JobId; 0: keeps a GPU from being used
  std::map<std::string, core::UserId> users;
  struct Share {
    std::size_t jobs = 0, bytes = 0;
  };
  std::map<std::string, Share> live_of;                  // by user
  std::multimap<std::int64_t, std::int64_t> dependents;  // held jobs by a live one they come after
  std::vector<std::int64_t> enqueued;
  std::vector<GpuView> gpus;             // by GpuId; jobs are filled in by Publish
  std::vector<core::JobId> reservation;  // by GpuId; not valid: it may be used
  std::int64_t next_number = 1, next_event = 1;
  store::JobChanges owed;            // happened, not stored yet
  std::set<std::int64_t> dirty;      // records likewise
  std::vector<engine::RunId> ended;  // their folders go with the next Commit
  std::vector<Owed> answers;
  core::UnixMillis wall_at_zero = 0;  // of the runner's clock
  core::Seconds looked;               // at paces
  core::Seconds tidy_at;              // old jobs and events are dropped next
  core::Seconds heard;                // when the turn under way had heard what happened
  std::deque<double> turns;           // the last ones' seconds
  std::int64_t decided = 0;
  std::string store_problem, policy_name;

  std::mutex mutex;  // guards what follows
  std::vector<Asked> asked;
  bool stop = false;
  ServiceView view;
  std::thread thread;
};

}  // namespace sharewell::control
