#include "engine/live/live_starts.h"

#include <algorithm>
#include <utility>

namespace sharewell::engine {

using core::JobId;
using core::Seconds;

bool LiveStarts::IsFree(const JobEntry& job) const {
  const bool back = job.run && job.run->wanted_back && !job.run->leaves;
  if (back && job.run->paused != Attempt::Paused::kPaused) return false;
  if (job.run && !back) return false;  // its own last attempt leaves
  if (book_.Now() < job.not_before) return false;
  const Attempt& comes = back ? *job.run : *job.next;
  return !book_.table.IsBeingLeft(comes.gpus);
}

RunRequest LiveStarts::RequestOf(const JobEntry& job, const core::Allocation& to) const {
  RunRequest request = job.request;
  book_.nodes.Name(to, request);
  request.cores = to.cores;
  request.expected_memory = job.work.pace().gpu_memory;
  const bool alone = job.exclusive || job.ooms > 0 || job.evictions >= core::kEvictionsAlone ||
                     book_.options.alone;
  request.shares = !to.gpus.empty() && !alone;
  if (request.shares) {
    request.gpu_memory = request.asked.gpu_memory;
    request.guest_memory = to.guest_memory;
    if (to.guest_memory) {
      request.gpu_memory =
          std::min(request.gpu_memory.value_or(*to.guest_memory), *to.guest_memory);
    }
    if (to.sm_share < 1) request.thread_share = to.sm_share;
  }
  return request;
}

void LiveStarts::Start(JobId id, const core::Allocation& to, std::optional<Seconds> profile) {
  JobEntry& job = book_.table.jobs[id];
  if (job.over || job.request.id.job == 0) return;  // nobody's: it keeps a GPU from being used
  if (job.IsPaused()) {
    job.believed = job.run->wanted_back = true;
    book_.table.starts.push_back(id);
    return BeginWhatCan();
  }
  ++job.request.id.attempt;
  Attempt run;
  run.request = RequestOf(job, to);
  run.gpus = to.gpus;
  run.profile = profile;
  if (to.gpus.empty()) run.node = to.node;
  job.believed = true;
  const bool up = book_.nodes.AreUp(run.gpus, run.node);
  job.next = std::move(run);
  book_.table.live.insert(id);
  if (!up) {
    GiveUpAndRequeue(id, job);
  } else if (IsFree(job)) {
    Begin(id, job);
  } else {
    book_.table.starts.push_back(id);
  }
}

void LiveStarts::Arrive(JobId id, const core::Allocation& to) {
  const auto& out_of_memory = book_.news.out_of_memory;
  // What ran out of memory in the same moment is told so, and decided on anew.
  if (std::find(out_of_memory.begin(), out_of_memory.end(), id) != out_of_memory.end()) {
    ++book_.table.jobs[id].request.id.attempt;  // it was decided on
  } else {
    Start(id, to, std::nullopt);
  }
}

void LiveStarts::Adopt(JobId id, const RunRequest& request, RunRequest next) {
  JobEntry& job = book_.table.jobs[id];
  job.exclusive = !request.gpus.empty() && !request.shares;
  job.believed = true;
  job.request = std::move(next);
  Attempt run;
  run.request = request;
  run.gpus = book_.nodes.GpusOf(request);
  run.node = book_.nodes.NodeOf(request);
  for (const core::GpuId gpu : run.gpus) book_.table.on_gpu[gpu.index()].push_back(id);
  job.work.GoOn(book_.Now());
  job.run = std::move(run);
  book_.table.runs[request.id] = id;
  book_.table.live.insert(id);
}

void LiveStarts::Begin(JobId id, JobEntry& job) {
  const Seconds now = book_.Now();
  job.run = std::move(*job.next);
  job.next.reset();
  Attempt& run = *job.run;
  if (run.profile) run.profiled_at = now + *run.profile;
  book_.table.Enter(id, run);
  job.work.Begin(now);
  run.attained = job.work.attained();
  run.began = now;
  book_.table.runs[run.request.id] = id;
  book_.touched = true;
  book_.runner.Start(run.request);
  if (run.share < 1) book_.runner.Change(run.request.id, {.share = run.share});
}

void LiveStarts::Resume(JobId id, JobEntry& job) {
  Attempt& run = *job.run;
  run.wanted_back = false;
  run.paused = Attempt::Paused::kResuming;
  book_.table.Enter(id, run);
  job.work.Resume(book_.Now());
  book_.touched = true;
  book_.options.pauser->Resume(run.request.id);
}

void LiveStarts::BeginWhatCan() {
  for (const JobId id : std::exchange(book_.table.starts, {})) {
    JobEntry& job = book_.table.jobs.at(id);
    if (!IsFree(job)) {
      book_.table.starts.push_back(id);
    } else if (job.run) {
      Resume(id, job);
    } else {
      Begin(id, job);
    }
  }
}

void LiveStarts::GiveUp(JobId id, JobEntry& job, Outcome outcome, const std::string& why) {
  RunEnd end;
  end.signal = 15;
  end.exit_code = 128 + end.signal;
  end.refused = !why.empty();
  end.message = why.empty() ? "it was stopped before it began" : why;
  book_.news.ended.push_back(
      {id, job.next->request.id, std::move(end), outcome, job.run.has_value()});
  std::erase(book_.table.starts, id);
  job.next.reset();
  if (!job.run) book_.table.live.erase(id);
}

void LiveStarts::GiveUpAndRequeue(JobId id, JobEntry& job, const std::string& why) {
  book_.news.requeued.push_back(id);
  GiveUp(id, job, Outcome::kRequeued, why);
}

void LiveStarts::Resize(JobId id, double cores) {
  JobEntry& job = book_.table.jobs[id];
  if (job.next) {
    job.next->request.cores = cores;
  } else if (job.Runs()) {
    job.work.Disturb();
    book_.touched = true;
    book_.runner.Change(job.run->request.id, {.cores = cores});
  }
}

void LiveStarts::Throttle(JobId id, core::Ratio share) {
  JobEntry& job = book_.table.jobs[id];
  if (job.next) {
    job.next->share = share;
  } else if (job.Runs()) {
    job.work.Disturb();
    book_.touched = true;
    book_.runner.Change(job.run->request.id, {.share = share});
  }
}

void LiveStarts::SetTimeLimit(JobId id, Seconds limit) {
  const JobEntry* job = book_.table.Find(id);
  if (job != nullptr && job->Runs()) {
    book_.runner.Change(job->run->request.id, {.time_limit = limit});
  }
}

}  // namespace sharewell::engine
