#include "policy/placement/share.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "policy/colocation.h"
#include "policy/foresight.h"
#include "policy/host_room.h"
#include "policy/order/drain.h"
#include "policy/placement/guests.h"
#include "policy/placement/neighbours.h"
#include "policy/placement/sm_shares.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::GpuModelId;
using core::JobView;
using core::Reason;
namespace reason = core::reason;

constexpr std::size_t kCandidates = 16;
constexpr double kLong = 60;  // seconds: nobody calls less long
constexpr std::size_t kMostGpusForeseen = 1024;
constexpr core::Seconds kProfileUnknown{60};

class Share : public Placement {
 public:
  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<NeighbourScratch>();
  }

  Choice Place(const Context& context, const JobView& view) const override {
    if (auto to = OnFastestIdle(context, view)) {
      const double left = ExpectedRemaining(context.snapshot, view);
      // A length that nobody knows is no reason to give to anybody.
      const bool tail =
          view.estimate.duration && left >= kLong && left >= DrainTail(context.snapshot);
      const auto model = context.snapshot.cluster().ModelOf(to->gpus.front());
      const bool unknown = MayShare(view) && !view.estimate.On(model).demand.known;
      const IdleShare share = ShareOnIdle(context, view, model);
      to->sm_share = share.sm_share;
      return Chosen{std::move(*to),
                    tail ? Reason(reason::Tail{share.room_for, core::Seconds(left)})
                         : Reason(reason::IdleGpu{share.room_for}),
                    unknown && !view.profiled ? std::optional(kProfileUnknown) : std::nullopt};
    }
    if (!MayShare(view)) return reason::NoIdleGpu{};
    if (MayBeGuest(context, view, GpuModelId(0))) {
      std::vector<GpuId> among = WorthTrying(context, view);
      if (context.kept_gpu.valid()) among.push_back(context.kept_gpu);
      auto guest = PlaceGuest(context, view, among);
      return guest ? Choice(*std::move(guest)) : Choice(reason::NoPlaceForGuest{});
    }
    Best best;
    for (GpuId gpu : WorthTrying(context, view)) {
      if (!Refused(context, gpu, best)) Consider(context, view, gpu, best);
    }
    if (best.chosen) return *std::move(best.chosen);
    return reason::NoGoodNeighbour{};
  }

  void Rearrange(const Context& context, core::Plan& plan) const override {
    MoveKnownGuests(context, plan);
  }
  GpuId KeepsForGuest(const Context& context) const override { return KeptForGuest(context); }
  bool MayOpen(const Context& context, const JobView& view,
               std::span<const core::NodeId> nodes) const override {
    const auto& cluster = context.snapshot.cluster();
    const Ledger& ledger = context.ledger;
    // Of several models, when one is free decides about waiting for it, and kept nodes do not
    // count.
    if (cluster.models().size() > 1) return true;
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](core::NodeId node) { return ledger.idle_gpus(node) > 0; })) {
      return true;
    }
    if (!MayShare(view)) return false;
    const auto suits = [&](GpuId gpu) {
      return ledger.has_room(gpu) && MemorySuffices(context, view, gpu);
    };
    if (view.since != context.snapshot.now()) {
      return std::any_of(context.changed.begin(), context.changed.end(), [&](GpuId gpu) {
        return suits(gpu) &&
               std::find(nodes.begin(), nodes.end(), cluster.NodeOf(gpu)) != nodes.end();
      });
    }
    return std::any_of(nodes.begin(), nodes.end(), [&](core::NodeId id) {
      const core::Node& node = cluster.node(id);
      for (int k = 0; k < node.gpus; ++k) {
        if (suits(GpuId(node.first_gpu.index() + static_cast<std::size_t>(k)))) return true;
      }
      return false;
    });
  }

 private:
  // The least loaded GPUs of one that is new; of another those on which something changed.
  static std::vector<GpuId> WorthTrying(const Context& context, const JobView& view) {
    std::vector<GpuId> gpus;
    if (view.since == context.snapshot.now()) {
      for (std::size_t m = 0; m < context.snapshot.cluster().models().size(); ++m) {
        const auto least = context.ledger.LeastLoaded(GpuModelId(m), kCandidates);
        gpus.insert(gpus.end(), least.begin(), least.end());
      }
      std::erase(gpus, context.kept_gpu);
      return gpus;
    }
    for (GpuId gpu : context.changed) {
      if (!context.ledger.open(context.snapshot, gpu) || gpu == context.kept_gpu) continue;
      gpus.push_back(gpu);
      if (gpus.size() == kCandidates) break;
    }
    return gpus;
  }

  struct Best {
    std::optional<Chosen> chosen;
    double gain = 0;
  };

  // It was, a moment ago, and nothing has changed there since. Where another was found meanwhile it
  // is measured against that one.
  static bool Refused(const Context& context, GpuId gpu, const Best& best) {
    const auto& opened = context.opened;
    if (opened.empty() || best.chosen) return false;
    const core::NodeId node = context.snapshot.cluster().NodeOf(gpu);
    return std::find(opened.begin(), opened.end(), node) == opened.end();
  }

  static bool MemorySuffices(const Context& context, const JobView& view, GpuId gpu) {
    const auto& cluster = context.snapshot.cluster();
    return context.ledger.memory_upper(gpu) + view.estimate.gpu_memory_upper <=
           cluster.model(cluster.ModelOf(gpu)).memory;
  }

  // On the fastest model that has idle GPUs, unless the job would be done sooner by waiting for a
  // faster one.
  static std::optional<core::Allocation> OnFastestIdle(const Context& context,
                                                       const JobView& view) {
    if (context.ledger.idle_gpus() < view.job.gpus) return std::nullopt;
    const auto& snapshot = context.snapshot;
    if (snapshot.cluster().models().size() == 1) return OnIdleGpus(context, view, GpuModelId(0));
    std::vector<std::pair<double, GpuModelId>> models;  // fastest first, ties by number
    for (std::size_t m = 0; m < snapshot.cluster().models().size(); ++m) {
      const double rate = view.estimate.On(GpuModelId(m)).rate;
      if (rate > 0) models.emplace_back(-rate, GpuModelId(m));
    }
    std::sort(models.begin(), models.end());
    const double left = ExpectedRemaining(snapshot, view);
    double soonest = std::numeric_limits<double>::infinity();  // end on a faster model, from now
    for (const auto& [minus_rate, model] : models) {
      auto to = OnIdleGpus(context, view, model);
      if (to && left / -minus_rate <= soonest) return to;
      if (to || models.size() == 1 || snapshot.cluster().gpu_count() > kMostGpusForeseen) continue;
      // Idle already, and yet no place: it is cores that lack there, and nobody knows for how long.
      const auto free = SoonestFree(snapshot, context.ledger, view, model);
      if (free && free->in.value > 0) {
        // Others wait for it too: not before the whole backlog's turn, shared over all GPUs.
        const double turn =
            snapshot.backlog().all / static_cast<double>(snapshot.cluster().gpu_count());
        soonest = std::min(soonest, std::max(free->in.value, turn) + left / -minus_rate);
      }
    }
    return std::nullopt;
  }

  // What its share will cost it when the others have left, over the time that it is beside them: a
  // share stays.
  static double CostLater(const Colocation& group, std::size_t self) {
    const double alone = group.SpeedAlone(self);
    if (alone >= 1) return 0;
    double together = 0;
    for (std::size_t i = 0; i < self; ++i) {
      together = std::max(together, group.Left(i) / group.Speed(i));
    }
    const double later = group.Left(self) - together * group.Speed(self);
    return later <= 0 ? 0 : later * (1 / alone - 1) / together;
  }

  // With the least that it can be given, nobody else breaks a bound.
  static bool OthersCanKeep(const Context& context, Colocation& group, std::size_t self,
                            core::Ratio least) {
    group.Limit(self, least);
    const auto broken = group.WhoBreaksItsBound(context.options.max_slowdown);
    return !broken || *broken == self;
  }

  static void Consider(const Context& context, const JobView& view, GpuId gpu, Best& best) {
    const auto model = context.snapshot.cluster().ModelOf(gpu);
    if (!Allowed(view, model)) return;
    if (!MemorySuffices(context, view, gpu)) return;
    auto& scratch = static_cast<NeighbourScratch&>(*context.scratch);
    Neighbours& beside = scratch.On(context, gpu);
    Colocation& group = beside.group;
    const std::size_t self = group.size();
    const Joined joins(group, scratch.Alone(context, view.job.id, model));
    auto shares = SharesFor(context, view, model);
    if (!beside.kernels_known) shares = shares.first(1);
    group.Limit(self, shares.front());
    // What is quickly told first: most of those who wait find no place. Fewer SMs never help
    // itself.
    if (group.SurelyBreaksItsBound(self, context.options.max_slowdown)) return;
    // The most that the others could do beside it is what they do alone.
    if (best.chosen && group.Speed(self) + beside.alone - beside.before < best.gain) return;
    std::optional<core::Ratio> share;
    double most = 0;
    for (const core::Ratio s : shares) {
      group.Limit(self, s);
      const double gain = group.SumOfSpeeds() - beside.before - CostLater(group, self);
      const bool better = !best.chosen || gain > best.gain ||
                          (gain == best.gain && gpu < best.chosen->to.gpus.front());
      if (share && gain <= most + kSpeedsAlike) break;
      if (gain < 0 || !better) continue;
      if (!group.Fits()) break;
      const auto broken = group.WhoBreaksItsBound(context.options.max_slowdown);
      if (broken == self) break;  // with fewer SMs it would be slower still
      if (broken) {
        if (s == shares.front() && !OthersCanKeep(context, group, self, shares.back())) return;
        continue;
      }
      share = s;
      most = gain;
    }
    if (!share || !HostHasRoom(context, view, gpu)) return;
    auto to = Beside(context, view, gpu);
    if (!to) return;
    to->sm_share = *share;
    group.Limit(self, *share);
    best.gain = most;
    best.chosen = Chosen{std::move(*to),
                         reason::GoodNeighbour{group.job(0), group.Speed(self), group.Slowest()},
                         {}};
  }
};

}  // namespace

std::unique_ptr<Placement> NewSharePlacement() { return std::make_unique<Share>(); }

}  // namespace sharewell::policy
