#include "control/service.h"

#include <utility>

#include "control/service_inside.h"

namespace sharewell::control {

using core::Phase;

namespace {

constexpr core::Seconds kTidyEvery(60);  // a little at a time: others wait meanwhile
constexpr core::UnixMillis kKeepMillis = core::UnixMillis{365} * 86'400'000;
constexpr std::int64_t kKeepEvents = 100'000;

std::vector<core::GivenGpu> GivenGpus(const std::vector<GpuView>& views) {
  std::vector<core::GivenGpu> gpus;
  gpus.reserve(views.size());
  for (const GpuView& view : views) gpus.push_back(view.gpu);
  return gpus;
}

}  // namespace

Service::Impl::Impl(const core::Cluster& all, std::vector<GpuView> views, engine::Runner& run,
                    Advisor& advice, store::JobStore& store, const ServiceOptions& chosen,
                    Sight* watch)
    : cluster(all),
      runner(run),
      advisor(advice),
      jobs(store),
      options(chosen),
      sight(watch),
      snapshot(all),
      engine(all, GivenGpus(views), run, *this, {.grace = chosen.grace}),
      guard(chosen.guard),
      gpus(std::move(views)),
      reservation(gpus.size()) {}

// A turn waits for something to happen, and ends with all of it decided and done. What is asked
// from outside wakes it, is taken between two turns, and is decided on in the next.
void Service::Impl::Work() {
  for (;;) {
    const core::Seconds began = runner.Now();
    TakeAsked();
    const core::Seconds asked_took = runner.Now() - began;
    {
      const std::lock_guard lock(mutex);
      if (stop) break;
    }
    if (enqueued.empty()) AnswerSubmitted();  // held ones: no turn will come for them
    SubmitEnqueued();
    const auto turned = loop->Turn();
    if (!turned) {
      // A policy's bug. Nothing of its plan was done; the next event asks it again.
      Say("server.error", 0, turned.error().message);
    } else if (!*turned) {
      break;  // a test's runner has come to its end
    }
    AfterTurn();
    SeatReservations();
    CommitAll();
    turns.push_back((asked_took + runner.Now() - heard).value);
    if (turns.size() > 1000) turns.pop_front();
    Publish();
    AnswerSubmitted();
    if (runner.Now() >= tidy_at) {
      tidy_at = runner.Now() + kTidyEvery;
      (void)jobs.TidyJobs(Wall() - kKeepMillis, kKeepEvents);  // next time, if not now
    }
  }
  CommitAll();
}

// What is over may let others go, whose change is to be stored in its turn. What cannot be stored
// stays owed, and View() says so.
void Service::Impl::CommitAll() {
  while (Commit() && !dirty.empty()) {
  }
}

void Service::Impl::AnswerSubmitted() {
  for (Owed& waiting : std::exchange(answers, {})) {
    std::vector<JobPtr> told;
    for (const std::int64_t number : waiting.numbers) {
      Live* job = Find(number);
      if (job != nullptr && job->record.phase == Phase::kWaiting && job->record.reason.empty()) {
        job->record.reason =
            "not enough CPU cores are left for it now";  // policies say why of GPUs
        board.Put(job->record);
      }
      if (JobPtr shown = board.Find(number)) told.push_back(std::move(shown));
    }
    waiting.answer(std::move(told));
  }
}

void Service::Impl::Post(Asked what) {
  {
    const std::lock_guard lock(mutex);
    asked.push_back(std::move(what));
  }
  engine.Wake();
}

Service::Service(const core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner,
                 Advisor& advisor, store::JobStore& jobs, const ServiceOptions& options,
                 Sight* sight)
    : impl_(std::make_unique<Impl>(cluster, std::move(gpus), runner, advisor, jobs, options,
                                   sight)) {}

Service::~Service() { Stop(); }

core::Result<void> Service::Start() {
  if (auto restored = impl_->Restore(); !restored) return restored;
  impl_->Publish();
  impl_->thread = std::thread([this] { impl_->Work(); });
  return {};
}

void Service::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->engine.Wake();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Service::Submit(std::vector<core::Submission> jobs, const core::Account& who,
                     Answer<std::vector<JobPtr>> answer) {
  impl_->Post({std::move(jobs), who, std::move(answer), {}});
}

void Service::Act(Action action, std::int64_t number, const core::Account& who,
                  Answer<JobPtr> answer) {
  impl_->Post({{}, who, {}, [this, action, number, who, answer = std::move(answer)] {
                 if (auto done = impl_->DoAct(action, number, who); !done) {
                   return answer(tl::unexpected(std::move(done.error())));
                 }
                 const JobPtr job = impl_->board.Find(number);
                 if (job == nullptr) return answer(core::FailedError("job {} is gone", number));
                 answer(job);
               }});
}

void Service::Drain(const std::string& gpu, bool drained, const core::Account& who,
                    Answer<void> answer) {
  impl_->Post({{}, who, {}, [this, gpu, drained, who, answer = std::move(answer)] {
                 answer(impl_->DoDrain(gpu, drained, who));
               }});
}

void Service::Consider(core::Submission job, const core::Account& who,
                       Answer<core::JobRecord> answer) {
  impl_->Post({{}, who, {}, [this, job = std::move(job), who, answer = std::move(answer)] {
                 auto admitted = impl_->Admit({{job}, who, {}, {}}, impl_->next_number);
                 if (!admitted) return answer(tl::unexpected(std::move(admitted.error())));
                 answer(std::move(admitted->front()));
               }});
}

const JobBoard& Service::board() const { return impl_->board; }
EventHub& Service::events() { return impl_->hub; }

ServiceView Service::View() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->view;
}

}  // namespace sharewell::control
