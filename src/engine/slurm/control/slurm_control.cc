#include "engine/slurm/control/slurm_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_submission.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/told_steps.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

constexpr std::size_t kMostSplitAtOnce = 100;
// More new ones than that are read as JSON, of which 22.05 always prints the whole queue: a second
// for each 4,000 jobs.
constexpr std::size_t kMostNewShown = 500;
constexpr Seconds kFirstPause(1);
constexpr double kPollAwaited = 0.25;
constexpr Seconds kReadKeptAgain(60);
constexpr std::size_t kMostReadAgain = 100;

}  // namespace

SlurmControl::SlurmControl(SlurmClient& client, SlurmControlOptions options)
    : client_(client), options_(std::move(options)) {
  if (options_.claim && !options_.dry_run) claim_.emplace(*options_.claim);
}

void SlurmControl::Expect(std::int64_t job) { known_[job].told = true; }

void SlurmControl::SetTimeLimit(RunId id, Seconds limit) { limits_[id] = limit; }

// Says it once, and tries again ever more seldom.
Seconds SlurmControl::Fail(const std::string& message) {
  pause_ = pause_.value > 0 ? std::min(pause_ * 2, options_.longest_pause) : kFirstPause;
  again_at_ = now_ + pause_;
  const std::string said = other_server_.empty() ? "Slurm does not answer as it should: " + message
                                                 : "nothing is placed any more: " + message;
  if (!problem_) {
    options_.log(said + (other_server_.empty() ? "; it is asked again" : ""));
    Emit(RunnerNote{said});
  }
  problem_ = {said, !other_server_.empty()};
  return again_at_;
}

void SlurmControl::Well() {
  pause_ = Seconds(0);
  if (!problem_) return;
  const std::string said = problem_->other_server
                               ? "the other server is gone: jobs are placed again"
                               : "Slurm answers again";
  problem_.reset();
  options_.log(said);
  Emit(RunnerNote{said});
}

Seconds SlurmControl::Cycle(Seconds now, std::vector<RunEvent>& out) {
  now_ = now;
  out_ = &out;
  for (RunEvent& event : std::exchange(found_, {})) out.push_back(std::move(event));
  if (now < again_at_) return again_at_;
  if (const auto looked = Look(); !looked) return Fail(looked.error().message);
  Well();
  options_.alive();
  return NextLook();
}

Seconds SlurmControl::NextLook() const {
  // What was released or told to end is seen soon.
  const bool awaited = std::any_of(runs_.begin(), runs_.end(), [&](const auto& one) {
    const Run& run = one.second;
    return now_ < run.since + options_.start_within &&
           (run.step == Step::kReleased || run.wanted != Wanted::kNothing);
  });
  const bool places = std::any_of(runs_.begin(), runs_.end(), [](const auto& one) {
    return one.second.step == Step::kPlace && one.second.wanted == Wanted::kNothing;
  });
  if (places && placed_) return now_;  // there were more than are placed at once
  return now_ + (awaited ? options_.poll * kPollAwaited : options_.poll);
}

Result<void> SlurmControl::Look() {
  shown_.clear();
  if (!nodes_read_ || now_ >= *nodes_read_ + options_.nodes_every) {
    RETURN_IF_ERROR(ReadNodes(false));
    RETURN_IF_ERROR(KeepClaim());
    RETURN_IF_ERROR(StartMeanwhile());
  }
  if (!other_server_.empty()) return core::FailedError("{}", other_server_);
  RETURN_IF_ERROR(ReadQueue());
  RETURN_IF_ERROR(LookAtGone());
  RETURN_IF_ERROR(SplitArrays());
  EmitWaiting();
  RETURN_IF_ERROR(AdvanceRuns());
  EmitSteps();
  EmitChanged(Taken());
  EmitHostTaken();
  AnswerList();
  return {};
}

bool SlurmControl::Ours(const SlurmJob& job) const {
  return NoteIn(job, options_.admin).has_value() && (options_.admin || job.uid == options_.uid);
}

void SlurmControl::HandleJob(Known& known, SlurmJob job) {
  known.note = Ours(job) ? NoteIn(job, options_.admin) : std::nullopt;
  // Where nothing holds jobs yet, a dry run decides on those that Slurm starts by itself.
  if (!known.note && options_.dry_run) known.note = NoteOfRequest(job);
  // From then on these are where we put it.
  if (known.note && !known.note->put) known.note->ask.nodes = job.required_nodes;
  known.job = std::move(job);
  known.terms_version = 0;
}

// What is known to wait, and what we carry out ourselves, is not read again while it is as it was.
Result<void> SlurmControl::ReadQueue() {
  auto lines = client_.Queue();
  RETURN_IF_ERROR(lines);
  // Those that are gone keep no line, and are looked at one by one.
  for (auto& [id, known] : known_) known.line.reset();
  std::vector<std::int64_t> read;
  for (SlurmQueueLine& line : *lines) {
    Known& known = known_[line.id];
    const bool held = line.phase == SlurmPhase::kPending && line.priority == 0;
    const bool settled = known.job && ((known.told && held) || runs_.contains(line.id));
    const bool same = known.job && known.read == line;
    // Somebody may have changed what it waits for.
    const bool kept = known.terms && !known.terms->waits_for.empty() &&
                      now_ >= known.read_at + kReadKeptAgain && read.size() < kMostReadAgain;
    if ((!settled && !same) || (kept && held)) read.push_back(line.id);
    known.home = line.partition;
    known.line = std::move(line);
  }
  RETURN_IF_ERROR(StartMeanwhile());
  if (read.empty()) return {};
  std::vector<std::string> names;
  for (const std::int64_t id : read) names.push_back(fmt::format("{}", id));
  auto jobs = read.size() > kMostNewShown ? client_.Jobs(read) : client_.Check(read, names);
  RETURN_IF_ERROR(jobs);
  for (SlurmJob& job : *jobs) {
    const auto found = known_.find(job.id);
    if (found == known_.end()) continue;
    found->second.read = found->second.line;
    found->second.read_at = now_;
    HandleJob(found->second, std::move(job));
  }
  return {};
}

// A job that we were told to wait with is not in the queue: what became of it?
Result<void> SlurmControl::LookAtGone() {
  std::vector<std::int64_t> gone;
  for (const auto& [id, known] : known_) {
    if (!known.line && !runs_.contains(id)) gone.push_back(id);
  }
  std::vector<std::int64_t> told = gone;
  std::erase_if(told, [&](std::int64_t id) { return !known_.at(id).told; });
  RETURN_IF_ERROR(ShowAll(told));
  AccountForgotten();
  for (const std::int64_t id : gone) {
    if (known_.at(id).told) {
      const auto shown = Show(id);
      RETURN_IF_ERROR(shown);
      std::string how = "Slurm does not have it any more";
      if (!*shown) {
        const auto accounted = client_.Accounted(id);
        if (accounted && *accounted && IsOver((*accounted)->phase)) {
          how = fmt::format("Slurm's accounting says of it: {}, exit code {}",
                            (*accounted)->phase_word, EndOf(**accounted).exit_code);
        }
      }
      if (*shown && (*shown)->phase == SlurmPhase::kCancelled)
        how = "it was cancelled in Slurm";
      else if (*shown && IsOver((*shown)->phase))
        how = "it ran in Slurm without Sharewell";
      else if (*shown)
        how = "it was taken to partition " + core::Quoted((*shown)->partition);
      Emit(JobWithdrawn{id, std::move(how)});
    }
    known_.erase(id);
    cancel_waiting_.erase(id);
  }
  return {};
}

// An update of one task of a pending array gives it an id of its own.
Result<void> SlurmControl::SplitArrays() {
  if (options_.dry_run) return {};
  std::vector<std::string> lines;
  for (auto& [id, known] : known_) {
    if (!known.line || !known.job || !known.note || known.job->array_tasks.empty()) continue;
    const SlurmJob& job = *known.job;
    if (job.array_task || !WaitsForUs(job)) continue;
    const std::int64_t array = job.array.value_or(id);
    const auto tasks = ExpandTasks(job.array_tasks);
    RETURN_IF_ERROR(tasks);
    const ForeignJob whole = SubmissionOf(job, *known.note, options_.model);
    const auto percent = job.array_tasks.rfind('%');
    if (percent != std::string::npos) {
      at_once_[array] = std::max(1, std::atoi(job.array_tasks.c_str() + percent + 1));
    }
    const auto note = ScontrolValue(options_.admin ? job.admin_comment : job.comment);
    RETURN_IF_ERROR(note);
    for (const std::int64_t task : *tasks) {
      if (lines.size() >= kMostSplitAtOnce) break;
      lines.push_back(fmt::format("update JobId={}_{} {}={}", array, task,
                                  options_.admin ? "AdminComment" : "Comment", *note));
    }
    known.job.reset();  // it is read again: which tasks are left
  }
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  return {};
}

bool SlurmControl::PutPrediction(const Known& known, ForeignJob& foreign) const {
  const SlurmJob& job = *known.job;
  const auto words = WordsOf(job, *known.note);
  if (!words || words->model.empty() || !options_.predict || foreign.asked.gpus == 0) return true;
  return PutNeeds(options_.predict(*words, job, foreign.asked), foreign);
}

// A job that asks for one node runs on GPU models of which one node has enough.
void SlurmControl::KeepToLargeNodes(const SlurmJob& job, core::Submission& asked) const {
  if (job.nodes_wanted > 1 || asked.gpus <= 1) return;
  std::set<std::string> enough, all;
  for (const auto& [name, here] : nodes_) {
    for (const core::GivenGpu& gpu : here.node.gpus) {
      all.insert(gpu.model);
      if (here.node.gpus.size() >= static_cast<std::size_t>(asked.gpus)) enough.insert(gpu.model);
    }
  }
  if (enough.empty() || enough == all) return;
  if (asked.gpu_models.empty()) {
    asked.gpu_models.assign(enough.begin(), enough.end());
    return;
  }
  const std::vector<std::string> before = asked.gpu_models;
  std::erase_if(asked.gpu_models, [&](const std::string& one) { return !enough.contains(one); });
  if (asked.gpu_models.empty()) asked.gpu_models = before;  // it waits, and says for what
}

// What sharing costs is added to a job's time limit, which an admin alone may extend.
void SlurmControl::KeepAloneWithoutRights(ForeignJob& foreign) const {
  core::Submission& asked = foreign.asked;
  if (options_.admin || !asked.time_limit || asked.exclusive || asked.gpus == 0) return;
  asked.exclusive = true;
  if (!foreign.remark.empty()) return;
  foreign.remark =
      "it has its GPU for itself, as it has a time limit, which nobody but an admin of Slurm could "
      "extend by what sharing costs; submit it with --time=UNLIMITED to let it share";
}

void SlurmControl::EmitWaiting() {
  const SlurmFacts facts = Facts();
  for (auto& [id, known] : known_) {
    if (!known.line || !known.job || runs_.contains(id)) continue;
    const SlurmJob& job = *known.job;
    const bool held = known.line->phase == SlurmPhase::kPending && known.line->priority == 0;
    const bool seen = options_.dry_run || held;
    if (known.told && !held && !options_.dry_run) {
      known.told = false;
      Emit(JobWithdrawn{id, job.phase == SlurmPhase::kCancelled
                                ? "it was cancelled in Slurm"
                                : "somebody else released it in Slurm: it runs without Sharewell"});
      continue;
    }
    if (known.told && held && !options_.dry_run) EmitTerms(id, known, facts);
    if (known.told || !known.note || !seen) continue;
    if (!options_.dry_run && !job.array_task && !job.array_tasks.empty()) continue;  // to be split
    ForeignJob foreign = SubmissionOf(job, *known.note, options_.model);
    KeepToLargeNodes(job, foreign.asked);
    AskForWholeNodes(job, foreign.asked);
    if (!PutPrediction(known, foreign)) continue;  // it stays held in Slurm until the next look
    known.told = true;
    if (!options_.dry_run) {
      known.terms = foreign.terms = TermsNow(known, facts);
      known.terms_version = terms_version_;
    }
    KeepAloneWithoutRights(foreign);
    if (job.array && at_once_.contains(*job.array)) {
      foreign.asked.array_at_once = at_once_.at(*job.array);
    }
    Emit(JobSubmitted{id, std::move(foreign)});
  }
}

void SlurmControl::EmitSteps() {
  if (!options_.steps) return;
  std::map<std::int64_t, WatchedRun> running;
  for (auto& [job, run] : runs_) {
    if (run.step != Step::kRunning || !run.told_started) continue;
    running.emplace(job, WatchedRun{run.began, run.request.nodes});
  }
  EmitNewSteps(options_.steps(running), runs_, *out_);
}

}  // namespace sharewell::engine
