#include "predict/together.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "core/random.h"
#include "interference/interference.h"

namespace sharewell::predict {
namespace {

using core::Ratio;
using Measured = TogetherState::Measured;

constexpr std::size_t kGroups = 12;
// The mean of repeats errs less, but they share a sitting and a host's mood.
constexpr double kNoiseOfRepeats = 0.7;
constexpr double kUnknownRepeat = 0.1;
constexpr double kInNineOfTen = 0.9;
constexpr std::size_t kLower = 0;
constexpr std::size_t kUpper = 1;

double Clamped(double speed) { return std::clamp(speed, interference::kSlowest, 1.0); }

double Modelled(std::span<const Resident> residents, std::size_t i) {
  std::vector<interference::Tenant> tenants;
  for (const Resident& resident : residents) tenants.push_back({{}, &resident.demand, 1});
  return interference::Interference().Speed(core::GpuModelId(0), tenants, i);
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

core::Result<void> Check(std::span<const Company> companies) {
  for (std::size_t c = 0; c < companies.size(); ++c) {
    const Company& company = companies[c];
    if (company.residents.size() < 2 || company.residents.size() != company.speeds.size()) {
      return core::UsageError(
          "company {}: has {} jobs and {} speeds; it needs two or more, of both", c + 1,
          company.residents.size(), company.speeds.size());
    }
    for (const Ratio speed : company.speeds) {
      if (!(speed > 0 && speed < 1e6)) {
        return core::UsageError("company {}: speed {} is not a number above 0", c + 1, speed);
      }
    }
  }
  if (companies.empty()) return core::UsageError("no jobs were measured together");
  return {};
}

TogetherState StateOf(std::span<const Company> companies) {
  TogetherState state;
  std::map<core::Workload, std::size_t> known;
  std::map<std::vector<std::size_t>, std::vector<std::vector<Ratio>>> repeats;
  for (const Company& company : companies) {
    std::vector<std::size_t> places;
    for (const Resident& resident : company.residents) {
      std::size_t place = state.residents.size();
      if (!resident.workload.name.empty()) {
        place = known.try_emplace(resident.workload, place).first->second;
      }
      if (place == state.residents.size()) state.residents.push_back(resident);
      places.push_back(place);
    }
    auto [who, speeds] = Ordered(places, company.speeds);
    repeats[std::move(who)].push_back(std::move(speeds));
  }
  std::vector<double> deviations;
  for (const auto& [who, runs] : repeats) {
    const auto times = static_cast<double>(runs.size());
    Measured company{who, std::vector<Ratio>(who.size()), static_cast<int>(runs.size())};
    for (std::size_t k = 0; k < who.size(); ++k) {
      for (const auto& run : runs) company.speeds[k] += run[k] / times;
      if (runs.size() == 1) continue;
      for (const auto& run : runs) {
        deviations.push_back(std::abs(run[k] - company.speeds[k]) * std::sqrt(times / (times - 1)));
      }
    }
    state.companies.push_back(std::move(company));
  }
  state.repeat = RepeatOf(std::move(deviations));
  return state;
}

std::vector<Resident> ResidentsOf(const TogetherState& state, const Measured& company) {
  std::vector<Resident> out;
  for (const std::size_t place : company.who) out.push_back(state.residents[place]);
  return out;
}

// A workload beside itself is one seat.
bool SeenBefore(const Measured& company, std::size_t k) {
  return k > 0 && company.who[k] == company.who[k - 1];
}

// Named workloads in kGroups parts of like size, by name: two batches of a model stay together.
std::map<std::string, std::size_t> GroupsOf(const TogetherState& state) {
  std::map<std::string, std::size_t> groups;
  for (const Resident& resident : state.residents) groups.emplace(resident.workload.name, 0);
  groups.erase("");
  std::size_t rank = 0;
  for (auto& [name, group] : groups) group = rank++ % kGroups;
  return groups;
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

core::Result<Together> Together::From(TogetherState state) {
  Together out;
  out.state_ = std::move(state);
  std::vector<double> errors;
  std::vector<double> noise;
  for (const Measured& company : out.state_.companies) {
    const auto residents = ResidentsOf(out.state_, company);
    for (std::size_t k = 0; k < residents.size(); ++k) {
      if (SeenBefore(company, k)) continue;
      out.seats_.push_back(SeatOf(residents, k));
      errors.push_back(company.speeds[k] - Modelled(residents, k));
      noise.push_back(company.times > 1 ? kNoiseOfRepeats : 1);
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
  if (!kriged) return tl::unexpected(kriged.error());
  out.errors_ = *std::move(kriged);
  return out;
}

core::Result<Together> Together::FitUncalibrated(std::span<const Company> companies) {
  if (auto ok = Check(companies); !ok) return tl::unexpected(ok.error());
  return From(StateOf(companies));
}

core::Result<Together> Together::Fit(std::span<const Company> companies) {
  auto out = FitUncalibrated(companies);
  if (!out) return out;
  if (auto ok = out->Calibrate(); !ok) return tl::unexpected(ok.error());
  return out;
}

core::Result<void> Together::Calibrate() {
  const auto groups = GroupsOf(state_);
  std::vector<learn::Residual> exact;
  std::vector<learn::Residual> perturbed;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto held = [&](std::size_t place) {
      const auto it = groups.find(state_.residents[place].workload.name);
      return it != groups.end() && it->second == group;
    };
    TogetherState rest{state_.residents, {}, {}, {}, 0};
    std::vector<const Measured*> judges;
    for (const Measured& company : state_.companies) {
      if (std::any_of(company.who.begin(), company.who.end(), held)) {
        judges.push_back(&company);
      } else {
        rest.companies.push_back(company);
      }
    }
    const auto others = From(std::move(rest));
    if (!others) return tl::unexpected(others.error());
    for (std::size_t c = 0; c < judges.size(); ++c) {
      const Measured& company = *judges[c];
      const auto residents = ResidentsOf(state_, company);
      auto predicted = residents;
      for (std::size_t k = 0; k < residents.size(); ++k) {
        predicted[k] = Perturbed(residents[k], kDemandError, core::HashOf({group, c, k}));
      }
      for (std::size_t k = 0; k < residents.size(); ++k) {
        if (!held(company.who[k]) || SeenBefore(company, k)) continue;
        const Guess guess = others->GuessAt(residents, k);
        exact.push_back({company.speeds[k] - guess.speed, "", guess.spread});
        const Guess poorer = others->GuessAt(predicted, k);
        perturbed.push_back({company.speeds[k] - poorer.speed, "", poorer.spread});
      }
    }
  }
  // Nobody has a name: nobody can be left out. Then the answers have no bounds.
  if (exact.empty()) return {};
  learn::ConformalOptions options;
  options.levels = {0.05, 0.95};
  options.by_family = false;
  auto measured = learn::Calibrate(exact, options);
  if (!measured) return tl::unexpected(measured.error());
  auto predicted = learn::Calibrate(perturbed, options);
  if (!predicted) return tl::unexpected(predicted.error());
  state_.of_measured = *std::move(measured);
  state_.of_predicted = *std::move(predicted);
  return {};
}

Together::Guess Together::GuessAt(std::span<const Resident> residents, std::size_t i) const {
  const Seat seat = SeatOf(residents, i);
  std::vector<double> alike;
  for (const Seat& measured : seats_) alike.push_back(Alike(measured, seat));
  const double variance = errors_.Variance(alike, Alike(seat, seat));
  return {Clamped(Modelled(residents, i) + errors_.Mean(alike)), std::sqrt(1 + variance)};
}

const Measured* Together::Find(std::span<const Resident> residents,
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
  const auto it = std::find_if(state_.companies.begin(), state_.companies.end(),
                               [&](const Measured& company) { return company.who == who; });
  return it == state_.companies.end() ? nullptr : &*it;
}

std::vector<Together::Speed> Together::Speeds(std::span<const Resident> residents) const {
  std::vector<Speed> out(residents.size());
  if (residents.size() < 2) return out;
  std::vector<std::size_t> places;
  if (const Measured* company = Find(residents, places)) {
    for (std::size_t i = 0; i < residents.size(); ++i) {
      const auto at = std::find(company->who.begin(), company->who.end(), places[i]);
      const double speed = company->speeds[static_cast<std::size_t>(at - company->who.begin())];
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
