#include "measure/watch_world.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "core/result.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::measure {
namespace {

using platform::Child;

// Those started and not gone yet.
using Children = std::vector<Child*>;

class MachineJob : public WatchedJob {
 public:
  MachineJob(std::unique_ptr<Child> child, std::shared_ptr<Children> all)
      : child_(std::move(child)), all_(std::move(all)) {
    all_->push_back(child_.get());
  }
  ~MachineJob() override { std::erase(*all_, child_.get()); }
  MachineJob(const MachineJob&) = delete;
  MachineJob& operator=(const MachineJob&) = delete;

  std::vector<int> Pids() override { return child_->Pids(); }
  std::optional<platform::ChildEnd> Ended() override { return child_->Ended(); }
  platform::StopReport Stop(core::Seconds grace) override { return child_->Stop(grace); }
  void Drain() override { child_->Drain(); }
  void Pass(const platform::PassedSignal& signal) override {
    const bool has_it = signal.from_terminal && child_->shares_group();
    if (!has_it || signal.number == SIGWINCH) child_->Send(signal.number);
  }

 private:
  std::unique_ptr<Child> child_;
  // Shared: a job may outlive the world that it was started in.
  std::shared_ptr<Children> all_;
};

class Machine : public WatchWorld {
 public:
  core::Seconds Now() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return core::Seconds(std::chrono::duration<double>(now).count());
  }
  core::UnixMillis Wall() override { return platform::UnixNow(); }
  core::Result<std::unique_ptr<WatchedJob>> Start(const platform::ChildOptions& options) override {
    auto child = Child::Start(options);
    RETURN_IF_ERROR(child);
    return std::make_unique<MachineJob>(std::move(*child), children_);
  }
  void Wait(core::Seconds most) override { platform::WaitForChildren(*children_, most); }
  std::optional<platform::PassedSignal> NextSignal() override { return signals_.Next(); }

 private:
  platform::PassedSignals signals_;
  std::shared_ptr<Children> children_ = std::make_shared<Children>();
};

}  // namespace

std::unique_ptr<WatchWorld> ThisMachine() { return std::make_unique<Machine>(); }

}  // namespace sharewell::measure
