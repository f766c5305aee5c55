#include "server/learn/pair_memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/gpu_model.h"

namespace sharewell::server {
namespace {

constexpr std::size_t kMostRunsHere = 10'000;
constexpr std::size_t kMostWorkloadsInPairs = 512;  // the table is square

bool IsMeant(const core::Workload& measured, const core::Workload& by) {
  return measured.name == by.name && (by.batch == 0 || by.batch == measured.batch) &&
         (by.precision.empty() || by.precision == measured.precision) &&
         (by.workers == 0 || by.workers == measured.workers);
}

std::optional<core::GpuModelId> ModelNamed(const core::Cluster& cluster, const std::string& name) {
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (core::IsNamed(cluster.models()[m], name)) return core::GpuModelId(m);
  }
  return std::nullopt;
}

}  // namespace

PairMemory::PairMemory(const core::Cluster& cluster, const core::Measurements& builtin,
                       std::size_t most_keys)
    : cluster_(cluster), builtin_(builtin), most_keys_(most_keys), forget_at_(most_keys) {}

core::WorkloadId PairMemory::IdOf(const KeyDigest& key) {
  auto known = ids_.find(key);
  if (known == ids_.end()) {
    if (ids_.size() >= forget_at_) ForgetKeys();
    known = ids_.emplace(key, Known{core::WorkloadId(given_++), 0}).first;
  }
  known->second.met = ++clock_;
  return known->second.id;
}

// Half of those without a pair, so that this is rare. Ids are not given again: a job under an old
// one is of no known workload from then on, but never taken for another.
void PairMemory::ForgetKeys() {
  std::set<core::WorkloadId> paired;
  for (const Pair& pair : here_) paired.insert({pair.a, pair.b});
  for (const auto& [id, workload] : named_) paired.insert(id);
  std::vector<std::uint64_t> met;
  for (const auto& [key, known] : ids_) {
    if (!paired.contains(known.id)) met.push_back(known.met);
  }
  if (!met.empty()) {
    const auto middle = met.begin() + static_cast<std::ptrdiff_t>(met.size() / 2);
    std::nth_element(met.begin(), middle, met.end());
    std::erase_if(ids_, [&](const auto& entry) {
      return entry.second.met < *middle && !paired.contains(entry.second.id);
    });
  }
  forget_at_ = ids_.size() + std::max<std::size_t>(most_keys_ / 2, 1);
}

bool PairMemory::Name(core::WorkloadId id, const core::Workload& workload) {
  if (workload.name.empty()) return false;
  const auto known = std::find_if(named_.begin(), named_.end(),
                                  [&](const auto& entry) { return entry.first == id; });
  if (known != named_.end()) return false;
  const bool in_pair = std::any_of(
      builtin_.pairs.begin(), builtin_.pairs.end(),
      [&](const auto& pair) { return IsMeant(pair.a, workload) || IsMeant(pair.b, workload); });
  if (!in_pair) return false;
  if (named_.size() >= kMostWorkloadsInPairs / 2) named_.erase(named_.begin());
  named_.emplace_back(id, workload);
  return true;
}

void PairMemory::Add(const core::SharedRun& run) {
  if (!run.IsMeasured()) return;
  const auto model = ModelNamed(cluster_, run.gpu_model);
  if (!model) return;  // a GPU that was here once
  if (here_.size() >= kMostRunsHere) DropOldest();
  auto both = std::minmax(run.user_a, run.user_b);
  const auto [at, fresh] = users_at_.try_emplace({both.first, both.second}, users_.size());
  if (fresh) users_.push_back({both.first, both.second, 0});
  ++users_[at->second].runs;
  here_.push_back({*model, IdOf(OwnedDigest(run.user_a, run.a)),
                   IdOf(OwnedDigest(run.user_b, run.b)), run.speed_a, run.speed_b, run.fits,
                   run.sm_share_a, run.sm_share_b, at->second});
}

void PairMemory::DropOldest() {
  const auto most = std::max_element(
      users_.begin(), users_.end(), [](const Users& a, const Users& b) { return a.runs < b.runs; });
  const auto index = static_cast<std::size_t>(most - users_.begin());
  const auto oldest = std::find_if(here_.begin(), here_.end(),
                                   [&](const Pair& pair) { return pair.users == index; });
  if (oldest == here_.end()) return;
  here_.erase(oldest);
  --most->runs;
}

void PairMemory::Forget(const std::string& user) {
  std::erase_if(here_, [&](const Pair& pair) {
    Users& users = users_[pair.users];
    const bool theirs = users.first == user || users.second == user;
    if (theirs) --users.runs;
    return theirs;
  });
}

void PairMemory::AddBuiltin(std::vector<Pair>& pairs) const {
  std::map<core::Workload, double> alone;
  std::optional<core::GpuModelId> model;
  for (const core::Profile& profile : builtin_.profiles) {
    if (!model) model = ModelNamed(cluster_, profile.gpu);
    if (profile.steps_per_second) alone.emplace(profile.workload, *profile.steps_per_second);
  }
  if (!model) return;
  const auto rate = [&](const core::Workload& workload, const std::optional<double>& own) {
    const auto it = alone.find(workload);
    return own ? *own : it == alone.end() ? 0 : it->second;
  };
  for (const core::PairMeasurement& pair : builtin_.pairs) {
    const double alone_a = rate(pair.a, pair.alone_a);
    const double alone_b = rate(pair.b, pair.alone_b);
    if (pair.fits && (alone_a <= 0 || alone_b <= 0)) continue;
    for (const auto& [a, name_a] : named_) {
      if (!IsMeant(pair.a, name_a)) continue;
      for (const auto& [b, name_b] : named_) {
        if (!IsMeant(pair.b, name_b)) continue;
        pairs.push_back({*model, a, b, pair.fits ? pair.steps_per_second_a / alone_a : 0,
                         pair.fits ? pair.steps_per_second_b / alone_b : 0, pair.fits, 1, 1, 0});
      }
    }
  }
}

// The newest of each two users, then the next of each, and so on: the table has room for some, and
// one user's many must not leave none for the others.
std::vector<const PairMemory::Pair*> PairMemory::InTurn() const {
  std::vector<std::size_t> met(users_.size());
  std::vector<std::pair<std::size_t, const Pair*>> ranked;
  ranked.reserve(here_.size());
  for (auto it = here_.rbegin(); it != here_.rend(); ++it) {
    ranked.emplace_back(met[it->users]++, &*it);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Pair*> out;
  for (const auto& [rank, pair] : ranked) out.push_back(pair);
  return out;
}

interference::PairTable PairMemory::Table() const {
  std::vector<Pair> pairs;
  std::set<std::tuple<core::GpuModelId, core::WorkloadId, core::WorkloadId>> seen_here;
  std::set<core::WorkloadId> used;
  const auto use = [&](const Pair& pair) {
    const std::size_t more = (used.contains(pair.a) ? 0U : 1U) + (used.contains(pair.b) ? 0U : 1U);
    if (used.size() + more > kMostWorkloadsInPairs) return false;
    used.insert({pair.a, pair.b});
    return true;
  };
  using Both =
      std::tuple<core::GpuModelId, core::WorkloadId, core::WorkloadId, core::Ratio, core::Ratio>;
  std::map<Both, Measured> measured;
  for (const Pair* it : InTurn()) {
    if (!use(*it)) continue;
    // What we carry was measured with all SMs: with fewer it is another pair.
    if (it->share_a >= 1 && it->share_b >= 1) {
      seen_here.insert({it->model, it->a, it->b});
      seen_here.insert({it->model, it->b, it->a});
    }
    if (!it->fits) {
      pairs.push_back(*it);
      continue;
    }
    // Either may come first.
    const bool turn = std::tie(it->b, it->share_b) < std::tie(it->a, it->share_a);
    Pair pair = *it;
    if (turn) {
      std::swap(pair.a, pair.b);
      std::swap(pair.speed_a, pair.speed_b);
      std::swap(pair.share_a, pair.share_b);
    }
    measured[{pair.model, pair.a, pair.b, pair.share_a, pair.share_b}].Add(pair);
  }
  for (const auto& [both, all] : measured) pairs.push_back(all.Taken());
  std::vector<Pair> carried;
  AddBuiltin(carried);
  for (const Pair& pair : carried) {
    if (!seen_here.contains({pair.model, pair.a, pair.b}) && use(pair)) pairs.push_back(pair);
  }
  const std::vector<core::WorkloadId> ids(used.begin(), used.end());
  interference::PairTable table(cluster_.models().size(), ids);
  for (const Pair& pair : pairs) {
    if (pair.fits) {
      table.Add(pair.model, pair.a, pair.b, pair.speed_a, pair.speed_b, pair.share_a, pair.share_b);
    } else {
      table.AddUnfit(pair.model, pair.a, pair.b);
    }
  }
  return table;
}

void PairMemory::Measured::Add(const Pair& pair) {
  if (!std::exchange(any, true)) newest = pair;
  a.Add(pair.speed_a);
  b.Add(pair.speed_b);
}

void PairMemory::Measured::Mean::Add(std::optional<core::Ratio> speed) {
  if (!speed) return;
  if (count++ == 0) newest = speed;
  sum += std::min(*speed, 1.0);
}

std::optional<core::Ratio> PairMemory::Measured::Mean::Taken() const {
  return newest ? std::optional(std::min(*newest, sum / count)) : std::nullopt;
}

PairMemory::Pair PairMemory::Measured::Taken() const {
  Pair pair = newest;
  pair.speed_a = a.Taken();
  pair.speed_b = b.Taken();
  return pair;
}

}  // namespace sharewell::server
