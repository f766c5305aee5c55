#include "study/prediction/evaluate/evaluate_pairs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/numbers/random.h"
#include "core/result.h"
#include "interference/interference.h"

namespace sharewell::study {
namespace {

using core::Ratio;
using predict::Colocation;
using predict::ColocationModel;
using predict::Resident;

class Sums {
 public:
  void Add(const ColocationModel::Speed& told, Ratio measured) {
    ++out_.speeds;
    out_.mean_absolute += std::abs(told.p50 - measured);
    out_.bias += told.p50 - measured;
    if (told.p05 <= measured && measured <= told.p95) out_.coverage += 1;
    out_.width += told.p95 - told.p05;
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

using Who = std::multiset<core::Workload>;

Who WhoOf(const Colocation& group) {
  Who who;
  for (const Resident& resident : group.residents) who.insert(resident.workload);
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

// Co-locations of two, repeats averaged: the state of a fit has them so.
std::vector<Colocation> Pairs(const predict::ColocationState& state) {
  std::vector<Colocation> pairs;
  for (const auto& group : state.groups) {
    if (group.who.size() != 2) continue;
    pairs.push_back({{state.residents[group.who[0]], state.residents[group.who[1]]}, group.speeds});
  }
  return pairs;
}

bool BesideItself(const Colocation& pair) {
  return pair.residents[0].workload == pair.residents[1].workload;
}

SpeedErrors ModelAlone(std::span<const Colocation> pairs) {
  Sums sums;
  const interference::Interference model;
  for (const Colocation& pair : pairs) {
    const std::vector<interference::Resident> both{{{}, &pair.residents[0].demand, 1},
                                                   {{}, &pair.residents[1].demand, 1}};
    for (std::size_t k = 0; k < (BesideItself(pair) ? 1U : 2U); ++k) {
      const double speed = model.Speed(core::GpuModelId(0), both, k);
      sums.Add({speed, speed, speed, false}, pair.speeds[k]);
    }
  }
  return sums.Mean();
}

core::Result<SpeedErrors> Seen(std::span<const Colocation> groups,
                               std::span<const Colocation> pairs, const PairOptions& options) {
  std::set<Who> keys;
  for (const Colocation& group : groups) keys.insert(WhoOf(group));
  const auto parts = Parts(keys, options);
  Sums sums;
  for (std::size_t part = 0; part < options.folds; ++part) {
    const auto held = [&](const Colocation& group) { return parts.at(WhoOf(group)) == part; };
    std::vector<Colocation> rest;
    std::copy_if(groups.begin(), groups.end(), std::back_inserter(rest), std::not_fn(held));
    const auto together = ColocationModel::Fit(rest);
    RETURN_IF_ERROR(together);
    for (const Colocation& pair : pairs) {
      if (!held(pair)) continue;
      const auto speeds = together->Speeds(pair.residents);
      for (std::size_t k = 0; k < (BesideItself(pair) ? 1U : 2U); ++k) {
        sums.Add(speeds[k], pair.speeds[k]);
      }
    }
  }
  return sums.Mean();
}

// Workloads are held out by name, a part at a time: other batches of a model tell too much.
core::Result<void> Unseen(std::span<const Colocation> groups, std::span<const Colocation> pairs,
                          const PairOptions& options, PairEvaluation& out) {
  std::set<std::string> names;
  for (const Colocation& group : groups) {
    for (const Resident& resident : group.residents) names.insert(resident.workload.name);
  }
  const auto parts = Parts(names, options);
  Sums exact;
  Sums predicted;
  for (std::size_t part = 0; part < options.folds; ++part) {
    const auto held = [&](const Resident& resident) {
      return parts.at(resident.workload.name) == part;
    };
    std::vector<Colocation> rest;
    for (const Colocation& group : groups) {
      if (std::none_of(group.residents.begin(), group.residents.end(), held)) {
        rest.push_back(group);
      }
    }
    const auto together = ColocationModel::Fit(rest);
    RETURN_IF_ERROR(together);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Colocation& pair = pairs[i];
      auto perturbed = pair.residents;
      for (std::size_t k = 0; k < 2; ++k) {
        perturbed[k] = predict::Perturbed(perturbed[k], predict::kDemandError,
                                          core::HashOf({options.seed, i, k}));
      }
      const auto speeds = together->Speeds(pair.residents);
      const auto poorer = together->Speeds(perturbed);
      for (std::size_t k = 0; k < (BesideItself(pair) ? 1U : 2U); ++k) {
        if (!held(pair.residents[k])) continue;
        exact.Add(speeds[k], pair.speeds[k]);
        predicted.Add(poorer[k], pair.speeds[k]);
      }
    }
  }
  out.unseen = exact.Mean();
  out.unseen_predicted = predicted.Mean();
  return {};
}

void AddRepeatNoise(std::span<const Colocation> groups, PairEvaluation& out) {
  std::map<std::vector<core::Workload>, std::vector<Ratio>> speeds;  // the job, then its neighbour
  std::map<Who, int> times;
  for (const Colocation& group : groups) {
    if (group.residents.size() != 2) continue;
    ++times[WhoOf(group)];
    for (std::size_t k = 0; k < 2; ++k) {
      speeds[{group.residents[k].workload, group.residents[1 - k].workload}].push_back(
          std::min(group.speeds[k], 1.0));
    }
  }
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [who, values] : speeds) {
    if (times.at(Who(who.begin(), who.end())) < 2) continue;
    const auto n = static_cast<double>(values.size());
    double mean = 0;
    for (const Ratio value : values) mean += value / n;
    for (const Ratio value : values) {
      sum += std::abs(value - mean) * std::sqrt(n / (n - 1));
      ++count;
    }
  }
  for (const auto& [who, n] : times) out.repeated += n > 1 ? 1 : 0;
  out.repeat_noise = count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

core::Result<PairEvaluation> EvaluatePairs(std::span<const Colocation> groups,
                                           const PairOptions& options) {
  const auto all = ColocationModel::FitUncalibrated(groups);
  RETURN_IF_ERROR(all);
  const auto pairs = Pairs(all->state());
  PairEvaluation out;
  out.model = ModelAlone(pairs);
  auto seen = Seen(groups, pairs, options);
  RETURN_IF_ERROR(seen);
  out.seen = *seen;
  RETURN_IF_ERROR(Unseen(groups, pairs, options, out));
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
        sums.Add({a, a, a, false}, pair.speed_a);
        if (pair.a == pair.b) continue;
        const double b = together->Speed(pair.b, pair.a);
        sums.Add({b, b, b, false}, pair.speed_b);
      }
    }
  }
  return sums.Mean();
}

}  // namespace sharewell::study
