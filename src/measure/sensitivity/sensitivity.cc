#include "measure/sensitivity/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result.h"
#include "measure/sensitivity/sensitivity_run.h"
#include "measure/watch_world.h"

namespace sharewell::measure {
namespace {

using core::Seconds;
using stress::Level;
using stress::Pressure;

struct Prepared {
  std::unique_ptr<Pressure> pressure;
  std::vector<core::Ratio> shares;
};

class Presser {
 public:
  Presser(const SensitivityOptions& options, PhasedRun& run, SensitivityResult& result)
      : options_(options), run_(run), result_(result) {}

  core::Result<void> Run(std::vector<Prepared>& prepared) {
    of_ = 1;
    for (const Prepared& each : prepared) of_ += 2 * each.shares.size();
    PhaseRate before;
    if (!Rest(before)) return {};
    for (Prepared& each : prepared) {
      for (const core::Ratio share : each.shares) {
        PressurePhase phase;
        phase.before = before;
        const auto ok = Press(*each.pressure, share, phase);
        RETURN_IF_ERROR(ok);
        if (!*ok || !Rest(phase.after)) return {};
        before = phase.after;
        result_.phases.push_back(std::move(phase));
      }
    }
    return {};
  }

 private:
  // The start of a phase still has the one before in it: caches refill, queues drain.
  Seconds Settle() const { return std::min(Seconds(1), options_.phase / 5); }

  void Tell(const std::string& what) {
    if (options_.progress) options_.progress({what, done_, of_});
    ++done_;
  }

  // False: the job ended, or we are to.
  bool Rest(PhaseRate& rate) {
    Tell("no pressure");
    if (run_.Advance(Settle()) != PhasedRun::State::kRuns) return false;
    const Seconds from = run_.Age();
    // Two of these lie around each phase under pressure, so half the time will do.
    if (run_.Advance(options_.phase / 2) != PhasedRun::State::kRuns) return false;
    rate = run_.RateSince(from);
    return true;
  }

  core::Result<bool> Press(Pressure& pressure, core::Ratio share, PressurePhase& phase) {
    phase.pressure = NameOf(pressure.kind());
    phase.title = TitleOf(pressure.kind());
    phase.target_share = share;
    Tell(fmt::format("{} {:.0f} %", phase.title, share * 100));
    RETURN_IF_ERROR(pressure.SetLevel(Level::Share(share)));
    phase.target_text = ShowLevel(pressure.kind(), pressure.target());
    pressure.Run();
    bool runs = run_.Advance(Settle()) == PhasedRun::State::kRuns;
    pressure.Read();  // what came before does not count
    const Seconds from = run_.Age();
    runs = runs && run_.Advance(options_.phase) == PhasedRun::State::kRuns;
    const auto reading = pressure.Read();
    pressure.Rest();
    phase.rate = run_.RateSince(from);
    phase.trouble = reading.trouble;
    if (reading.achieved) {
      phase.achieved_text = ShowLevel(pressure.kind(), *reading.achieved);
      if (pressure.capacity().value > 0) {
        phase.achieved_share = *reading.achieved / pressure.capacity().value;
      }
    }
    return runs;
  }

  const SensitivityOptions& options_;
  PhasedRun& run_;
  SensitivityResult& result_;
  std::size_t done_ = 0, of_ = 0;
};

// Calibration wants the machine to itself, so it comes before the job.
core::Result<std::vector<Prepared>> PrepareAll(const SensitivityOptions& options,
                                               SensitivityResult& result) {
  std::vector<Prepared> out;
  for (const WantedPressure& wanted : options.pressures) {
    const std::string name(NameOf(wanted.spec.kind));
    if (options.progress) options.progress({"calibrating " + name, 0, 0});
    auto spec = wanted.spec;
    spec.level = Level::Share(wanted.shares.front());
    auto pressure = options.prepare(spec);
    if (pressure) {
      out.push_back({*std::move(pressure), wanted.shares});
    } else {
      result.absent.emplace_back(name, pressure.error().message);
    }
  }
  if (out.empty()) {
    return core::UsageError(
        "no pressure can be applied here: {}",
        result.absent.empty() ? "none was asked for" : result.absent.front().second);
  }
  return out;
}

}  // namespace

std::vector<core::Ratio> UsualShares(stress::PressureKind kind) {
  using Kind = stress::PressureKind;
  switch (kind) {
    case Kind::kMemoryBandwidth:
      return {0.25, 0.5, 0.75, 1};
    case Kind::kCpu:
    case Kind::kPcie:
      return {0.5, 1};
    case Kind::kLastLevelCache:
    case Kind::kDisk:
      break;
  }
  return {1};
}

core::Result<SensitivityResult> Sensitivity(const SensitivityOptions& options) {
  SensitivityResult result;
  result.name = options.run.name;
  result.command = options.run.command;
  auto prepared = PrepareAll(options, result);
  RETURN_IF_ERROR(prepared);
  std::unique_ptr<WatchWorld> here;
  if (options.watch.world == nullptr) here = ThisMachine();
  WatchWorld& world = here ? *here : *options.watch.world;
  auto run = PhasedRun::Start(options.run, options.watch, world);
  RETURN_IF_ERROR(run);
  if (options.progress) options.progress({"warming up", 0, 0});
  auto state = (*run)->WarmUp(options.watch.warmup, options.watch.at_most);
  if (state == PhasedRun::State::kRuns) {
    RETURN_IF_ERROR(Presser(options, **run, result).Run(*prepared));
    state = (*run)->state();
  }
  result.interrupted = state == PhasedRun::State::kInterrupted;
  result.measure = (*run)->Measure();
  result.steps = (*run)->TellsSteps();
  result.notes = (*run)->Notes();
  const auto code = (*run)->exit_code();
  (*run)->Stop(options.watch.grace);
  if (state == PhasedRun::State::kEnded) {
    if (code.value_or(0) != 0) {
      return core::FailedError(
          "the command ended with exit code {} after {:.1f} s; nothing can be "
          "said of it",
          *code, (*run)->Age().value);
    }
    if (result.phases.empty()) {
      return core::UsageError(
          "the command ended after {:.1f} s, before a phase was over; give it more steps, or a "
          "shorter --phase",
          (*run)->Age().value);
    }
    result.notes.emplace_back("the command ended before all phases were over");
  }
  DrawSensitivity(result);
  return result;
}

}  // namespace sharewell::measure
