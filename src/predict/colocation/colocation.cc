#include "predict/colocation/colocation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/numbers/random.h"
#include "core/result.h"
#include "interference/fit.h"
#include "interference/interference.h"

namespace sharewell::predict {
namespace {

using core::Ratio;
using Measured = ColocationState::Measured;

// The mean of repeats errs less, but they share a sitting and a host's mood.
constexpr double kNoiseOfRepeats = 0.7;
constexpr double kUnknownRepeat = 0.1;
constexpr double kInNineOfTen = 0.9;
constexpr double kSameShare = 0.005;  // whole percents are told apart
constexpr std::size_t kLower = 0;
constexpr std::size_t kUpper = 1;

double Clamped(double speed) { return std::clamp(speed, interference::kSlowest, 1.0); }

std::vector<interference::Resident> Modelled(std::span<const Resident> residents) {
  std::vector<interference::Resident> out;
  for (const Resident& resident : residents) {
    out.push_back({{}, &resident.demand, 1, resident.sm_share});
  }
  return out;
}

std::vector<interference::MeasuredSpeeds> ForTheFit(std::span<const Colocation> groups) {
  std::vector<interference::MeasuredSpeeds> out;
  for (const Colocation& group : groups) out.push_back({Modelled(group.residents), group.speeds});
  return out;
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
    const bool limited = group.residents.size() == 1 && group.residents[0].sm_share < 1;
    if ((group.residents.size() < 2 && !limited) || group.residents.size() != group.speeds.size()) {
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
  if (std::none_of(groups.begin(), groups.end(),
                   [](const Colocation& group) { return group.residents.size() > 1; })) {
    return core::UsageError("no jobs were measured together");
  }
  return {};
}

ColocationState StateOf(std::span<const Colocation> groups) {
  ColocationState state;
  using Who = std::tuple<core::Workload, double, double, double, double, double>;
  std::map<Who, std::size_t> known;
  std::map<std::vector<std::size_t>, std::vector<std::vector<Ratio>>> repeats;
  for (const Colocation& group : groups) {
    std::vector<std::size_t> places;
    for (const Resident& resident : group.residents) {
      std::size_t place = state.residents.size();
      if (!resident.workload.name.empty()) {
        const core::Demand& d = resident.demand;
        const Who who{resident.workload,  resident.sm_share, d.busy, d.sm, d.dram,
                      resident.step.value};
        place = known.try_emplace(who, place).first->second;
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

std::set<std::string> NamesOf(const Colocation& group) {
  std::set<std::string> names;
  for (const Resident& resident : group.residents) names.insert(resident.workload.name);
  return names;
}

bool Meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

}  // namespace

std::vector<Colocation> Averaged(std::span<const Colocation> groups) {
  std::vector<Colocation> out;
  std::vector<double> times;
  for (const Colocation& group : groups) {
    const auto it = std::find_if(out.begin(), out.end(), [&](const Colocation& other) {
      return other.residents == group.residents;
    });
    const auto place = static_cast<std::size_t>(it - out.begin());
    if (it == out.end()) {
      out.push_back(group);
      times.push_back(0);
      std::fill(out.back().speeds.begin(), out.back().speeds.end(), 0);
    }
    times[place] += 1;
    for (std::size_t k = 0; k < group.speeds.size(); ++k) {
      out[place].speeds[k] += std::min(group.speeds[k], 1.0);
    }
  }
  for (std::size_t place = 0; place < out.size(); ++place) {
    for (Ratio& speed : out[place].speeds) speed /= times[place];
  }
  return out;
}

interference::Coefficients FitCoefficients(std::span<const Colocation> groups) {
  return interference::Fit(ForTheFit(groups));
}

Ratio ModelledSpeed(std::span<const Resident> residents, std::size_t i,
                    const interference::Coefficients& coefficients) {
  return interference::Interference({}, coefficients)
      .Speed(core::GpuModelId(0), Modelled(residents), i);
}

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
  if (demand.kernel_time) demand.kernel_time = *demand.kernel_time * factor();
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
    if (group.who.size() < 2) continue;
    const auto residents = ResidentsOf(out.state_, group);
    for (std::size_t k = 0; k < residents.size(); ++k) {
      if (SeenBefore(group, k)) continue;
      out.seats_.push_back(SeatOf(residents, k));
      errors.push_back(group.speeds[k] - ModelledSpeed(residents, k, out.state_.coefficients));
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
  ColocationState state = StateOf(groups);
  state.coefficients = FitCoefficients(Averaged(groups));
  return From(std::move(state));
}

core::Result<ColocationModel> ColocationModel::Fit(std::span<const Colocation> groups) {
  auto out = FitUncalibrated(groups);
  if (!out) return out;
  const std::vector<Colocation> once = Averaged(groups);
  RETURN_IF_ERROR(out->Calibrate(once, PredictUnseen(once)));
  return out;
}

core::Result<ColocationModel> ColocationModel::Fit(std::span<const Colocation> groups,
                                                   std::span<const UnseenSpeeds> unseen) {
  auto out = FitUncalibrated(groups);
  if (!out) return out;
  RETURN_IF_ERROR(out->Calibrate(groups, unseen));
  return out;
}

std::vector<UnseenSpeeds> PredictUnseen(std::span<const Colocation> groups) {
  std::vector<std::set<std::string>> names;
  for (const Colocation& group : groups) names.push_back(NamesOf(group));
  std::map<std::set<std::string>, interference::Coefficients> without;
  std::vector<UnseenSpeeds> out(groups.size());
  for (std::size_t c = 0; c < groups.size(); ++c) {
    const Colocation& group = groups[c];
    if (group.residents.size() < 2 || names[c].contains("")) continue;
    auto found = without.find(names[c]);
    if (found == without.end()) {
      std::vector<interference::MeasuredSpeeds> rest;
      for (std::size_t k = 0; k < groups.size(); ++k) {
        if (!Meet(names[k], names[c])) {
          rest.push_back({Modelled(groups[k].residents), groups[k].speeds});
        }
      }
      found = without.emplace(names[c], interference::Fit(rest)).first;
    }
    auto predicted = group.predicted;
    if (predicted.empty()) {
      for (std::size_t k = 0; k < group.residents.size(); ++k) {
        predicted.push_back(Perturbed(group.residents[k], kDemandError, core::HashOf({c, k})));
      }
    }
    for (std::size_t k = 0; k < group.residents.size(); ++k) {
      out[c].of_measured.push_back(ModelledSpeed(group.residents, k, found->second));
      out[c].of_predicted.push_back(ModelledSpeed(predicted, k, found->second));
    }
  }
  return out;
}

core::Result<void> ColocationModel::Calibrate(std::span<const Colocation> groups,
                                              std::span<const UnseenSpeeds> unseen) {
  std::vector<learn::Residual> exact;
  std::vector<learn::Residual> perturbed;
  // Nothing is kriged for a workload of another name, so all are as unsure as can be.
  const double spread = std::sqrt(1 + Prior());
  for (std::size_t c = 0; c < groups.size(); ++c) {
    for (std::size_t k = 0; k < unseen[c].of_measured.size(); ++k) {
      const double speed = std::min(groups[c].speeds[k], 1.0);
      exact.push_back({speed - unseen[c].of_measured[k], "", spread});
      perturbed.push_back({speed - unseen[c].of_predicted[k], "", spread});
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
  const double variance = errors_.Variance(alike, Prior());
  return {Clamped(ModelledSpeed(residents, i, state_.coefficients) + errors_.Mean(alike)),
          std::sqrt(1 + variance)};
}

std::vector<Ratio> ColocationModel::Found(std::span<const Resident> residents) const {
  const auto same = [](const Resident& a, const Resident& b) {
    return a.workload == b.workload && std::abs(a.sm_share - b.sm_share) < kSameShare;
  };
  std::vector<Ratio> sums(residents.size());
  double times = 0;
  for (const Measured& group : state_.groups) {
    if (group.who.size() != residents.size()) continue;
    // A workload beside itself has one speed, so each may take the first of its like.
    std::vector<bool> taken(group.who.size());
    std::vector<std::size_t> place;
    for (const Resident& resident : residents) {
      if (resident.workload.name.empty()) return {};
      std::size_t at = 0;
      while (at < taken.size() && (taken[at] || !same(state_.residents[group.who[at]], resident))) {
        ++at;
      }
      if (at == taken.size()) break;
      taken[at] = true;
      place.push_back(at);
    }
    if (place.size() != residents.size()) continue;
    for (std::size_t i = 0; i < residents.size(); ++i) {
      sums[i] += group.speeds[place[i]] * group.times;
    }
    times += group.times;
  }
  if (times == 0) return {};
  for (Ratio& sum : sums) sum /= times;
  return sums;
}

std::vector<ColocationModel::Speed> ColocationModel::Speeds(
    std::span<const Resident> residents) const {
  std::vector<Speed> out(residents.size(), {{1, 1, 1}});
  if (residents.empty() || (residents.size() == 1 && residents[0].sm_share >= 1)) return out;
  const std::vector<Ratio> found = Found(residents);
  if (!found.empty()) {
    for (std::size_t i = 0; i < residents.size(); ++i) {
      out[i] = {
          {Clamped(found[i]), Clamped(found[i] - state_.repeat), Clamped(found[i] + state_.repeat)},
          core::Source::kObserved};
    }
    return out;
  }
  const bool predicted = std::any_of(residents.begin(), residents.end(),
                                     [](const Resident& resident) { return resident.predicted; });
  const learn::Conformal& bounds = predicted ? state_.of_predicted : state_.of_measured;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    const Guess guess = GuessAt(residents, i);
    out[i] = {{guess.speed, guess.speed, guess.speed}};
    if (bounds.levels.empty()) continue;
    out[i].low = std::min(
        guess.speed, Clamped(guess.speed + kWiderBounds * bounds.Offset(kLower, "", guess.spread)));
    out[i].high = std::max(
        guess.speed, Clamped(guess.speed + kWiderBounds * bounds.Offset(kUpper, "", guess.spread)));
  }
  return out;
}

}  // namespace sharewell::predict
