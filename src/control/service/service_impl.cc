#include "control/service/service_impl.h"

#include <concepts>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace sharewell::control {
namespace {

std::vector<core::GivenGpu> GivenGpus(const std::vector<GpuView>& views) {
  std::vector<core::GivenGpu> gpus;
  gpus.reserve(views.size());
  for (const GpuView& view : views) gpus.push_back(view.gpu);
  return gpus;
}

// The engine keeps these for itself (LiveEngine::TakeNotes).
template <class Event>
concept KeptByEngine = std::same_as<Event, engine::StartRefused> ||
    std::same_as<Event, engine::RunProgress> || std::same_as<Event, engine::RunMetrics> ||
    std::same_as<Event, engine::RunEnded> || std::same_as<Event, engine::RunsListed>;

// Who hears of what.
struct Hearers {
  void operator()(const engine::RunStarted& event) const { to.runs.Hear(event); }
  void operator()(const engine::TimeLimitReached& event) const { to.runs.Hear(event); }
  void operator()(const engine::StopRefused& event) const { to.runs.Hear(event); }
  void operator()(const engine::RunNote& event) const { to.runs.Hear(event); }
  void operator()(const engine::RunTold& event) const { to.runs.Hear(event); }
  void operator()(const engine::RunPaused& event) const { to.pauses.Hear(event); }
  void operator()(const engine::RunResumed& event) const { to.pauses.Hear(event); }
  void operator()(const engine::PauseRefused& event) const { to.pauses.Hear(event); }
  void operator()(const engine::ResumeRefused& event) const { to.pauses.Hear(event); }
  void operator()(const engine::GpuLost& event) const { to.nodes.Hear(event); }
  void operator()(const engine::GpuBack& event) const { to.nodes.Hear(event); }
  void operator()(const engine::GpuTaken& event) const { to.nodes.Hear(event); }
  void operator()(const engine::NodeCame& event) const { to.nodes.Hear(event); }
  void operator()(const engine::NodeWent& event) const { to.nodes.Hear(event); }
  void operator()(const engine::NodeChanged& event) const { to.nodes.Hear(event); }
  void operator()(const engine::HostTaken& event) const { to.nodes.Hear(event); }
  void operator()(const engine::JobSubmitted& event) const { to.foreign.Hear(event); }
  void operator()(const engine::JobWithdrawn& event) const { to.foreign.Hear(event); }
  void operator()(const engine::TermsChanged& event) const { to.foreign.Hear(event); }
  void operator()(const engine::NeedsKnown& event) const { to.foreign.Hear(event); }
  void operator()(const engine::RunnerNote& event) const {
    to.journal.Emit("gpu.note", 0, event.message);
  }
  template <KeptByEngine Event>
  void operator()(const Event&) const {}

  struct {
    RunKeeper& runs;
    Pauses& pauses;
    NodeKeeper& nodes;
    ForeignIntake& foreign;
    Journal& journal;
  } to;
};

AdmissionLimits AdmissionFrom(const ServiceOptions& options) {
  AdmissionLimits limits = options.limits;
  limits.of_a_manager = options.foreign_queue != nullptr;
  return limits;
}

}  // namespace

Service::Impl::Impl(core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner,
                    Advisor& advisor, store::JobStore& store, const ServiceOptions& options,
                    JobMonitor* monitor)
    : state(cluster, std::move(gpus)),
      journal(state, store, runner, *options.clock, options.log),
      view({.state = state,
            .journal = journal,
            .manager = options.foreign_queue,
            .clock = *options.clock,
            .simulated_cores = options.simulated_cores}),
      engine(cluster, GivenGpus(state.gpus.views()), runner,
             {.grace = options.grace, .alone = options.alone, .pauser = options.pauser}),
      admission(AdmissionFrom(options), state.live, advisor, state.board, store),
      paces({.cluster = cluster,
             .snapshot = state.snapshot,
             .engine = engine,
             .live = state.live,
             .outbox = journal.outbox(),
             .board = state.board,
             .store = store,
             .advisor = advisor,
             .monitor = monitor,
             .max_slowdown = options.max_slowdown,
             .wall = [this] { return journal.Wall(); },
             .wall_at = [this](core::Seconds at) { return journal.wall().At(at); },
             .pairs_learnt = [this, &advisor] { loop.Follow(advisor.Policy()); }},
            options.guard),
      beliefs({.state = state,
               .journal = journal,
               .paces = paces,
               .advisor = advisor,
               .monitor = monitor}),
      loop(state.snapshot, advisor.Policy(), engine, beliefs, *this),
      housekeeping({.state = state,
                    .store = store,
                    .journal = journal,
                    .loop = loop,
                    .engine = engine,
                    .few_ids = options.few_ids}),
      queue({.state = state,
             .journal = journal,
             .admission = admission,
             .advisor = advisor,
             .engine = engine,
             .manager = options.foreign_queue,
             .limits = options.limits.of,
             .alone_until_known = options.alone_until_known,
             .projects = options.limits.projects}),
      nodes({.state = state,
             .journal = journal,
             .view = view,
             .queue = queue,
             .loop = loop,
             .engine = engine,
             .advisor = advisor,
             .store = store,
             .monitor = monitor}),
      pauses({.state = state,
              .journal = journal,
              .queue = queue,
              .engine = engine,
              .pauser = options.pauser,
              .monitor = monitor,
              .alone = options.alone,
              .gap = options.pause_gap}),
      foreign({.state = state,
               .journal = journal,
               .view = view,
               .admission = admission,
               .queue = queue,
               .engine = engine,
               .manager = options.foreign_queue,
               .advisor = advisor,
               .store = store}),
      host({.state = state, .paces = paces, .beliefs = beliefs, .loop = loop, .engine = engine}),
      runs({.state = state,
            .journal = journal,
            .queue = queue,
            .paces = paces,
            .loop = loop,
            .engine = engine,
            .advisor = advisor,
            .monitor = monitor,
            .reader = options.told_reader,
            .later =
                [this](std::function<void()> action) {
                  mailbox.Do(std::move(action));
                  engine.Wake();
                }}),
      plans({.state = state,
             .journal = journal,
             .paces = paces,
             .pauses = pauses,
             .nodes = nodes,
             .queue = queue,
             .managed = options.foreign_queue != nullptr}),
      submissions({.state = state,
                   .journal = journal,
                   .view = view,
                   .admission = admission,
                   .queue = queue}),
      actions({.state = state,
               .journal = journal,
               .admission = admission,
               .queue = queue,
               .pauses = pauses,
               .engine = engine,
               .user_name = options.user_name}),
      restorer({.state = state,
                .store = store,
                .journal = journal,
                .view = view,
                .admission = admission,
                .queue = queue,
                .nodes = nodes,
                .pauses = pauses,
                .foreign = foreign,
                .paces = paces,
                .loop = loop,
                .engine = engine,
                .runner = runner,
                .advisor = advisor,
                .user_name = options.user_name}) {
  journal.OnOver([this](std::int64_t number, core::Phase how) {
    paces.speeds().Forget(number);
    queue.Close(number, how);
  });
  loop.Watch(paces.guard(), paces);
}

// Before anything new is decided: what is started next must be the attempt after the one that has
// ended, and who is held by its end must not be started.
void Service::Impl::OnObserved() {
  view.turns().SetBusy(true);
  TakeNews();
}

core::Result<void> Service::Impl::OnPlan(const core::Snapshot&, const core::Plan& plan) {
  return plans.Keep(plan);
}

void Service::Impl::OnDecision(core::Seconds took) { view.turns().OnDecision(journal.Now(), took); }

void Service::Impl::Work() {
  while (Turn()) {
  }
  paces.speeds().KeepAll();
  (void)journal.CommitAll();  // what is still owed is found again by the next server
}

// A turn waits for something to happen, and ends with all of it decided and done. What is asked
// from outside wakes it, is taken between two turns, and is decided on in the next.
bool Service::Impl::Turn() {
  TurnWatch& turns = view.turns();
  turns.SetBusy(true);
  const core::Seconds began = journal.Now();
  journal.LookAtClocks();
  mailbox.Deliver([this](std::span<SubmitRequest> requests) { submissions.Handle(requests); });
  const core::Seconds asked_took = journal.Now() - began;
  if (mailbox.closed()) return false;
  foreign.Admit();
  nodes.LookAtStrangers();
  if (const auto again = queue.KeepToHours()) loop.TurnBy(journal.Now() + *again);
  if (!queue.SubmitEnqueued()) submissions.Answer();  // held ones: no turn will come for them
  turns.SetBusy(false);
  const auto turned = loop.Turn();
  if (turned && !*turned) return false;  // a test's runner has come to its end
  journal.LookAtClocks();
  TakeTurn(turned);
  TakeNews();  // of what the plan changed
  host.Look();
  nodes.SeatReservations();
  const bool read = restorer.LookAgain();
  // What cannot be stored or read now is tried again, whether anything happens or not.
  if (!journal.CommitAll() || !read) loop.TurnBy(journal.Now() + Housekeeping::kStoreAgain);
  if (const auto pause = foreign.TryAgainIn()) loop.TurnBy(journal.Now() + *pause);
  housekeeping.LookAtStore();
  turns.OnTurn(journal.Now(), asked_took);
  view.Publish();
  submissions.Answer();
  if (const auto ids = housekeeping.NewIds()) Renumber(*ids);
  housekeeping.Tidy();
  turns.SetBusy(false);
  return true;
}

// A bad plan is a policy's bug: nothing of it was done, and the loop asks again by itself.
void Service::Impl::TakeTurn(const core::Result<bool>& turned) {
  const std::string problem = turned ? std::string() : turned.error().message;
  if (!view.SetPlanProblem(problem)) return;
  journal.EmitAndLog("server.error", 0,
                     problem.empty() ? "the policy's plans are carried out again" : problem);
}

void Service::Impl::TakeNews() {
  const Hearers hearers{{runs, pauses, nodes, foreign, journal}};
  for (const engine::RunEvent& note : engine.TakeNotes()) std::visit(hearers, note);
  for (const engine::Ended& end : engine.TakeEnded()) runs.TakeEnd(end);
}

// Everybody who speaks of jobs by id between two turns.
void Service::Impl::Renumber(const core::Renumbering& ids) {
  loop.Renumber(ids);
  engine.Renumber(ids);
  state.live.Renumber(ids);
  paces.Renumber(ids);
  host.Renumber(ids);
  queue.OnNewIds();
  nodes.Renumber(ids);
}

}  // namespace sharewell::control
