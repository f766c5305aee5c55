#include "control/service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/service/parts/plan_records.h"
#include "control/service/service_impl.h"
#include "core/numbers/statistics.h"
#include "core/result.h"

namespace sharewell::control {

using core::Phase;

namespace {

constexpr core::Seconds kTidyEvery(60);  // a little at a time: others wait meanwhile
constexpr core::UnixMillis kKeepMillis = core::UnixMillis{365} * 86'400'000;
constexpr std::int64_t kKeepEvents = 100'000;
constexpr core::Seconds kStoreAgain(1);
constexpr core::Seconds kStoreLook(2);  // while all is well
constexpr core::Seconds kMostBusy(10);  // a turn takes milliseconds

std::vector<core::GivenGpu> GivenGpus(const std::vector<GpuView>& views) {
  std::vector<core::GivenGpu> gpus;
  gpus.reserve(views.size());
  for (const GpuView& view : views) gpus.push_back(view.gpu);
  return gpus;
}

}  // namespace

Service::Impl::Impl(core::Cluster& all, std::vector<GpuView> views, engine::Runner& run,
                    Advisor& advice, store::JobStore& store, const ServiceOptions& chosen,
                    JobMonitor* watch)
    : cluster(all),
      runner(run),
      advisor(advice),
      jobs(store),
      options(chosen),
      monitor(watch),
      snapshot(all),
      gpus(std::move(views)),
      engine(all, GivenGpus(gpus.views()), run, {.grace = chosen.grace, .alone = chosen.alone}),
      admission(chosen.limits, live, advice, board, store),
      gate(chosen.limits.of, live),
      outbox(store, live, board, hub, chosen.say),
      paces({.cluster = all,
             .snapshot = snapshot,
             .engine = engine,
             .live = live,
             .outbox = outbox,
             .board = board,
             .advisor = advice,
             .monitor = watch,
             .max_slowdown = chosen.max_slowdown,
             .wall = [this] { return Wall(); },
             .pairs_learnt = [this] { loop->Follow(advisor.Policy()); }},
            chosen.guard),
      reserved_gpus(gpus.size()),
      reserved_nodes(all.nodes().size()),
      node_is_down(all.nodes().size()) {
  if (!run.HasUsers()) return;
  // A manager that has users of its own shows them why their job waits.
  board.OnPut([this](const core::JobRecord& record) {
    if (record.phase != Phase::kWaiting && record.phase != Phase::kHeld) return;
    if (record.reason.empty()) return;
    runner.TellWaits(record.number,
                     record.note.empty() ? record.reason : record.reason + "; " + record.note);
  });
}

void Service::Impl::Work() {
  while (Turn()) {
  }
  (void)CommitAll();  // what is still owed is found again by the next server
}

// A turn waits for something to happen, and ends with all of it decided and done. What is asked
// from outside wakes it, is taken between two turns, and is decided on in the next.
bool Service::Impl::Turn() {
  SetBusy(true);
  const core::Seconds began = runner.Now();
  wall.Look(options.clock->Wall(), began);
  mailbox.Deliver([this](std::span<SubmitRequest> requests) { TakeSubmissions(requests); });
  const core::Seconds asked_took = runner.Now() - began;
  if (mailbox.closed()) return false;
  AdmitForeign();
  LookAtStrangers();
  if (!SubmitEnqueued()) AnswerSubmitted();  // held ones: no turn will come for them
  SetBusy(false);
  const auto turned = loop->Turn();
  if (turned && !*turned) return false;  // a test's runner has come to its end
  wall.Look(options.clock->Wall(), runner.Now());
  TakeTurn(turned);
  AfterTurn();
  SeatReservations();
  LookAgain();
  // What cannot be stored or read now is tried again, whether anything happens or not.
  if (!CommitAll() || !look_again.empty()) loop->TurnBy(runner.Now() + kStoreAgain);
  if (!foreign.empty()) loop->TurnBy(runner.Now() + foreign_pause);
  LookAtStore();
  turns.push_back((asked_took + runner.Now() - heard).value);
  if (turns.size() > 1000) turns.pop_front();
  Publish();
  AnswerSubmitted();
  RenumberIfMostAreOver();
  Tidy();
  SetBusy(false);
  return true;
}

// A bad plan is a policy's bug: nothing of it was done, and the loop asks again by itself.
void Service::Impl::TakeTurn(const core::Result<bool>& turned) {
  const std::string problem = turned ? std::string() : turned.error().message;
  if (problem.empty() != plan_problem.empty()) {
    const std::string words =
        problem.empty() ? "the policy's plans are carried out again" : problem;
    Say("server.error", 0, words);
    if (options.say) options.say(words);
  }
  plan_problem = problem;
}

// A store that is gone must be told by /healthz, also when nothing happens.
void Service::Impl::LookAtStore() {
  if (runner.Now() >= look_at_store) {
    if (!outbox.LookAtStore()) return;  // this one cannot tell
    look_at_store = runner.Now() + (outbox.problem().empty() ? kStoreLook : kStoreAgain);
  }
  loop->TurnBy(look_at_store);
}

void Service::Impl::Tidy() {
  if (runner.Now() < tidy_at) return;
  tidy_at = runner.Now() + kTidyEvery;
  (void)jobs.TidyJobs(wall.OldBefore(kKeepMillis).value_or(0), kKeepEvents);  // or next time
}

void Service::Impl::SetBusy(bool busy) {
  busy_since = busy ? options.clock->Steady().count() : std::int64_t{-1};
}

std::optional<core::Seconds> Service::Impl::BusyFor() const {
  const std::int64_t since = busy_since;
  if (since < 0) return std::nullopt;
  const auto now = options.clock->Steady().count();
  return core::Seconds(static_cast<double>(now - since) / 1e9);
}

core::Result<void> Service::Impl::Commit(store::JobChanges changes) {
  auto stored = outbox.Commit(std::move(changes));
  RETURN_IF_ERROR(stored);
  for (const auto& [number, how] : stored->over) {
    tally.CountEnd(how);
    admission.RemoveDependent(live.Find(number)->record);
    gate.Forget(number);
    // Whatever ended it, nothing of it waits on in the queue of a manager.
    if (!live.Find(number)->withdrawn) runner.CancelWaiting(number);
    live.Remove(number);
    ReleaseDependents(number, how);
  }
  for (const std::int64_t number : stored->withdrawn) {
    next_number = std::max(next_number, number + 1);
  }
  for (const engine::RunId& run : stored->ended) runner.Forget(run);
  return {};
}

// What is over may let others go, whose change is to be stored in its turn. What cannot be stored
// stays owed, and View() says so.
core::Result<void> Service::Impl::CommitAll() {
  do {
    if (auto kept = Commit(); !kept) return kept;
  } while (outbox.owes_records());
  return {};
}

void Service::Impl::AnswerSubmitted() {
  for (Owed& waiting : std::exchange(answers, {})) {
    std::vector<JobPtr> told;
    for (const std::int64_t number : waiting.numbers) {
      LiveJob* job = live.Find(number);
      if (job != nullptr && job->record.phase == Phase::kWaiting && job->record.reason.empty()) {
        job->record.reason = core::InWords(core::reason::BehindOthers{}, "") + gpus.UnusableText();
        board.Put(job->record);
      }
      if (JobPtr shown = board.Find(number)) told.push_back(std::move(shown));
    }
    waiting.answer(std::move(told));
  }
}

void Service::Impl::Publish() {
  ServiceView now;
  now.gpus = gpus.views();
  for (std::size_t i = 0; i < now.gpus.size(); ++i) {
    now.gpus[i].jobs = JobsOn({core::GpuId(i)}, {}, snapshot, live);
  }
  for (std::size_t i = 0; i < cluster.nodes().size(); ++i) {
    const core::NodeId node(i);
    now.cores += cluster.node(node).cores.value_or(0);
    now.cores_given += snapshot.cores_used(node);
  }
  if (cluster_copy == nullptr) cluster_copy = std::make_shared<const core::Cluster>(cluster);
  now.cluster = cluster_copy;
  if (!cluster.nodes().empty()) now.node = cluster.nodes().front().name;
  now.simulated_cores = options.simulated_cores;
  now.policy = policy_name;
  now.store_up = outbox.problem().empty();
  now.store_problem = outbox.problem();
  now.plan_problem = plan_problem;
  now.runner_problem = runner.Problem();
  now.owed = outbox.owed();
  now.tally = tally;
  now.decisions = decided;
  now.decision_p99 = core::Seconds(core::Quantile({turns.begin(), turns.end()}, 0.99).value_or(0));
  const platform::MutexLock lock(view_mutex);
  now.since = view.since;
  view = std::move(now);
}

Service::Service(core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner,
                 Advisor& advisor, store::JobStore& jobs, const ServiceOptions& options,
                 JobMonitor* monitor)
    : impl_(std::make_unique<Impl>(cluster, std::move(gpus), runner, advisor, jobs, options,
                                   monitor)) {}

Service::~Service() { Stop(); }

core::Result<void> Service::Open() {
  if (auto restored = impl_->Restore(); !restored) return restored;
  impl_->Publish();
  return {};
}

core::Result<void> Service::Start() {
  if (auto opened = Open(); !opened) return opened;
  impl_->thread = std::thread([this] { impl_->Work(); });
  return {};
}

bool Service::Turn() { return impl_->Turn(); }

void Service::Stop() {
  impl_->mailbox.Close();
  impl_->engine.Wake();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Service::Do(std::function<void()> action) {
  impl_->mailbox.Do(std::move(action));
  impl_->engine.Wake();
}

std::vector<Stranger> JobMonitor::StrangersOn(const std::string&) { return {}; }

void Service::LookAgain() {
  Do([] {});
}

void Service::SetMemoryBandwidth(core::BytesPerSecond rate) {
  Do([this, rate] {
    impl_->cluster.ShareOutMemoryBandwidth(rate);
    impl_->cluster_copy = nullptr;
  });
}

void Service::Tell(std::string kind, std::string text) {
  Do([this, kind = std::move(kind), text = std::move(text)]() mutable {
    impl_->Say(kind.c_str(), 0, std::move(text));
  });
}

void Service::Submit(std::vector<core::Submission> jobs, const core::Account& who,
                     Answer<std::vector<JobPtr>> answer) {
  if (!impl_->options.no_submissions.empty()) {
    return answer(core::UsageError("{}", impl_->options.no_submissions));
  }
  impl_->mailbox.Submit({std::move(jobs), who, std::move(answer)});
  impl_->engine.Wake();
}

void Service::Act(Action action, std::int64_t number, const core::Account& who,
                  Answer<JobPtr> answer) {
  Do([this, action, number, who, answer = std::move(answer)] {
    if (auto done = impl_->Act(action, number, who); !done) {
      return answer(tl::unexpected(std::move(done.error())));
    }
    const JobPtr job = impl_->board.Find(number);
    if (job == nullptr) return answer(core::FailedError("job {} is gone", number));
    answer(job);
  });
}

void Service::Drain(const std::string& gpu, bool drained, const core::Account& who,
                    Answer<void> answer) {
  Do([this, gpu, drained, who, answer = std::move(answer)] {
    answer(impl_->Drain(gpu, drained, who));
  });
}

void Service::Consider(core::Submission job, const core::Account& who,
                       Answer<core::JobRecord> answer) {
  Do([this, job = std::move(job), who, answer = std::move(answer)] {
    auto admitted = impl_->admission.Admit({&job, 1}, who, impl_->next_number, impl_->Wall());
    if (!admitted) return answer(tl::unexpected(std::move(admitted.error())));
    core::JobRecord& record = admitted->front();
    if (record.note.empty()) record.note = impl_->gpus.UnusableSentence();
    answer(std::move(record));
  });
}

void Service::Ahead(std::int64_t number, Answer<std::optional<JobsAhead>> answer) {
  Do([this, number, answer = std::move(answer)] {
    Impl& in = *impl_;
    const LiveJob* job = in.live.Find(number);
    if (job == nullptr || job->record.phase != Phase::kWaiting || !job->id.valid()) {
      return answer(std::optional<JobsAhead>());
    }
    answer(in.line.AheadOf(job->id, in.advisor.Policy(), in.snapshot, in.live, in.decided));
  });
}

const JobBoard& Service::board() const { return impl_->board; }
EventHub& Service::events() { return impl_->hub; }

ServiceView Service::View() const {
  const platform::MutexLock lock(impl_->view_mutex);
  ServiceView view = impl_->view;
  view.busy_for = impl_->BusyFor();
  return view;
}

std::string ProblemOf(const ServiceView& view) {
  if (!view.store_up) {
    return fmt::format(
        "jobs cannot be stored, so none is taken or started: {}; it is tried again by itself",
        view.store_problem);
  }
  if (!view.plan_problem.empty()) {
    return fmt::format(
        "nothing is started: {}; it is asked again by itself, and `sharewell serve --policy` "
        "names another one",
        view.plan_problem);
  }
  if (!view.runner_problem.empty()) {
    return fmt::format("nothing is started or stopped: {}; it is tried again by itself",
                       view.runner_problem);
  }
  if (view.busy_for && *view.busy_for > kMostBusy) {
    return fmt::format(
        "nothing is decided: the turn under way has taken {:.0f} s; the store or the machine is "
        "slow",
        view.busy_for->value);
  }
  return {};
}

}  // namespace sharewell::control
