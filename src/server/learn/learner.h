// Learner: closes the loop between what was predicted and what was seen. Keeps the graphs and runs
// of jobs, trains the predictor on them when enough is new, takes what the judge finds better
// (predict/retrain.h), and says what it did.
//
// It has a thread of its own, at the lowest priority, with a store connection of its own: a
// decision never waits for it. Its public functions may be called from any thread and do not wait
// either.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "platform/mutex.h"
#include "predict/retrain.h"
#include "predict/trained.h"
#include "server/learn/learning_rows.h"
#include "store/learning_store.h"

namespace sharewell::server {

struct LearnerOptions {
  std::function<core::Result<std::unique_ptr<store::LearningStore>>()> open;
  const catalogue::GpuCatalogue* catalogue = nullptr;  // outlives it
  predict::Trained given;  // what is in use until something better was trained
  std::string given_name = "shipped";
  std::function<core::UnixMillis()> wall;
  std::function<void(const std::string& line)> log = {};  // what could not be stored or read
  // An event: its kind ("predictor.taken") and a sentence.
  std::function<void(const char* kind, const std::string& text)> tell = {};
  std::size_t new_runs = 40;             // since the last training: then it trains again
  std::size_t most_runs = 1500;          // the newest, that a training reads
  core::Seconds longest{60};             // a training that takes longer is given up
  core::Seconds gather{2};               // what comes together is stored together
  predict::RetrainOptions retrain = {};  // its go_on is ours
};

// One training, or a choice that somebody made.
struct TrainingReport {
  std::int64_t id = 0;  // in the store
  core::UnixMillis time = 0;
  std::string outcome;  // "taken", "refused", "failed", "chosen", "forgotten"
  std::string why;      // in words
  std::size_t runs = 0, workloads = 0, held_out = 0;
  std::array<predict::FigureJudgement, predict::kFigures> figures;
  std::vector<std::string> users;  // whose runs it learnt from
  std::string chosen;              // of a choice: what is used since
  std::string given = "shipped";   // what it was learnt onto
};

struct LearnerState {
  std::string in_use;                     // "shipped", the given file, or "retrained"
  std::string given;                      // what it falls back to
  std::optional<TrainingReport> trained;  // the training that made what is in use
  bool pinned = false;                    // somebody chose the given one: nothing is trained
  std::size_t runs = 0, graphs = 0;       // that are kept
  std::map<std::string, std::int64_t> runs_by_user;
  // Since the last training; it trains at that many, never at 0: the given one has corrections of
  // its own and is used as it is.
  std::size_t new_runs = 0, next_after = 0;
  std::vector<TrainingReport> history;             // the newest first
  std::string drift;                               // a warning; empty: none
  std::size_t taken = 0, refused = 0, failed = 0;  // trainings since the server started
};

// A graph's digest and text. Absent: it is too large, or could not be read again later. Pure.
std::optional<store::KeptGraph> GraphToKeep(const graph::Graph& graph);

class Learner {
 public:
  explicit Learner(LearnerOptions options);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // What is in use now. Never null.
  std::shared_ptr<const predict::Trained> InUse() const;
  bool IsRetrained() const;
  LearnerState State() const;

  // A graph that was predicted from, as GraphToKeep has made it; its digest. Where too many wait it
  // is not kept.
  std::string KeepGraph(store::KeptGraph kept);
  // A run that ended well; likewise.
  void KeepRun(store::KeptRun run);
  // "shipped" (or the given file's name, or "given") or "retrained"; a usage error says what there
  // is. It happens soon, and an event says so.
  core::Result<void> Use(const std::string& what);
  // What that user's runs taught: the runs go, and what was trained on them is not used any more.
  void Forget(const std::string& user);

 private:
  static constexpr std::size_t kHistoryShown = 20;
  struct Waiting {
    std::vector<store::KeptGraph> graphs;
    std::vector<store::KeptRun> runs;
    std::size_t bytes = 0;
    std::optional<bool> pin;
    std::vector<std::string> forget;  // users
  };

  void Work();
  core::Result<void> Open();
  core::Result<void> Store(Waiting& waiting);
  core::Result<void> Choose(bool pin);
  core::Result<void> ForgetNow(const std::string& user);
  core::Result<void> CountRuns();
  // The newest model that was trained here onto what is given, if there is one that counts.
  core::Result<bool> TakeNewest();
  core::Result<void> TrainIfDue();
  core::Result<void> LookForDrift(const LearningRows& rows);
  void Take(std::shared_ptr<const predict::Trained> model, std::optional<TrainingReport> by);
  void Record(TrainingReport report);
  bool Stopping() const;
  void Log(const std::string& line) const;
  void Emit(const char* kind, const std::string& text) const;

  const LearnerOptions options_;
  const std::shared_ptr<const predict::Trained> given_;
  // Of the thread alone.
  std::unique_ptr<store::LearningStore> store_;
  GraphCache graphs_;
  std::int64_t looked_to_ = 0;  // likewise, for drift
  std::size_t tried_at_ = 0;    // so many new runs, and too few of them may teach; 0: enough did
  bool restored_ = false;
  std::string told_;  // the last problem, so that it is said once

  mutable platform::Mutex mutex_;
  std::condition_variable_any wake_;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  Waiting waiting_ SHAREWELL_GUARDED_BY(mutex_);
  // Shared: whoever predicts keeps the model it began with while another takes its place.
  std::shared_ptr<const predict::Trained> in_use_ SHAREWELL_GUARDED_BY(mutex_);
  LearnerState state_ SHAREWELL_GUARDED_BY(mutex_);
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
