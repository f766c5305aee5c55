#include "predict/colocation/colocation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "core/numbers/random.h"
#include "core/result.h"
#include "interference/interference.h"

namespace sharewell::predict {
namespace {

using core::Ratio;
using Measured = ColocationState::Measured;

constexpr std::size_t kFolds = 12;
// The mean of repeats errs less, but they share a sitting and a host's mood.
constexpr double kNoiseOfRepeats = 0.7;
constexpr double kUnknownRepeat = 0.1;
constexpr double kInNineOfTen = 0.9;
constexpr std::size_t kLower = 0;
constexpr std::size_t kUpper = 1;

double Clamped(double speed) { return std::clamp(speed, interference::kSlowest, 1.0); }

double Modelled(std::span<const Resident> residents, std::size_t i) {
  std::vector<interference::Resident> modelled;
  for (const Resident& resident : residents) modelled.push_back({{}, &resident.demand, 1});
  return interference::Interference().Speed(core::GpuModelId(0), modelled, i);
}

// One measurement: who (ascending, a workload as often as it was there) and how fast. The halves of
// a workload beside itself are the same thing twice.
std::pair<std::vector<std::size_t>, std::vector<Ratio>> Ordered(std::span<const std::size_t> places,
                                                                std::span<const Ratio> speeds) {
  std::map<std::size_t, std::vector<Ratio>> by_place;
  for (std::size_t k = 0; k < places.size(); ++k) {
    by_place[places[k]].push_back(std::min(speeds[k], 1.0));
  }
  std::pair<std::vector<std::size_t>, std::vector<Ratio>> out;
  for (const auto& [place, values] : by_place) {
    double sum = 0;
    for (const Ratio value : values) sum += value;
    for (std::size_t k = 0; k < values.size(); ++k) {
      out.first.push_back(place);
      out.second.push_back(sum / static_cast<double>(values.size()));
    }
  }
  return out;
}

// Deviations of repeats from their mean, as of single measurements from the truth.
double RepeatOf(std::vector<double> deviations) {
  if (deviations.empty()) return kUnknownRepeat;
  std::sort(deviations.begin(), deviations.end());
  const auto last = static_cast<double>(deviations.size() - 1);
  return deviations[static_cast<std::size_t>(std::ceil(kInNineOfTen * last))];
}

core::Result<void> Check(std::span<const Colocation> groups) {
  for (std::size_t c = 0; c < groups.size(); ++c) {
    const Colocation& group = groups[c];
    if (group.residents.size() < 2 || group.residents.size() != group.speeds.size()) {
      return core::UsageError(
          "co-location {}: has {} jobs and {} speeds; it needs two or more, of both", c + 1,
          group.residents.size(), group.speeds.size());
    }
    for (const Ratio speed : group.speeds) {
      if (!(speed > 0 && speed < 1e6)) {
        return core::UsageError("co-location {}: speed {} is not a number above 0", c + 1, speed);
      }
    }
  }
  if (groups.empty()) return core::UsageError("no jobs were measured together");
  return {};
}

ColocationState StateOf(std::span<const Colocation> groups) {
  ColocationState state;
  std::map<core::Workload, std::size_t> known;
  std::map<std::vector<std::size_t>, std::vector<std::vector<Ratio>>> repeats;
  for (const Colocation& group : groups) {
    std::vector<std::size_t> places;
    for (const Resident& resident : group.residents) {
      std::size_t place = state.residents.size();
      if (!resident.workload.name.empty()) {
        place = known.try_emplace(resident.workload, place).first->second;
      }
      if (place == state.residents.size()) state.residents.push_back(resident);
      places.push_back(place);
    }
    auto [who, speeds] = Ordered(places, group.speeds);
    repeats[std::move(who)].push_back(std::move(speeds));
  }
  std::vector<double> deviations;
  for (const auto& [who, runs] : repeats) {
    const auto times = static_cast<double>(runs.size());
    Measured group{who, std::vector<Ratio>(who.size()), static_cast<int>(runs.size())};
    for (std::size_t k = 0; k < who.size(); ++k) {
      for (const auto& run : runs) group.speeds[k] += run[k] / times;
      if (runs.size() == 1) continue;
      for (const auto& run : runs) {
        deviations.push_back(std::abs(run[k] - group.speeds[k]) * std::sqrt(times / (times - 1)));
      }
    }
    state.groups.push_back(std::move(group));
  }
  state.repeat = RepeatOf(std::move(deviations));
  return state;
}

std::vector<Resident> ResidentsOf(const ColocationState& state, const Measured& group) {
  std::vector<Resident> out;
  for (const std::size_t place : group.who) out.push_back(state.residents[place]);
  return out;
}

// A workload beside itself is one seat.
bool SeenBefore(const Measured& group, std::size_t k) {
  return k > 0 && group.who[k] == group.who[k - 1];
}

// Named workloads in kFolds parts of like size, by name: two batches of a model stay together.
std::map<std::string, std::size_t> FoldsOf(const ColocationState& state) {
  std::map<std::string, std::size_t> folds;
  for (const Resident& resident : state.residents) folds.emplace(resident.workload.name, 0);
  folds.erase("");
  std::size_t rank = 0;
  for (auto& [name, fold] : folds) fold = rank++ % kFolds;
  return folds;
}

}  // namespace

Resident Perturbed(Resident resident, double error, std::uint64_t seed) {
  std::uint64_t figure = 0;
  const auto factor = [&] {
    return std::exp(error * core::Normal(core::HashOf({seed, figure++})));
  };
  core::Demand& demand = resident.demand;
  demand.busy = std::min(1.0, demand.busy * factor());
  demand.sm = std::min(demand.busy, demand.sm * factor());
  demand.dram = std::min(1.0, demand.dram * factor());
  demand.cpu_cores *= factor();
  resident.step = resident.step * factor();
  resident.predicted = true;
  return resident;
}

core::Result<ColocationModel> ColocationModel::From(ColocationState state) {
  ColocationModel out;
  out.state_ = std::move(state);
  std::vector<double> errors;
  std::vector<double> noise;
  for (const Measured& group : out.state_.groups) {
    const auto residents = ResidentsOf(out.state_, group);
    for (std::size_t k = 0; k < residents.size(); ++k) {
      if (SeenBefore(group, k)) continue;
      out.seats_.push_back(SeatOf(residents, k));
      errors.push_back(group.speeds[k] - Modelled(residents, k));
      noise.push_back(group.times > 1 ? kNoiseOfRepeats : 1);
    }
  }
  const std::size_t n = out.seats_.size();
  std::vector<double> likeness(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      likeness[i * n + j] = likeness[j * n + i] = Alike(out.seats_[i], out.seats_[j]);
    }
  }
  auto kriged = Kriging::Fit(std::move(likeness), noise, errors);
  RETURN_IF_ERROR(kriged);
  out.errors_ = *std::move(kriged);
  return out;
}

core::Result<ColocationModel> ColocationModel::FitUncalibrated(std::span<const Colocation> groups) {
  RETURN_IF_ERROR(Check(groups));
  return From(StateOf(groups));
}

core::Result<ColocationModel> ColocationModel::Fit(std::span<const Colocation> groups) {
  auto out = FitUncalibrated(groups);
  if (!out) return out;
  RETURN_IF_ERROR(out->Calibrate());
  return out;
}

core::Result<void> ColocationModel::Calibrate() {
  const auto folds = FoldsOf(state_);
  std::vector<learn::Residual> exact;
  std::vector<learn::Residual> perturbed;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto held = [&](std::size_t place) {
      const auto it = folds.find(state_.residents[place].workload.name);
      return it != folds.end() && it->second == fold;
    };
    ColocationState rest{state_.residents, {}, {}, {}, 0};
    std::vector<const Measured*> judges;
    for (const Measured& group : state_.groups) {
      if (std::any_of(group.who.begin(), group.who.end(), held)) {
        judges.push_back(&group);
      } else {
        rest.groups.push_back(group);
      }
    }
    const auto others = From(std::move(rest));
    RETURN_IF_ERROR(others);
    for (std::size_t c = 0; c < judges.size(); ++c) {
      const Measured& group = *judges[c];
      const auto residents = ResidentsOf(state_, group);
      auto predicted = residents;
      for (std::size_t k = 0; k < residents.size(); ++k) {
        predicted[k] = Perturbed(residents[k], kDemandError, core::HashOf({fold, c, k}));
      }
      for (std::size_t k = 0; k < residents.size(); ++k) {
        if (!held(group.who[k]) || SeenBefore(group, k)) continue;
        const Guess guess = others->GuessAt(residents, k);
        exact.push_back({group.speeds[k] - guess.speed, "", guess.spread});
        const Guess poorer = others->GuessAt(predicted, k);
        perturbed.push_back({group.speeds[k] - poorer.speed, "", poorer.spread});
      }
    }
  }
  // Nobody has a name: nobody can be left out. Then the answers have no bounds.
  if (exact.empty()) return {};
  learn::ConformalOptions options;
  options.levels = {0.05, 0.95};
  options.by_family = false;
  auto measured = learn::Calibrate(exact, options);
  RETURN_IF_ERROR(measured);
  auto predicted = learn::Calibrate(perturbed, options);
  RETURN_IF_ERROR(predicted);
  state_.of_measured = *std::move(measured);
  state_.of_predicted = *std::move(predicted);
  return {};
}

ColocationModel::Guess ColocationModel::GuessAt(std::span<const Resident> residents,
                                                std::size_t i) const {
  const Seat seat = SeatOf(residents, i);
  std::vector<double> alike;
  for (const Seat& measured : seats_) alike.push_back(Alike(measured, seat));
  const double variance = errors_.Variance(alike, Alike(seat, seat));
  return {Clamped(Modelled(residents, i) + errors_.Mean(alike)), std::sqrt(1 + variance)};
}

const Measured* ColocationModel::Find(std::span<const Resident> residents,
                                      std::vector<std::size_t>& places) const {
  places.clear();
  for (const Resident& resident : residents) {
    if (resident.workload.name.empty()) return nullptr;
    const auto it =
        std::find_if(state_.residents.begin(), state_.residents.end(),
                     [&](const Resident& r) { return r.workload == resident.workload; });
    if (it == state_.residents.end()) return nullptr;
    places.push_back(static_cast<std::size_t>(it - state_.residents.begin()));
  }
  auto who = places;
  std::sort(who.begin(), who.end());
  const auto it = std::find_if(state_.groups.begin(), state_.groups.end(),
                               [&](const Measured& group) { return group.who == who; });
  return it == state_.groups.end() ? nullptr : &*it;
}

std::vector<ColocationModel::Speed> ColocationModel::Speeds(
    std::span<const Resident> residents) const {
  std::vector<Speed> out(residents.size());
  if (residents.size() < 2) return out;
  std::vector<std::size_t> places;
  if (const Measured* group = Find(residents, places)) {
    for (std::size_t i = 0; i < residents.size(); ++i) {
      const auto at = std::find(group->who.begin(), group->who.end(), places[i]);
      const double speed = group->speeds[static_cast<std::size_t>(at - group->who.begin())];
      out[i] = {Clamped(speed - state_.repeat), Clamped(speed), Clamped(speed + state_.repeat),
                true};
    }
    return out;
  }
  const bool predicted = std::any_of(residents.begin(), residents.end(),
                                     [](const Resident& resident) { return resident.predicted; });
  const learn::Conformal& bounds = predicted ? state_.of_predicted : state_.of_measured;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    const Guess guess = GuessAt(residents, i);
    out[i] = {guess.speed, guess.speed, guess.speed, false};
    if (bounds.levels.empty()) continue;
    out[i].p05 =
        std::min(guess.speed, Clamped(guess.speed + bounds.Offset(kLower, "", guess.spread)));
    out[i].p95 =
        std::max(guess.speed, Clamped(guess.speed + bounds.Offset(kUpper, "", guess.spread)));
  }
  return out;
}

}  // namespace sharewell::predict
