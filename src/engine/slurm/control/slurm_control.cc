#include "engine/slurm/control/slurm_control.h"

#include <algorithm>
#include <utility>

#include "engine/slurm/control/slurm_submission.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

constexpr Seconds kFirstPause(1);
constexpr double kPollAwaited = 0.25;
constexpr Seconds kWave(3);
constexpr std::size_t kLongQueue = 2000;

// What an earlier server has asked for, as its note has it.
RunRequest RequestOfNote(const SlurmJob& job, const JobNote& note, const SlurmBook& book) {
  const JobNote::Put& put = *note.put;
  const ForeignJob foreign = SubmissionOf(job, note, book.options().model);
  RunRequest request;
  request.id = {job.id, put.attempt};
  request.user = foreign.user;
  request.asked = foreign.asked;
  for (const JobNote::OnNode& on : put.nodes) {
    request.nodes.push_back(on.node);
    for (const std::string& slot : on.slots) {
      request.gpus.push_back(book.GpuNamed(SlurmGpuUuid(on.node, slot)));
    }
  }
  request.cores = job.phase == SlurmPhase::kRunning && job.cpus > 0 ? job.cpus : put.cores;
  request.shares = !request.gpus.empty() && put.shards < kShardsOfGpu;
  if (put.sm_percent < 100) request.thread_share = put.sm_percent / 100.0;
  if (put.gpu_memory_mib) {
    request.gpu_memory = core::Bytes(static_cast<double>(*put.gpu_memory_mib) * (1 << 20));
    if (put.guest) request.guest_memory = request.gpu_memory;
  }
  return request;
}

}  // namespace

SlurmControl::SlurmControl(SlurmClient& client, SlurmControlOptions options)
    : book_(client, std::move(options)),
      jobs_(book_),
      nodes_(book_),
      claimant_(book_, nodes_),
      arrays_(book_, jobs_),
      waiting_(book_, jobs_, nodes_, arrays_),
      taken_(book_, nodes_),
      ends_(book_, jobs_),
      placer_(book_, jobs_, nodes_, ends_),
      steps_(book_, jobs_, ends_),
      reasons_(book_) {}

Result<void> SlurmControl::Open() {
  RETURN_IF_ERROR(nodes_.Open());
  return claimant_.Keep();
}

void SlurmControl::Leave() {
  if (!problem_) claimant_.Leave();
}

Result<std::vector<RunRequest>> SlurmControl::Recover() {
  if (book_.options().dry_run) return std::vector<RunRequest>();
  auto jobs = book_.client().Jobs({});
  RETURN_IF_ERROR(jobs);
  std::vector<RunRequest> requests;
  for (SlurmJob& job : *jobs) {
    const auto note =
        jobs_.IsOurs(job) ? NoteIn(job, book_.options().admin) : std::optional<JobNote>();
    if (!note || !note->put || IsHeldJob(job)) continue;  // those that are held wait
    requests.push_back(RequestOfNote(job, *note, book_));
    nodes_.PutRank(job, requests.back().terms);
    TakeOn(std::move(job), *note, requests.back());
  }
  return requests;
}

void SlurmControl::TakeOn(SlurmJob job, const JobNote& note, RunRequest request) {
  const RunId id = request.id;
  if (IsOver(job.phase)) {
    if (job.phase == SlurmPhase::kCancelled) {
      found_.push_back(JobWithdrawn{id.job, "it was cancelled in Slurm"});
    }
    found_.push_back(RunStarted{id});
    found_.push_back(RunEnded{id, book_.ended()[id] = EndOf(job)});
    return;
  }
  SlurmRun run;
  run.request = std::move(request);
  run.note = note;
  run.step =
      job.phase == SlurmPhase::kPending ? SlurmRun::Step::kReleased : SlurmRun::Step::kRunning;
  run.since = book_.now();
  book_.runs().emplace(job.id, std::move(run));
  SlurmKnown& known = book_.jobs()[job.id];
  known.told = true;
  known.home = job.partition;
  jobs_.Handle(known, std::move(job));
}

Seconds SlurmControl::Cycle(Seconds now, std::vector<RunEvent>& out) {
  book_.Begin(now, out);
  for (RunEvent& event : std::exchange(found_, {})) out.push_back(std::move(event));
  if (now < again_at_) return again_at_;
  if (const auto looked = Look(); !looked) return Fail(looked.error().message);
  Well();
  book_.options().alive();
  return NextLook();
}

Seconds SlurmControl::DoNow(Seconds now, std::vector<RunEvent>& out) {
  if (now < again_at_ || !claimant_.other_server().empty()) return again_at_;
  book_.Begin(now, out);
  jobs_.Begin();
  placer_.Begin();
  const auto done = steps_.SendStops().and_then([&] { return placer_.PlaceSoon(); });
  return done ? NextLook() : Fail(done.error().message);
}

Result<void> SlurmControl::Look() {
  jobs_.Begin();
  const auto nodes_read = nodes_.ReadAgain();
  RETURN_IF_ERROR(nodes_read);
  if (*nodes_read) {
    RETURN_IF_ERROR(claimant_.Keep());
    RETURN_IF_ERROR(StartMeanwhile());
  }
  if (const std::string& other = claimant_.other_server(); !other.empty()) {
    return core::FailedError("{}", other);
  }
  const auto changed = jobs_.ReadLines();
  RETURN_IF_ERROR(changed);
  RETURN_IF_ERROR(StartMeanwhile());
  RETURN_IF_ERROR(jobs_.ReadJobs(*changed));
  RETURN_IF_ERROR(waiting_.LookAtGone());
  RETURN_IF_ERROR(arrays_.Split());
  RETURN_IF_ERROR(arrays_.ReadLimits());
  waiting_.EmitWaiting();
  RETURN_IF_ERROR(AdvanceRuns());
  RETURN_IF_ERROR(reasons_.Send());  // last: nobody's start waits for it
  steps_.EmitSteps();
  RETURN_IF_ERROR(taken_.ReadElsewhere());
  taken_.EmitChanges();
  book_.AnswerList();
  return {};
}

Result<void> SlurmControl::AdvanceRuns() {
  RETURN_IF_ERROR(steps_.SendStops());
  RETURN_IF_ERROR(steps_.SendLimits());
  RETURN_IF_ERROR(StartMeanwhile());
  const auto these = steps_.Runs();
  RETURN_IF_ERROR(steps_.LookAtBegun(these));
  RETURN_IF_ERROR(StartMeanwhile());
  RETURN_IF_ERROR(steps_.ShowOver(these));
  RETURN_IF_ERROR(StartMeanwhile());
  RETURN_IF_ERROR(steps_.Advance(these));
  return placer_.Place();  // after the ends, so that what they freed is free
}

Result<void> SlurmControl::StartMeanwhile() {
  if (!book_.options().meanwhile()) return {};
  return placer_.PlaceSoon();
}

Seconds SlurmControl::NextLook() {
  const SlurmControlOptions& options = book_.options();
  const Seconds now = book_.now();
  const auto& runs = book_.runs();
  // What was released or told to end is seen soon.
  const bool awaited = std::any_of(runs.begin(), runs.end(), [&](const auto& one) {
    const SlurmRun& run = one.second;
    return now < run.since + options.start_within &&
           (run.step == SlurmRun::Step::kReleased || run.wanted != WantedRun::kNothing);
  });
  const bool places = std::any_of(runs.begin(), runs.end(), [](const auto& one) {
    return one.second.step == SlurmRun::Step::kPlace && one.second.wanted == WantedRun::kNothing;
  });
  if (places && placer_.placed()) return now;  // there were more than are placed at once
  // Short jobs end in waves: the next end is seen soon, so that its GPU is not idle for long. A
  // long queue is not asked for so often.
  const bool in_waves = now < book_.last_end() + kWave && book_.jobs().size() < kLongQueue;
  const bool soon = awaited || in_waves || arrays_.has_new();
  return now + (soon ? options.poll * kPollAwaited : options.poll);
}

// Says it once, and tries again ever more seldom.
Seconds SlurmControl::Fail(const std::string& message) {
  pause_ = pause_.value > 0 ? std::min(pause_ * 2, book_.options().longest_pause) : kFirstPause;
  again_at_ = book_.now() + pause_;
  const bool other_server = !claimant_.other_server().empty();
  const std::string said = !other_server ? "Slurm does not answer as it should: " + message
                                         : "nothing is placed any more: " + message;
  if (!problem_) {
    book_.options().log(said + (!other_server ? "; it is asked again" : ""));
    book_.Emit(RunnerNote{said});
  }
  problem_ = {said, other_server};
  return again_at_;
}

void SlurmControl::Well() {
  pause_ = Seconds(0);
  if (!problem_) return;
  const std::string said = problem_->other_server
                               ? "the other server is gone: jobs are placed again"
                               : "Slurm answers again";
  problem_.reset();
  book_.options().log(said);
  book_.Emit(RunnerNote{said});
}

}  // namespace sharewell::engine
