#include "research/evaluate/evaluate_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/result.h"
#include "interference/interference.h"

namespace sharewell::research {
namespace {

using core::Ratio;
using predict::Colocation;
using predict::ColocationModel;
using predict::Resident;

class Sums {
 public:
  void Add(const core::Interval<Ratio>& told, Ratio measured) {
    ++out_.speeds;
    out_.mean_absolute += std::abs(told.median - measured);
    out_.bias += told.median - measured;
    if (told.low <= measured && measured <= told.high) out_.coverage += 1;
    out_.width += told.high - told.low;
  }
  SpeedErrors Mean() const {
    SpeedErrors mean = out_;
    const auto n = static_cast<double>(std::max<std::size_t>(out_.speeds, 1));
    for (double* sum : {&mean.mean_absolute, &mean.bias, &mean.coverage, &mean.width}) *sum /= n;
    return mean;
  }

 private:
  SpeedErrors out_;
};

// Who was there, with which shares.
using Who = std::multiset<std::pair<core::Workload, core::Ratio>>;

Who WhoOf(const Colocation& group) {
  Who who;
  for (const Resident& resident : group.residents) {
    who.emplace(resident.workload, resident.sm_share);
  }
  return who;
}

// A part for each key, of like sizes, drawn by the seed.
template <class Key>
std::map<Key, std::size_t> Parts(const std::set<Key>& keys, const PairOptions& options) {
  std::vector<std::pair<std::uint64_t, const Key*>> order;
  std::uint64_t rank = 0;
  for (const Key& key : keys) order.emplace_back(core::HashOf({options.seed, rank++}), &key);
  std::sort(order.begin(), order.end());
  std::map<Key, std::size_t> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    parts.emplace(*order[i].second, i % std::max<std::size_t>(options.folds, 2));
  }
  return parts;
}

SpeedErrors ModelAlone(std::span<const Colocation> groups) {
  Sums sums;
  for (const Colocation& group : groups) {
    if (group.residents.size() < 2) continue;
    for (std::size_t k = 0; k < group.residents.size(); ++k) {
      const double speed = predict::ModelledSpeed(group.residents, k);
      sums.Add({speed, speed, speed}, std::min(group.speeds[k], 1.0));
    }
  }
  return sums.Mean();
}

core::Result<SpeedErrors> Seen(std::span<const Colocation> groups,
                               std::span<const predict::UnseenSpeeds> told,
                               const PairOptions& options) {
  std::set<Who> keys;
  for (const Colocation& group : groups) keys.insert(WhoOf(group));
  const auto parts = Parts(keys, options);
  Sums sums;
  for (std::size_t part = 0; part < options.folds; ++part) {
    const auto held = [&](const Colocation& group) { return parts.at(WhoOf(group)) == part; };
    std::vector<Colocation> rest;
    std::vector<predict::UnseenSpeeds> told_of_rest;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      if (held(groups[k])) continue;
      rest.push_back(groups[k]);
      told_of_rest.push_back(told[k]);
    }
    // Nothing is learnt from what is left: there is nothing to judge, either.
    if (std::none_of(rest.begin(), rest.end(),
                     [](const Colocation& group) { return group.residents.size() > 1; })) {
      continue;
    }
    const auto together = ColocationModel::Fit(rest, told_of_rest);
    RETURN_IF_ERROR(together);
    for (const Colocation& group : groups) {
      if (!held(group) || group.residents.size() < 2) continue;
      const auto speeds = together->Speeds(group.residents);
      for (std::size_t k = 0; k < speeds.size(); ++k) {
        sums.Add(speeds[k], std::min(group.speeds[k], 1.0));
      }
    }
  }
  return sums.Mean();
}

std::set<std::string> NamesOf(const Colocation& group) {
  std::set<std::string> names;
  for (const Resident& resident : group.residents) names.insert(resident.workload.name);
  return names;
}

double Quantile(std::vector<double> values, double q) {
  return core::Quantile(std::move(values), q).value_or(0);
}

void AddRepeatNoise(std::span<const Colocation> groups, PairEvaluation& out) {
  // Repeats are of one sitting: with the same rates alone.
  using Key = std::pair<Who, std::multiset<double>>;
  std::map<Key, std::map<core::Workload, std::vector<Ratio>>> speeds;
  std::map<Key, int> times;
  for (const Colocation& group : groups) {
    if (group.residents.size() < 2) continue;
    Key key{WhoOf(group), {}};
    for (const Resident& resident : group.residents) key.second.insert(resident.step.value);
    ++times[key];
    for (std::size_t k = 0; k < group.residents.size(); ++k) {
      speeds[key][group.residents[k].workload].push_back(std::min(group.speeds[k], 1.0));
    }
  }
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [key, n] : times) {
    if (n < 2) continue;
    ++out.repeated;
    for (const auto& [who, values] : speeds.at(key)) {
      const auto all = static_cast<double>(values.size());
      double mean = 0;
      for (const Ratio value : values) mean += value / all;
      for (const Ratio value : values) {
        sum += std::abs(value - mean) * std::sqrt(all / (all - 1));
        ++count;
      }
    }
  }
  out.repeat_noise = count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

UnseenEvaluation EvaluateUnseen(std::span<const Colocation> groups,
                                std::span<const predict::UnseenSpeeds> told) {
  std::vector<std::set<std::string>> names;
  for (const Colocation& group : groups) names.push_back(NamesOf(group));
  UnseenEvaluation out;
  Sums exact;
  Sums predicted;
  double constant = 0;
  std::array<std::vector<double>, 2> sums_exact, sums_predicted;  // told, measured
  for (std::size_t c = 0; c < groups.size(); ++c) {
    const std::size_t size = told[c].of_measured.size();
    if (size == 0) continue;
    ++out.groups;
    // Bounds and the constant come from groups that have no workload in common with this one.
    std::vector<double> errors, poorer, speeds;
    for (std::size_t other = 0; other < groups.size(); ++other) {
      if (std::any_of(names[c].begin(), names[c].end(),
                      [&](const std::string& name) { return names[other].contains(name); })) {
        continue;
      }
      for (std::size_t k = 0; k < told[other].of_measured.size(); ++k) {
        const double speed = std::min(groups[other].speeds[k], 1.0);
        speeds.push_back(speed);
        errors.push_back(speed - told[other].of_measured[k]);
        if (!groups[other].predicted.empty()) {
          poorer.push_back(speed - told[other].of_predicted[k]);
        }
      }
    }
    const auto within = [](double speed, const std::vector<double>& off) {
      const auto clamped = [](double x) { return std::clamp(x, interference::kSlowest, 1.0); };
      const double wider = predict::kWiderBounds;
      return core::Interval<Ratio>{speed,
                                   clamped(speed + wider * std::min(0.0, Quantile(off, 0.05))),
                                   clamped(speed + wider * std::max(0.0, Quantile(off, 0.95)))};
    };
    const double usual = Quantile(speeds, 0.5);
    double sum = 0;
    double sum_predicted = 0;
    double sum_measured = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const double speed = std::min(groups[c].speeds[k], 1.0);
      exact.Add(within(told[c].of_measured[k], errors), speed);
      constant += std::abs(usual - speed);
      if (!groups[c].predicted.empty()) {
        predicted.Add(within(told[c].of_predicted[k], poorer), speed);
      }
      sum += told[c].of_measured[k];
      sum_predicted += told[c].of_predicted[k];
      sum_measured += speed;
    }
    if (size != 2) continue;
    sums_exact[0].push_back(sum);
    sums_exact[1].push_back(sum_measured);
    if (groups[c].predicted.empty()) continue;
    sums_predicted[0].push_back(sum_predicted);
    sums_predicted[1].push_back(sum_measured);
  }
  out.measured = exact.Mean();
  out.from_graphs = predicted.Mean();
  out.constant = out.measured.speeds > 0 ? constant / static_cast<double>(out.measured.speeds) : 0;
  if (!sums_exact[0].empty())
    out.spearman = core::Spearman(sums_exact[0], sums_exact[1]).value_or(0);
  if (!sums_predicted[0].empty()) {
    out.spearman_from_graphs = core::Spearman(sums_predicted[0], sums_predicted[1]).value_or(0);
  }
  return out;
}

core::Result<PairEvaluation> EvaluatePairs(std::span<const Colocation> groups,
                                           const PairOptions& options) {
  PairEvaluation out;
  const std::vector<Colocation> once = predict::Averaged(groups);
  const std::vector<predict::UnseenSpeeds> told = predict::PredictUnseen(once);
  out.model = ModelAlone(once);
  auto seen = Seen(once, told, options);
  RETURN_IF_ERROR(seen);
  out.seen = *seen;
  out.unseen = EvaluateUnseen(once, told);
  AddRepeatNoise(groups, out);
  return out;
}

core::Result<SpeedErrors> EvaluateNamedPairs(std::span<const NamedPair> pairs,
                                             const PairOptions& options) {
  std::map<std::string, std::vector<const NamedPair*>> by_gpu;
  for (const NamedPair& pair : pairs) by_gpu[pair.gpu].push_back(&pair);
  Sums sums;
  for (const auto& [gpu, own] : by_gpu) {
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < own.size(); ++i) places.insert(i);
    const auto parts = Parts(places, options);
    for (std::size_t part = 0; part < options.folds; ++part) {
      std::vector<predict::NamedSpeed> rest;
      for (const std::size_t i : places) {
        const NamedPair& pair = *own[i];
        if (parts.at(i) == part) continue;
        rest.push_back({pair.a, pair.b, pair.speed_a});
        if (!(pair.a == pair.b)) rest.push_back({pair.b, pair.a, pair.speed_b});
      }
      const auto together = predict::ColocationByName::Fit(std::move(rest));
      RETURN_IF_ERROR(together);
      for (const std::size_t i : places) {
        const NamedPair& pair = *own[i];
        if (parts.at(i) != part) continue;
        const double a = together->Speed(pair.a, pair.b);
        sums.Add({a, a, a}, pair.speed_a);
        if (pair.a == pair.b) continue;
        const double b = together->Speed(pair.b, pair.a);
        sums.Add({b, b, b}, pair.speed_b);
      }
    }
  }
  return sums.Mean();
}

}  // namespace sharewell::research
