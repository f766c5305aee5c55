// For tests: a world in which jobs do what a script says, and a collector that reads it. Its time
// moves when somebody waits.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/collector.h"
#include "core/result.h"
#include "measure/watch_world.h"

namespace sharewell::measure {

inline constexpr double kEpoch = 1.7e9;

// How a job of the fake world behaves, by seconds since its start.
struct Script {
  double ends = INFINITY;
  int code = 0;
  bool stubborn = false;                     // ignores SIGTERM
  std::function<double(double)> steps = {};  // in all; empty: it writes no progress
  bool starts = true;
  bool opens_late = false;  // the progress file is opened with the first step
  double before = 0;        // the last step came so long before a look
};

class FakeWorld : public WatchWorld {
 public:
  explicit FakeWorld(std::vector<Script> scripts) : scripts_(std::move(scripts)) {}

  core::Seconds Now() override { return core::Seconds(now); }
  core::UnixMillis Wall() override { return static_cast<core::UnixMillis>((kEpoch + now) * 1000); }
  core::Result<std::unique_ptr<WatchedJob>> Start(const platform::ChildOptions& options) override {
    const std::size_t index = started++;
    if (!scripts_[index].starts) return core::UsageError("command not found");
    for (const auto& [name, value] : options.environment) {
      if (name != "SHAREWELL_PROGRESS") continue;
      files_.emplace_back(index, value);
      if (scripts_[index].steps && !scripts_[index].opens_late) {
        std::ofstream(value, std::ios::app);  // opened, not written to
      }
    }
    return std::make_unique<Job>(*this, index);
  }
  void Wait(core::Seconds most) override {
    double next = now + std::max(most.value, 1e-3);
    for (std::size_t i = 0; i < started; ++i) {
      if (scripts_[i].ends > now) next = std::min(next, scripts_[i].ends);
    }
    now = next;
    for (const auto& [index, file] : files_) Write(index, file);
  }
  std::optional<platform::PassedSignal> NextSignal() override {
    if (signals.empty() || now < signals.front()) return std::nullopt;
    signals.erase(signals.begin());
    return platform::PassedSignal{.number = SIGINT, .from_terminal = false};
  }

  double now = 0;
  std::size_t started = 0;
  std::vector<double> signals;  // when they come
  std::vector<int> passed;      // to jobs
  int stops = 0, alive = 0;

 private:
  class Job : public WatchedJob {
   public:
    Job(FakeWorld& world, std::size_t index) : world_(world), index_(index) { ++world_.alive; }
    ~Job() override { --world_.alive; }
    std::vector<int> Pids() override {
      return Over() ? std::vector<int>() : std::vector<int>{100 + static_cast<int>(index_)};
    }
    std::optional<platform::ChildEnd> Ended() override {
      if (!Over()) return std::nullopt;
      return platform::ChildEnd{.code = stopped_ ? 143 : script().code};
    }
    void Pass(const platform::PassedSignal& signal) override {
      world_.passed.push_back(signal.number);
    }
    platform::StopReport Stop(core::Seconds grace) override {
      const platform::StopReport report{.was_running = !Over(),
                                        .killed = !Over() && script().stubborn};
      if (report.killed) world_.now += grace.value;
      stopped_ = stopped_ || !Over();
      ++world_.stops;
      return report;
    }
    void Drain() override {}

   private:
    const Script& script() const { return world_.scripts_[index_]; }
    bool Over() const { return stopped_ || world_.now >= script().ends; }
    FakeWorld& world_;
    std::size_t index_;
    bool stopped_ = false;
  };

  void Write(std::size_t index, const std::string& path) {
    const Script& script = scripts_[index];
    if (!script.steps) return;
    auto& written = written_[index];
    const auto total = static_cast<long>(script.steps(std::min(now, script.ends)));
    if (total <= written) return;
    std::ofstream(path, std::ios::app)
        << std::string(static_cast<std::size_t>(total - written), '\n');
    written = total;
    const double wall = kEpoch + std::min(now, script.ends) - script.before;
    const timespec time{.tv_sec = static_cast<time_t>(wall),
                        .tv_nsec = static_cast<long>((wall - std::floor(wall)) * 1e9)};
    const timespec times[2] = {time, time};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  std::vector<Script> scripts_;
  std::vector<std::pair<std::size_t, std::string>> files_;
  std::map<std::size_t, long> written_;
};

// Reads what a function of the time says.
class FakeCollector : public collect::Collector {
 public:
  using Read = std::function<core::Result<void>(double now, std::vector<core::Reading>& out)>;
  FakeCollector(FakeWorld& world, Read read) : world_(world), read_(std::move(read)) {}
  std::string_view Name() const override { return "fake"; }
  std::string_view Describe() const override { return "a fake"; }
  collect::Health Probe() override { return {collect::Health::State::kWorks, "works", ""}; }
  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    return read_(world_.now, out);
  }

 private:
  FakeWorld& world_;
  Read read_;
};

}  // namespace sharewell::measure
