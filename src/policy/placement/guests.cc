#include "policy/placement/guests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "policy/colocation.h"
#include "policy/order/order.h"

namespace sharewell::policy {
namespace {

using core::Bytes;
using core::GpuId;
using core::GpuModelId;
using core::JobId;
using core::JobView;
using core::Ratio;
using core::Seconds;

// Largest first: with 80 % a job alone keeps 0.86 to 0.88 of its speed, with 60 % 0.71 to 0.75.
constexpr std::array<Ratio, 3> kGuestShares{0.8, 0.6, 0.4};
// So long the guard needs to see what a newcomer does to others (GuardOptions: settle and window),
// and the newcomer to leave.
constexpr Seconds kStrangerFor{20};
constexpr Ratio kLeastMemory = 0.1;   // of the GPU's, for one of which nothing is known
constexpr Ratio kClearlyMore = 1.25;  // memory, after it ran out
constexpr Seconds kGuestPatience{60};
constexpr std::size_t kMostLookedThrough = 256;  // GPUs
// What ran for longer is not started anew for a better place.
constexpr Seconds kMayMoveWithin{120};
constexpr double kClearlyPays = 2;  // gain over cost: beliefs err

// Everybody there lets a guest come, whoever may leave before it does.
bool TakesGuests(const Context& context, GpuId gpu) {
  const auto model = context.snapshot.cluster().ModelOf(gpu);
  for (JobId id : context.ledger.residents(gpu).jobs()) {
    const JobView& other = context.snapshot.job(id);
    if (!MayShare(other) || other.job.no_guests || other.job.placeholder) return false;
    if (IsStranger(other, model)) return false;
  }
  return context.ledger.residents(gpu).count() > 0;
}

// What it is kept to there: all that is free. Absent: that is too little.
std::optional<Bytes> MemoryFor(const Context& context, const JobView& view, GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  const Bytes all = cluster.model(cluster.ModelOf(gpu)).memory;
  const Bytes free = all - context.ledger.memory_upper(gpu);
  const bool assumed = view.estimate.sources.gpu_memory == core::Source::kAssumed;
  if (free < (assumed ? all * kLeastMemory : view.estimate.gpu_memory_upper)) return std::nullopt;
  if (view.guest_oom && free < *view.guest_oom * kClearlyMore) return std::nullopt;
  return free;
}

// Cores that nobody has, as many as it is sized to or fewer; 0: there is none.
double CoresFor(const Context& context, const JobView& view, GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  const core::NodeId node = cluster.NodeOf(gpu);
  const double wanted = context.sizing.CoresAGpu(context.snapshot, view, cluster.ModelOf(gpu), 1);
  const double free = context.ledger.cores_free(context.snapshot, node) + 1e-9;
  if (wanted <= free) return wanted;
  return view.job.cores_fixed || free < 1 ? 0 : std::floor(free);
}

// The largest share with which everybody there keeps his bound; absent: none.
std::optional<Ratio> ShareFor(const Context& context, const JobView& view, GpuId gpu) {
  const Ratio most = context.options.max_slowdown;
  const Ratio own_bound = view.job.max_slowdown.value_or(most);
  const auto& interference = *context.options.interference;
  const auto model = context.snapshot.cluster().ModelOf(gpu);
  const core::Demand& demand = view.estimate.On(model).demand;
  Colocation group(context.snapshot, interference, context.ledger, gpu);
  for (const Ratio share : kGuestShares) {
    if (view.job.sm_share && share != kGuestShares.front()) break;
    const Ratio given = view.job.sm_share.value_or(share);
    const Ratio alone = interference::SpeedAlone(demand, given, interference.coefficients());
    if (!view.job.sm_share && alone * own_bound < 1) break;  // narrower is slower still
    group.Join(view.job.id, given, kStrangerFor);
    const bool kept = !group.WhoBreaksItsBound(most);
    group.Leave();
    if (kept) return given;
  }
  return std::nullopt;
}

std::optional<core::Allocation> GuestOn(const Context& context, const JobView& view, GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  const core::NodeId node = cluster.NodeOf(gpu);
  if (!MayBeGuest(context, view, cluster.ModelOf(gpu)) || !TakesGuests(context, gpu)) return {};
  if (!AllowedOn(cluster, view, node) || cluster.node(node).exclusive) return {};
  const auto memory = MemoryFor(context, view, gpu);
  if (!memory || !context.ledger.HostMemorySuffices(context.snapshot, view, node, 1)) return {};
  const double cores = CoresFor(context, view, gpu);
  if (cores <= 0) return {};
  const auto share = ShareFor(context, view, gpu);
  if (!share) return {};
  return core::Allocation{{gpu}, {}, cores, *share, memory};
}

// Seconds until there may be room for the guest on that GPU; infinite: it can have none.
double SoonestRoom(const Context& context, const JobView& view, GpuId gpu) {
  const auto& cluster = context.snapshot.cluster();
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const core::NodeId node = cluster.NodeOf(gpu);
  if (!Allowed(view, cluster.ModelOf(gpu)) || !AllowedOn(cluster, view, node)) return kNever;
  if (cluster.node(node).exclusive) return kNever;
  if (context.ledger.open(context.snapshot, gpu) && GuestOn(context, view, gpu)) return 0;
  double leaves = kNever;
  for (JobId id : context.ledger.residents(gpu).jobs()) {
    const JobView& other = context.snapshot.job(id);
    if (other.job.no_guests || other.job.placeholder || !MayShare(other)) return kNever;
    leaves = std::min(leaves, ExpectedRemaining(context.snapshot, other));
  }
  return leaves;
}

// What all on its GPU do more, in seconds of work, if it leaves.
double GainOfLeaving(const Context& context, const JobView& view) {
  const GpuId gpu = view.allocation.gpus.front();
  const auto model = context.snapshot.cluster().ModelOf(gpu);
  const auto& interference = *context.options.interference;
  const Colocation with(context.snapshot, interference, context.ledger, gpu);
  std::vector<JobId> others;
  double left = 0, lasts = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with.job(i) == view.job.id) {
      left = with.Left(i);
    } else {
      others.push_back(with.job(i));
      lasts = std::max(lasts, with.Left(i));
    }
  }
  const Colocation without(context.snapshot, interference, model, others);
  return (1 + without.SumOfSpeeds() - with.SumOfSpeeds()) * std::min(left, lasts);
}

}  // namespace

bool IsStranger(const JobView& view, GpuModelId model) {
  return !view.estimate.On(model).demand.known || view.estimate.guessed;
}

bool MayBeGuest(const Context& context, const JobView& view, GpuModelId model) {
  const bool keeps_share = !view.job.sm_share || *view.job.sm_share <= kGuestShares.front();
  return context.options.sm_shares && context.options.max_jobs_on_gpu > 1 && MayShare(view) &&
         !view.job.alone_until_known && keeps_share && view.evictions == 0 &&
         IsStranger(view, model) && Allowed(view, model);
}

std::optional<Chosen> PlaceGuest(const Context& context, const JobView& view,
                                 std::span<const GpuId> among) {
  std::vector<std::pair<double, GpuId>> by_load;
  for (GpuId gpu : among) by_load.emplace_back(context.ledger.load(gpu), gpu);
  std::sort(by_load.begin(), by_load.end());
  for (const auto& [load, gpu] : by_load) {
    if (!context.ledger.open(context.snapshot, gpu)) continue;
    auto to = GuestOn(context, view, gpu);
    if (!to) continue;
    const core::reason::AsGuest why{context.ledger.residents(gpu).jobs().front(),
                                    *to->guest_memory};
    return Chosen{*std::move(to), why, std::nullopt};
  }
  return std::nullopt;
}

GpuId KeptForGuest(const Context& context) {
  const auto& snapshot = context.snapshot;
  const auto& cluster = snapshot.cluster();
  if (!context.options.sm_shares || cluster.gpu_count() > kMostLookedThrough) return {};
  const JobView* view = nullptr;
  for (JobId id : snapshot.waiting()) {
    const JobView& waits = snapshot.job(id);
    if (snapshot.now() - waits.job.submit < kGuestPatience) continue;
    if (waits.cpu_only() || !MayBeGuest(context, waits, GpuModelId(0))) continue;
    const auto rank = [](const JobView& of) { return std::pair(of.job.submit, of.job.id); };
    if (view == nullptr || rank(waits) < rank(*view)) view = &waits;
  }
  if (view == nullptr) return {};
  GpuId kept;
  double soonest = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < cluster.gpu_count(); ++g) {
    const double leaves = SoonestRoom(context, *view, GpuId(g));
    if (leaves >= soonest) continue;
    soonest = leaves;
    kept = GpuId(g);
  }
  return kept;
}

void MoveKnownGuests(const Context& context, core::Plan& plan) {
  const auto& snapshot = context.snapshot;
  if (!snapshot.waiting().empty() || context.ledger.idle_gpus() == 0) return;
  std::vector<JobId> guests;
  for (JobId id : snapshot.running()) {
    const JobView& view = snapshot.job(id);
    if (view.allocation.guest() && view.may_stop() &&
        snapshot.now() - view.since <= kMayMoveWithin &&
        !IsStranger(view, snapshot.cluster().ModelOf(view.allocation.gpus.front()))) {
      guests.push_back(id);
    }
  }
  if (guests.empty()) return;
  const JobView& view = snapshot.job(*std::min_element(guests.begin(), guests.end()));
  const double lost = (snapshot.now() - view.since + snapshot.restart_cost(view)).value;
  if (GainOfLeaving(context, view) < kClearlyPays * lost) return;
  const auto model = snapshot.cluster().ModelOf(view.allocation.gpus.front());
  auto to = OnIdleGpus(context, view, model);
  if (!to) return;
  to->sm_share = view.job.sm_share.value_or(1);
  const auto there = context.ledger.residents(view.allocation.gpus.front()).jobs();
  const auto other =
      std::find_if(there.begin(), there.end(), [&](JobId id) { return id != view.job.id; });
  if (other == there.end()) return;
  plan.moves.push_back({view.job.id, *std::move(to), false, core::reason::GuestMoves{*other}});
}

}  // namespace sharewell::policy
