#include "control/service/service.h"

#include <fmt/format.h>

#include <utility>

#include "control/service/service_impl.h"

namespace sharewell::control {

namespace {

constexpr core::Seconds kMostBusy(10);  // a turn takes milliseconds

}  // namespace

Service::Service(core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner,
                 Advisor& advisor, store::JobStore& jobs, const ServiceOptions& options,
                 JobMonitor* monitor)
    : clock_(options.clock),
      no_submissions_(options.no_submissions),
      impl_(std::make_unique<Impl>(cluster, std::move(gpus), runner, advisor, jobs, options,
                                   monitor)) {}

Service::~Service() { Stop(); }

core::Result<void> Service::Open() {
  if (auto restored = impl_->restorer.Restore(); !restored) return restored;
  impl_->view.Publish();
  return {};
}

core::Result<void> Service::Start() {
  if (auto opened = Open(); !opened) return opened;
  thread_ = std::thread([this] { impl_->Work(); });
  return {};
}

bool Service::Turn() { return impl_->Turn(); }

void Service::Stop() {
  impl_->mailbox.Close();
  impl_->engine.Wake();
  if (thread_.joinable()) thread_.join();
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
  Do([this, rate] { impl_->nodes.SetMemoryBandwidth(rate); });
}

void Service::Emit(std::string kind, std::string text) {
  Do([this, kind = std::move(kind), text = std::move(text)]() mutable {
    impl_->journal.Emit(kind, 0, std::move(text));
  });
}

void Service::Submit(std::vector<core::Submission> jobs, const core::Account& who,
                     Answer<std::vector<JobPtr>> answer) {
  if (!no_submissions_.empty()) return answer(core::UsageError("{}", no_submissions_));
  impl_->mailbox.Submit({std::move(jobs), who, std::move(answer)});
  impl_->engine.Wake();
}

void Service::Act(Action action, std::int64_t number, const core::Account& who,
                  Answer<JobPtr> answer) {
  Do([this, action, number, who, answer = std::move(answer)] {
    if (auto done = impl_->actions.Act(action, number, who); !done) {
      return answer(tl::unexpected(std::move(done.error())));
    }
    const JobPtr job = impl_->state.board.Find(number);
    if (job == nullptr) return answer(core::FailedError("job {} is gone", number));
    answer(job);
  });
}

void Service::Drain(const std::string& gpu, bool drained, const core::Account& who,
                    Answer<void> answer) {
  Do([this, gpu, drained, who, answer = std::move(answer)] {
    answer(impl_->nodes.Drain(gpu, drained, who));
  });
}

void Service::Consider(core::Submission job, const core::Account& who,
                       Answer<core::JobRecord> answer) {
  Do([this, job = std::move(job), who, answer = std::move(answer)] {
    answer(impl_->submissions.Consider(job, who));
  });
}

void Service::Ahead(std::int64_t number, Answer<std::optional<JobsAhead>> answer) {
  Do([this, number, answer = std::move(answer)] {
    answer(impl_->queue.AheadOf(number, impl_->view.turns().decided()));
  });
}

std::optional<core::SpeedHistory> Service::Speed(std::int64_t number) const {
  return impl_->paces.speeds().Of(number);
}

std::optional<double> Service::GpuHoursOfWeek(const std::string& user) const {
  return control::GpuHoursOfWeek(impl_->state.week, impl_->state.board, user, clock_->Wall());
}

const JobBoard& Service::board() const { return impl_->state.board; }
EventHub& Service::events() { return impl_->journal.hub(); }

ServiceView Service::View() const { return impl_->view.Read(); }

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
