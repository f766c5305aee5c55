#include "report/measure/stress.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>

#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/stress_flags.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "stress/paced_threads.h"
#include "stress/steadiness.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using stress::PressureKind;

constexpr int kMostStressDays = 30;
constexpr double kSettled = 0.15;  // seconds after a second's end at which it is told
constexpr double kStarved = 0.9;   // of its CPU time: below it, others took the CPUs
constexpr int kSignalled = 128;    // what a shell adds to a signal's number

// SIGINT, SIGTERM and SIGHUP wait (HoldInterrupts) for this to take them: the one that came within
// so many seconds, or 0.
int SignalWithin(double seconds) {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // One that is ignored (nohup) stays so, though a held one would come here.
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&held, signal);
    }
  }
  const double end = stress::SteadySeconds() + seconds;
  for (;;) {
    const double left = std::max(0.0, end - stress::SteadySeconds());
    timespec time{};
    time.tv_sec = static_cast<time_t>(left);
    time.tv_nsec = static_cast<long>((left - std::floor(left)) * 1e9);
    const int signal = ::sigtimedwait(&held, nullptr, &time);
    if (signal > 0) return signal;
    if (errno != EINTR) return 0;
  }
}

// A pressure, and all that was read of it.
struct Watched {
  std::unique_ptr<stress::Pressure> pressure;
  double cpu_share_sum = 0;  // over readings, weighted by their seconds
  double cpu_share_seconds = 0;
  std::string trouble;
  report::StressRow row;

  void Read() {
    const auto reading = pressure->Read();
    row.seconds.insert(row.seconds.end(), reading.per_second.begin(), reading.per_second.end());
    if (reading.cpu_share) {
      cpu_share_sum += *reading.cpu_share * reading.seconds;
      cpu_share_seconds += reading.seconds;
    }
    trouble = reading.trouble;
  }

  std::string WhyNot(const stress::Steadiness& found) const {
    if (!trouble.empty()) return trouble;
    const PressureKind kind = pressure->kind();
    const bool computes = kind != PressureKind::kDisk && kind != PressureKind::kPcie;
    const double share = cpu_share_seconds > 0 ? cpu_share_sum / cpu_share_seconds : 1;
    if (computes && share < kStarved) {
      return fmt::format(
          "its threads got {:.0f} % of the CPU time they were ready to use; other programs run on "
          "these CPUs (--cpus gives it others)",
          100 * share);
    }
    if (found.error < 0 && std::abs(found.error) > stress::kMostError) {
      return kind == PressureKind::kCpu
                 ? "the CPUs gave less time than there should be (a quota, or other programs)"
                 : fmt::format("the machine gave less than {}; others may use it too",
                               row.capacity_spread ? "when it was measured" : "it should");
    }
    return "the seconds differ too much; others may use the same part of the machine";
  }

  void Summarise(std::size_t seconds) {
    row.seconds.resize(std::min(row.seconds.size(), seconds));
    row.target = pressure->target();
    row.what = pressure->Describe();
    const auto found = stress::SteadinessOf(row.target, row.seconds);
    if (!found) {
      row.why = trouble;
      return;
    }
    row.mean = found->mean;
    row.error = found->error;
    row.variation = found->variation;
    row.largest_deviation = found->largest_deviation;
    row.held = found->held && trouble.empty();
    if (!row.held) row.why = WhyNot(*found);
  }
};

// A line a second; on a terminal, one that is drawn over.
class SecondLines {
 public:
  SecondLines() : live_(::isatty(STDERR_FILENO) != 0) {}
  ~SecondLines() {
    if (drawn_) WriteErr("\n");
  }
  SecondLines(const SecondLines&) = delete;
  SecondLines& operator=(const SecondLines&) = delete;

  void Show(const std::vector<Watched>& all) {
    std::vector<report::StressRow> rows;
    std::size_t ready = all.front().row.seconds.size();
    for (const Watched& one : all) {
      rows.push_back(one.row);
      ready = std::min(ready, one.row.seconds.size());
    }
    for (; shown_ < ready; ++shown_) {
      const std::string line = report::StressLine(shown_, rows);
      WriteErr(live_ ? "\r" + line + "\x1b[K" : line + "\n");
      drawn_ = live_;
    }
  }

 private:
  bool live_;
  bool drawn_ = false;
  std::size_t shown_ = 0;
};

class StressCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    flags_.Add(app);
    app.add_option("--for", for_, "how long to hold the load (default 60s)")->type_name("TIME");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    const auto time = ParseTime("--for", for_, kMostStressDays);
    RETURN_IF_ERROR(time);
    if (time->value < 1) return UsageError("--for: {} is too short; give 1s or more", for_);
    const auto specs = flags_.Specs();
    RETURN_IF_ERROR(specs);
    auto all = PrepareAll(*specs);
    RETURN_IF_ERROR(all);

    report::StressOutcome outcome;
    outcome.asked = *time;
    const auto whole = static_cast<std::size_t>(time->value);
    for (Watched& one : *all) one.pressure->Run();
    const HoldInterrupts hold;
    const int signal = Watch(*all, whole);
    outcome.interrupted = signal != 0;
    bool held = true;
    for (Watched& one : *all) {
      one.Summarise(whole);
      held = held && one.row.held;
      outcome.rows.push_back(std::move(one.row));
    }
    all->clear();  // the pressure ends before anything is written
    const auto written =
        WriteOut(json_ ? report::StressJson(outcome) : report::StressTable(outcome));
    RETURN_IF_ERROR(written);
    if (signal != 0) return static_cast<ExitCode>(kSignalled + signal);
    return held ? kOk : kFinishedWithFailures;
  }

 private:
  // All are measured before the first one presses.
  static Result<std::vector<Watched>> PrepareAll(const std::vector<stress::PressureSpec>& specs) {
    std::vector<Watched> all;
    for (const auto& spec : specs) {
      auto pressure = stress::Pressure::Prepare(spec);
      RETURN_IF_ERROR(pressure);
      Watched one;
      one.row.kind = stress::NameOf(spec.kind);
      one.row.unit = stress::UnitOf(spec.kind);
      one.row.capacity = (*pressure)->capacity().value;
      one.row.capacity_spread = (*pressure)->capacity().spread;
      WriteErr(fmt::format("{}: target {}, 100 % is {}\n", one.row.kind,
                           report::StressLevel(one.row.unit, (*pressure)->target()),
                           report::StressLevel(one.row.unit, one.row.capacity)));
      one.pressure = std::move(*pressure);
      all.push_back(std::move(one));
    }
    return all;
  }

  // Until all of them have so many seconds; the signal that ended it sooner, or 0.
  static int Watch(std::vector<Watched>& all, std::size_t seconds) {
    SecondLines lines;
    const double began = stress::SteadySeconds();
    for (std::size_t second = 1; second <= seconds; ++second) {
      const double until = began + static_cast<double>(second) + kSettled;
      const int signal = SignalWithin(until - stress::SteadySeconds());
      for (Watched& one : all) one.Read();
      lines.Show(all);
      if (signal != 0) return signal;
    }
    return 0;
  }

  StressFlags flags_;
  std::string for_ = "60s";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewStressCommand() { return std::make_unique<StressCommand>(); }

}  // namespace sharewell::cli
