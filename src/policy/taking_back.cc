#include "policy/taking_back.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::JobId;
using core::JobView;
using core::NodeId;
using core::Snapshot;

constexpr int kMostTaking = 4;          // jobs that others go for, in a decision
constexpr int kMostTakingRefused = 12;  // and that nobody goes for
constexpr core::Seconds kNextFew{1};    // until those are tried for whom that was too few
constexpr int kTakingMisses = 2;        // of a class (Line)
constexpr double kNoPart = 1e-6;        // three thirds of a GPU are one, whatever they sum to

// A ledger, and what each project has in use on it beyond its share, in GPUs: below 0 what it is
// short of. Of a GPU that several jobs share, each has an equal part (core::GpusInUse).
class Holdings {
 public:
  Holdings(const Snapshot& snapshot, Ledger ledger, std::span<const core::Ratio> shares)
      : snapshot_(&snapshot), ledger_(std::move(ledger)) {
    const std::size_t gpus = snapshot.cluster().gpu_count();
    for (const core::Ratio share : shares) beyond_.push_back(-share * static_cast<double>(gpus));
    for (std::size_t g = 0; g < gpus; ++g) Count(GpuId(g), +1);
  }

  const Ledger& ledger() const { return ledger_; }
  void Close(NodeId node) { ledger_.Close(*snapshot_, node); }
  void Vacate(JobId id) {
    const core::Allocation& from = snapshot_->job(id).allocation;
    for (const GpuId gpu : from.gpus) Count(gpu, -1);
    ledger_.Vacate(*snapshot_, id, from);
    for (const GpuId gpu : from.gpus) Count(gpu, +1);
  }
  void Occupy(JobId id, const core::Allocation& to) {
    for (const GpuId gpu : to.gpus) Count(gpu, -1);
    ledger_.Occupy(*snapshot_, id, to);
    for (const GpuId gpu : to.gpus) Count(gpu, +1);
  }
  void Return(JobId id) { Occupy(id, snapshot_->job(id).allocation); }

  bool Below(JobId id) const { return Counts(id) && beyond_[Of(id)] < -kNoPart; }
  bool Above(JobId id) const { return Counts(id) && beyond_[Of(id)] > kNoPart; }
  // GPUs that could come free at most, for all that projects may lose.
  double AtMostFreed() const {
    double sum = ledger_.idle_gpus() + kNoPart;
    for (const double gpus : beyond_) sum += std::max(0.0, gpus);
    return sum;
  }
  // Nobody who has its share on `before` is below it here.
  bool KeepsShares(const Holdings& before) const { return Keep(beyond_, before); }
  // Nor with that job there too.
  bool KeepsSharesWith(JobId id, const core::Allocation& to, const Holdings& before) const {
    std::vector<double> then = beyond_;
    for (const GpuId gpu : to.gpus) {
      const core::Residents& here = ledger_.residents(gpu);
      const double part = 1.0 / (here.count() + 1);
      for (const JobId other : here.jobs()) {
        if (Counts(other)) then[Of(other)] += part - 1.0 / here.count();
      }
      if (Counts(id)) then[Of(id)] += part;
    }
    return Keep(then, before);
  }

 private:
  static bool Keep(const std::vector<double>& beyond, const Holdings& before) {
    for (std::size_t p = 0; p < beyond.size(); ++p) {
      if (before.beyond_[p] >= -kNoPart && beyond[p] < -kNoPart) return false;
    }
    return true;
  }
  std::size_t Of(JobId id) const { return snapshot_->job(id).job.project.index(); }
  bool Counts(JobId id) const {
    return !snapshot_->job(id).job.placeholder && Of(id) < beyond_.size();
  }
  void Count(GpuId gpu, int sign) {
    const core::Residents& here = ledger_.residents(gpu);
    for (const JobId id : here.jobs()) {
      if (Counts(id)) beyond_[Of(id)] += static_cast<double>(sign) / here.count();
    }
  }

  const Snapshot* snapshot_;
  Ledger ledger_;
  std::vector<double> beyond_;  // by project
};

// It could go, as far as its time has come.
bool MayEverGo(const Snapshot& snapshot, const Holdings& now, JobId id) {
  const JobView& view = snapshot.job(id);
  if (view.cpu_only() || view.job.placeholder || !view.may_stop() || !now.Above(id)) return false;
  const auto& gpus = view.allocation.gpus;
  return std::all_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
    // It goes for another one already; or this plan does something with it, or put somebody beside
    // it, who counts on that (a guest).
    const auto here = now.ledger().residents(gpu).jobs();
    return std::find(here.begin(), here.end(), id) != here.end() &&
           std::none_of(here.begin(), here.end(),
                        [&](JobId other) { return now.ledger().planned(other); });
  });
}

struct Way {
  std::vector<JobId> stops;  // rising
  Chosen place;
};

// Who goes for one job.
class Search {
 public:
  Search(const TakeBackFrom& from, const Holdings& now, const JobView& view)
      : from_(from), view_(view), now_(now), spans_(SpansNodes()) {
    for (const auto& kept : from.kept) {
      if (kept.job == view.job.id) continue;
      for (const NodeId node : kept.nodes) now_.Close(node);
    }
    const Snapshot& snapshot = from.snapshot;
    for (const JobId id : snapshot.running()) {
      const JobView& other = snapshot.job(id);
      if (other.job.priority <= view.job.priority && MayEverGo(snapshot, now_, id) &&
          snapshot.now() >= UndisturbedUntil(other) && IsWhereItMayRun(other)) {
        may_go_.push_back(id);
      }
    }
    std::sort(may_go_.begin(), may_go_.end(), [&](JobId a, JobId b) {
      return std::pair(-snapshot.job(a).since.value, a) <
             std::pair(-snapshot.job(b).since.value, b);
    });
  }

  std::optional<Way> Find() const {
    if (may_go_.empty()) return std::nullopt;
    if (view_.job.gpus > 1 && now_.AtMostFreed() < view_.job.gpus) return std::nullopt;
    if (!CouldHelp()) return std::nullopt;
    std::vector<JobId> stops = OneAlone();
    if (stops.empty()) stops = FewestOnANode();
    if (stops.empty()) stops = FewestOf(may_go_);
    if (stops.empty()) return std::nullopt;
    std::sort(stops.begin(), stops.end());
    // On a ledger on which nothing was tried.
    Holdings then = now_;
    for (const JobId id : stops) then.Vacate(id);
    auto place = Place(then);
    if (!place) return std::nullopt;
    return Way{std::move(stops), *std::move(place)};
  }

 private:
  // Where it would be without those who are gone there, if no project falls below its share so.
  std::optional<Chosen> Place(const Holdings& without) const {
    Choice choice = from_.place(without.ledger(), view_);
    auto* chosen = std::get_if<Chosen>(&choice);
    if (chosen == nullptr || !without.KeepsSharesWith(view_.job.id, chosen->to, now_)) {
      return std::nullopt;
    }
    return std::move(*chosen);
  }
  bool IsWhereItMayRun(const JobView& other) const {
    const core::Cluster& cluster = from_.snapshot.cluster();
    const auto& gpus = other.allocation.gpus;
    return std::any_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
      return Allowed(view_, cluster.ModelOf(gpu)) && AllowedOn(cluster, view_, cluster.NodeOf(gpu));
    });
  }
  // The GPUs that it needs would be idle together, if so many more were on that node. One GPU may
  // be shared, and a gang that no node is large enough for spans them: true.
  bool MayBeEnough(NodeId node, int more) const {
    return spans_ || view_.job.gpus == 1 || now_.ledger().idle_gpus(node) + more >= view_.job.gpus;
  }
  bool SpansNodes() const {
    const core::Cluster& cluster = from_.snapshot.cluster();
    if (view_.job.gpus_a_node > 0) return true;
    for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
      const core::Node& node = cluster.nodes()[n];
      if (node.gpus >= view_.job.gpus && Allowed(view_, node.model) &&
          AllowedOn(cluster, view_, NodeId(n))) {
        return false;
      }
    }
    return true;
  }
  // Whatever became of shares: for speed, as most are refused.
  bool CouldHelp() const {
    Holdings without = now_;
    for (const JobId id : may_go_) without.Vacate(id);
    return std::holds_alternative<Chosen>(from_.place(without.ledger(), view_));
  }
  std::vector<JobId> OneAlone() const {
    Holdings without = now_;
    for (const JobId id : may_go_) {
      bool enough = false;
      Snapshot::EachNode(
          from_.snapshot.cluster(), from_.snapshot.job(id).allocation,
          [&](NodeId node, int gpus) { enough = enough || MayBeEnough(node, gpus); });
      if (!enough) continue;
      without.Vacate(id);
      if (without.KeepsShares(now_) && Place(without)) return {id};
      without.Return(id);
    }
    return {};
  }
  std::vector<JobId> FewestOnANode() const {
    const Snapshot& snapshot = from_.snapshot;
    std::set<std::pair<NodeId, std::size_t>> there;  // whom by place in may_go_
    for (std::size_t i = 0; i < may_go_.size(); ++i) {
      Snapshot::EachNode(snapshot.cluster(), snapshot.job(may_go_[i]).allocation,
                         [&](NodeId node, int) {
                           there.insert({node, i});
                         });
    }
    std::vector<JobId> fewest;
    for (auto at = there.begin(); at != there.end();) {
      std::vector<JobId> here;
      const NodeId node = at->first;
      int gpus = 0;
      for (; at != there.end() && at->first == node; ++at) {
        here.push_back(may_go_[at->second]);
        gpus += snapshot.job(here.back()).job.gpus;
      }
      if (here.size() < 2 || !MayBeEnough(node, gpus)) continue;
      std::vector<JobId> stops = FewestOf(here);
      if (!stops.empty() && (fewest.empty() || stops.size() < fewest.size())) {
        fewest = std::move(stops);
      }
    }
    return fewest;
  }
  // Of these, in their order as far as shares let them go: without those who can stay. Small ones
  // are tried first, and of equals who has run longest. Empty: it finds no place so.
  std::vector<JobId> FewestOf(const std::vector<JobId>& these) const {
    Holdings without = now_;
    std::vector<JobId> gone;
    for (const JobId id : these) {
      without.Vacate(id);
      if (without.KeepsShares(now_)) {
        gone.push_back(id);
      } else {
        without.Return(id);
      }
    }
    if (gone.empty() || !Place(without)) return {};
    std::reverse(gone.begin(), gone.end());
    std::stable_sort(gone.begin(), gone.end(), [&](JobId a, JobId b) {
      return from_.snapshot.job(a).job.gpus < from_.snapshot.job(b).job.gpus;
    });
    std::vector<JobId> stops;
    for (const JobId id : gone) {
      without.Return(id);
      if (Place(without)) continue;
      without.Vacate(id);
      stops.push_back(id);
    }
    return stops;
  }

  const TakeBackFrom& from_;
  const JobView& view_;
  Holdings now_;               // what others keep closed to it
  std::vector<JobId> may_go_;  // the youngest run first
  const bool spans_;           // several nodes, if it must
};

}  // namespace

core::Seconds UndisturbedUntil(const JobView& view) {
  return view.since +
         kRunsUndisturbed * static_cast<double>(1 << std::min(view.restarts, kMostDoublings));
}

std::optional<core::Seconds> TakeBack(const TakeBackFrom& from, const Line& line, Ledger& ledger,
                                      core::Plan& plan) {
  const Snapshot& snapshot = from.snapshot;
  if (snapshot.waiting().empty()) return std::nullopt;
  Holdings now(snapshot, ledger, from.shares);
  int taking = 0, refused = 0;
  std::optional<core::Seconds> again;
  line.Walk(snapshot, kTakingMisses, [&](JobId id) {
    const JobView& view = snapshot.job(id);
    if (ledger.planned(id) || from.dropped(id)) return true;
    if (view.paused || !now.Below(id)) return false;
    if (taking == kMostTaking) again = snapshot.now() + kNextFew;
    if (taking == kMostTaking || refused == kMostTakingRefused) return false;
    auto way = Search(from, now, view).Find();
    if (!way) {
      ++refused;
      return false;
    }
    ++taking;
    for (const JobId stop : way->stops) {
      now.Vacate(stop);
      plan.stops.push_back({stop, core::reason::Reclaimed{id}});
    }
    now.Occupy(id, way->place.to);
    ledger = now.ledger();
    plan.starts.push_back(
        {id, std::move(way->place.to), way->place.profile, core::reason::Order{}});
    return true;
  });
  if (refused == 0) return again;
  for (const JobId id : snapshot.running()) {
    const core::Seconds at = UndisturbedUntil(snapshot.job(id));
    if (at <= snapshot.now() || !MayEverGo(snapshot, now, id)) continue;
    again = again ? std::min(*again, at) : at;
  }
  return again;
}

}  // namespace sharewell::policy
