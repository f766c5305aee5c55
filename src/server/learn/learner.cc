#include "server/learn/learner.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "graph/graph_file.h"
#include "server/learn/learner_json.h"

namespace sharewell::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostWaitingBytes = std::size_t{32} << 20;
constexpr std::size_t kMostWaitingRuns = 10'000;
constexpr std::size_t kLargestGraph = std::size_t{4} << 20;
constexpr std::size_t kGraphsCached = 500;
constexpr std::int64_t kMostRunsKept = store::LearningBounds{}.runs;
// For drift: so many of the newest runs, and looked again after so many new ones.
constexpr std::size_t kDriftRuns = 40, kDriftEvery = 10;
constexpr std::chrono::seconds kTryAgain{5};

// The error of each figure as it was when the model that is used was judged.
std::array<std::optional<double>, predict::kFigures> JudgedErrors(const TrainingReport& report) {
  std::array<std::optional<double>, predict::kFigures> out;
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    const predict::FigureJudgement& figure = report.figures[f];
    switch (figure.verdict) {
      case predict::FigureJudgement::Verdict::kTaken:
        out[f] = figure.retrained;
        break;
      case predict::FigureJudgement::Verdict::kReverted:
        out[f] = figure.shipped;
        break;
      case predict::FigureJudgement::Verdict::kKept:
        out[f] = figure.in_use;
        break;
    }
  }
  return out;
}

std::string FiguresOf(const predict::Retrained& result, predict::FigureJudgement::Verdict verdict) {
  std::vector<std::string_view> names;
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    if (result.figures[f].verdict == verdict) names.push_back(predict::kFigureNames[f]);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// What came of it, in a sentence.
std::string WordsOf(const predict::Retrained& result) {
  using Verdict = predict::FigureJudgement::Verdict;
  const std::string taken = FiguresOf(result, Verdict::kTaken);
  const std::string reverted = FiguresOf(result, Verdict::kReverted);
  if (taken.empty() && reverted.empty()) {
    return fmt::format("nothing that was learnt from {} is better on the {} after them",
                       core::Count(result.runs, "run"), result.held_out);
  }
  std::string words;
  if (!taken.empty()) {
    words = fmt::format("learnt from {}, better on the {} after them: {}",
                        core::Count(result.runs, "run"), result.held_out, taken);
  }
  if (!reverted.empty()) {
    words += fmt::format("{}back to what was given: {}", words.empty() ? "" : "; ", reverted);
  }
  return words;
}

}  // namespace

Learner::Learner(LearnerOptions options)
    : options_(std::move(options)),
      given_(std::make_shared<const predict::Trained>(options_.given)) {
  {
    const platform::MutexLock lock(mutex_);
    in_use_ = given_;
    state_.in_use = state_.given = options_.given_name;
    state_.next_after =
        given_->predictor.AnyLocal() ? 0 : std::max(options_.new_runs, options_.retrain.least_runs);
  }
  thread_ = std::thread([this] { Work(); });
}

Learner::~Learner() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<const predict::Trained> Learner::InUse() const {
  const platform::MutexLock lock(mutex_);
  return in_use_;
}

bool Learner::IsRetrained() const {
  const platform::MutexLock lock(mutex_);
  return in_use_ != given_;
}

LearnerState Learner::State() const {
  const platform::MutexLock lock(mutex_);
  return state_;
}

bool Learner::Stopping() const {
  const platform::MutexLock lock(mutex_);
  return stop_;
}

void Learner::Log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void Learner::Emit(const char* kind, const std::string& text) const {
  if (options_.tell) options_.tell(kind, text);
}

std::optional<store::KeptGraph> GraphToKeep(const graph::Graph& graph) {
  store::KeptGraph kept;
  kept.text = graph::WriteGraph(graph);
  kept.digest = graph::DigestOfGraph(kept.text);
  if (kept.text.size() > kLargestGraph) return std::nullopt;
  if (!graph::ReadGraphFile(kept.text, "graph", {graph.batch, {}})) return std::nullopt;
  return kept;
}

std::string Learner::KeepGraph(store::KeptGraph kept) {
  kept.met = options_.wall();
  const platform::MutexLock lock(mutex_);
  if (waiting_.bytes + kept.text.size() > kMostWaitingBytes) return {};
  waiting_.bytes += kept.text.size();
  waiting_.graphs.push_back(std::move(kept));
  wake_.notify_all();
  return waiting_.graphs.back().digest;
}

void Learner::KeepRun(store::KeptRun run) {
  const platform::MutexLock lock(mutex_);
  if (waiting_.runs.size() >= kMostWaitingRuns) return;
  waiting_.runs.push_back(std::move(run));
  wake_.notify_all();
}

core::Result<void> Learner::Use(const std::string& what) {
  const bool given = what == "given" || what == "shipped" || what == options_.given_name;
  if (!given && what != "retrained") {
    return core::UsageError("there is no predictor {}; use \"shipped\" or \"retrained\"",
                            core::Quoted(what));
  }
  const platform::MutexLock lock(mutex_);
  waiting_.pin = given;
  wake_.notify_all();
  return {};
}

void Learner::Forget(const std::string& user) {
  const platform::MutexLock lock(mutex_);
  waiting_.forget.push_back(user);
  wake_.notify_all();
}

void Learner::Work() {
  // Of this thread alone: training takes the time that nobody else wants.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
  Waiting taken;
  for (;;) {
    auto done = Open();
    if (done) done = Store(taken);
    if (done) done = TrainIfDue();
    if (!done) {
      store_.reset();  // opened anew
      if (done.error().message != told_) {
        told_ = done.error().message;
        Log("the predictor's runs: " + told_);
      }
    } else {
      told_.clear();
    }
    platform::MutexLock lock(mutex_);
    const auto wanted = [this]() SHAREWELL_REQUIRES(mutex_) {
      return stop_ || !waiting_.runs.empty() || !waiting_.graphs.empty() || waiting_.pin ||
             !waiting_.forget.empty();
    };
    if (!done) {
      wake_.wait_for(lock, kTryAgain, [this]() SHAREWELL_REQUIRES(mutex_) { return stop_; });
    } else {
      wake_.wait(lock, wanted);
      // What ends together is stored together; a choice does not wait.
      wake_.wait_for(lock, std::chrono::duration<double>(options_.gather.value),
                     [this]() SHAREWELL_REQUIRES(mutex_) {
                       return stop_ || waiting_.pin || !waiting_.forget.empty();
                     });
    }
    if (done) taken = {};
    const auto append = [](auto& to, auto& from) {
      std::move(from.begin(), from.end(), std::back_inserter(to));
    };
    append(taken.graphs, waiting_.graphs);
    append(taken.runs, waiting_.runs);
    append(taken.forget, waiting_.forget);
    if (waiting_.pin) taken.pin = waiting_.pin;
    waiting_ = {};
    if (!stop_) continue;
    lock.unlock();
    if (store_ != nullptr) (void)Store(taken);  // what is not stored now is lost
    return;
  }
}

// Opens the store and takes up what an earlier server left there.
core::Result<void> Learner::Open() {
  if (store_ != nullptr) return {};
  auto opened = options_.open();
  RETURN_IF_ERROR(opened);
  store_ = std::move(*opened);
  if (restored_) return {};
  const auto models = store_->Models();
  RETURN_IF_ERROR(models);
  bool decided = false, pinned = false;
  std::vector<TrainingReport> history;
  for (const store::KeptModel& model : *models) {
    auto report = ReportFromJson(model.report);
    if (!report) continue;
    report->id = model.id;
    report->time = model.time;
    if (history.size() < kHistoryShown) history.push_back(*report);
    if (decided || report->chosen.empty()) continue;
    decided = true;  // the newest choice counts
    pinned = report->chosen != "retrained";
  }
  if (!pinned) RETURN_IF_ERROR(TakeNewest());
  const auto runs = store_->Runs(kMostRunsKept);
  RETURN_IF_ERROR(runs);
  const auto graphs = store_->CountGraphs();
  RETURN_IF_ERROR(graphs);
  std::size_t learnt = 0;
  for (const TrainingReport& report : history) {
    if (report.outcome != "chosen" && report.outcome != "forgotten") {
      learnt = static_cast<std::size_t>(std::count_if(
          runs->begin(), runs->end(),
          [&](const store::KeptRun& run) { return run.record.created <= report.time; }));
      break;
    }
  }
  RETURN_IF_ERROR(CountRuns());
  if (learnt > 0) looked_to_ = (*runs)[learnt - 1].id;
  restored_ = true;
  const platform::MutexLock lock(mutex_);
  state_.history = std::move(history);
  state_.pinned = pinned;
  state_.graphs = static_cast<std::size_t>(*graphs);
  state_.new_runs = runs->size() - learnt;
  return {};
}

core::Result<void> Learner::Store(Waiting& waiting) {
  if (!waiting.graphs.empty() || !waiting.runs.empty()) {
    RETURN_IF_ERROR(store_->Keep(waiting.graphs, waiting.runs));
    const std::size_t stored = waiting.runs.size();
    waiting.graphs.clear();
    waiting.runs.clear();
    const auto graphs = store_->CountGraphs();
    RETURN_IF_ERROR(graphs);
    RETURN_IF_ERROR(CountRuns());
    const platform::MutexLock lock(mutex_);
    state_.graphs = static_cast<std::size_t>(*graphs);
    state_.new_runs += stored;
  }
  while (!waiting.forget.empty()) {
    RETURN_IF_ERROR(ForgetNow(waiting.forget.back()));
    waiting.forget.pop_back();
  }
  if (waiting.pin) {
    RETURN_IF_ERROR(Choose(*waiting.pin));
    waiting.pin.reset();
  }
  return {};
}

core::Result<void> Learner::TrainIfDue() {
  std::size_t fresh = 0;
  {
    const platform::MutexLock lock(mutex_);
    fresh = state_.new_runs;
    if (state_.pinned || state_.next_after == 0) return {};
    if (state_.runs < options_.retrain.least_runs) return {};
  }
  const bool due = fresh >= options_.new_runs;
  if (!due && fresh < kDriftEvery) return {};
  if (tried_at_ > 0 && fresh >= tried_at_ && fresh < tried_at_ + kDriftEvery) return {};
  const auto all = store_->Runs(kMostRunsKept);
  RETURN_IF_ERROR(all);
  const Teachers teachers = ChooseTeachers(*all, options_.retrain.least_runs, options_.most_runs);
  const bool enough = teachers.runs.size() >= options_.retrain.least_runs;
  tried_at_ = enough ? 0 : fresh;
  if (!enough) return {};
  const std::vector<store::KeptRun>* runs = &teachers.runs;
  graphs_.Trim(kGraphsCached);
  const LearningRows rows = RowsOf(*runs, graphs_, *store_, *options_.catalogue);
  if (runs->back().id >= looked_to_ + static_cast<std::int64_t>(kDriftEvery)) {
    looked_to_ = runs->back().id;
    RETURN_IF_ERROR(LookForDrift(rows));
  }
  if (!due) return {};
  TrainingReport report;
  predict::RetrainOptions how = options_.retrain;
  const auto until =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                               std::chrono::duration<double>(options_.longest.value));
  if (teachers.several) how.leave.push_back(predict::Figure::kMemory);
  how.go_on = [&] { return !Stopping() && SteadyClock::now() < until; };
  auto in_use = InUse();
  auto result = predict::Retrain(given_->predictor, in_use->predictor, rows.rows, how);
  if (Stopping()) return {};  // the next server tries again
  report.time = options_.wall();
  report.given = options_.given_name;
  report.users = teachers.users;
  std::string text;
  if (!result) {
    report.outcome = "failed";
    report.why = result.error().message;
  } else {
    report.outcome = result->predictor ? "taken" : "refused";
    report.why = WordsOf(*result);
    report.runs = result->runs;
    report.workloads = result->workloads;
    report.held_out = result->held_out;
    report.figures = result->figures;
    if (result->predictor) {
      text = predict::Write({*std::move(result->predictor), given_->together});
    }
  }
  const auto id = store_->KeepModel({0, report.time, ReportToJson(report), text});
  RETURN_IF_ERROR(id);
  report.id = *id;
  if (!text.empty()) {
    // What is used is what was stored: a restart changes nothing.
    auto trained = predict::ReadTrained(text);
    RETURN_IF_ERROR(trained);
    Take(std::make_shared<const predict::Trained>(std::move(*trained)), report);
  }
  {
    const platform::MutexLock lock(mutex_);
    state_.new_runs = 0;
  }
  const std::string kind = "predictor." + report.outcome;
  Emit(kind.c_str(), "predictor: " + report.why);
  Record(std::move(report));
  return {};
}

core::Result<void> Learner::LookForDrift(const LearningRows& rows) {
  std::optional<TrainingReport> trained;
  std::shared_ptr<const predict::Trained> in_use;
  std::string before;
  {
    const platform::MutexLock lock(mutex_);
    trained = state_.trained;
    in_use = in_use_;
    before = state_.drift;
    // Of what was never judged here the last refused training tells the errors.
    for (const TrainingReport& report : state_.history) {
      if (!trained && report.held_out > 0) trained = report;
    }
  }
  if (!trained) return {};
  const std::size_t newest = std::min(kDriftRuns, rows.rows.size());
  const predict::Drift drift = predict::FindDrift(in_use->predictor, JudgedErrors(*trained),
                                                  std::span(rows.rows).last(newest));
  {
    const platform::MutexLock lock(mutex_);
    state_.drift = drift.words;
  }
  if (!drift.words.empty() && before.empty()) {
    Log(drift.words);
    Emit("predictor.drifts", drift.words);
  }
  return {};
}

}  // namespace sharewell::server
