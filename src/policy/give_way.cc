#include "policy/give_way.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::NodeId;
using core::Snapshot;

namespace {

// The first to go first: of the lowest priority, and of those who has run shortest.
std::vector<JobId> Stoppable(const Snapshot& snapshot, const Ledger& ledger, int below,
                             bool once_they_can) {
  std::vector<JobId> out;
  for (const JobId id : snapshot.running()) {
    const core::Job& job = snapshot.job(id).job;
    if (job.priority >= below || job.keeps_place || job.placeholder || job.gpus == 0) continue;
    if (snapshot.job(id).stays && !once_they_can) continue;
    // It goes for another one already.
    const auto here = ledger.residents(snapshot.job(id).allocation.gpus.front()).jobs();
    if (std::find(here.begin(), here.end(), id) == here.end()) continue;
    if (!ledger.planned(id)) out.push_back(id);
  }
  const auto rank = [&](JobId id) {
    const JobView& view = snapshot.job(id);
    return std::tuple(view.job.priority, -view.since.value, id);
  };
  std::sort(out.begin(), out.end(), [&](JobId a, JobId b) { return rank(a) < rank(b); });
  return out;
}

std::set<NodeId> NodesOf(const Snapshot& snapshot, const core::Allocation& where) {
  std::set<NodeId> nodes;
  Snapshot::EachNode(snapshot.cluster(), where, [&](NodeId node, int) { nodes.insert(node); });
  return nodes;
}

}  // namespace

std::optional<MadeWay> MakeWay(const Snapshot& snapshot, const Ledger& ledger, const JobView& view,
                               const std::function<Choice(const Ledger&)>& place,
                               bool once_they_can) {
  const std::vector<JobId> stoppable =
      Stoppable(snapshot, ledger, view.job.priority, once_they_can);
  if (stoppable.empty()) return std::nullopt;
  const auto priority = [&](JobId id) { return snapshot.job(id).job.priority; };
  // One priority after the other, until there is a place: nobody goes for whom a lower one can.
  Ledger without = ledger;
  Choice choice = core::Reason{};
  std::size_t gone = 0;
  while (gone < stoppable.size() && !std::holds_alternative<Chosen>(choice)) {
    const int level = priority(stoppable[gone]);
    for (; gone < stoppable.size() && priority(stoppable[gone]) == level; ++gone) {
      const JobId id = stoppable[gone];
      without.Vacate(snapshot, id, snapshot.job(id).allocation);
    }
    choice = place(without);
  }
  if (!std::holds_alternative<Chosen>(choice)) return std::nullopt;
  // Only there, and whoever can stay beside it stays: the last to go are tried first.
  const std::set<NodeId> nodes = NodesOf(snapshot, std::get<Chosen>(choice).to);
  std::vector<JobId> leave;
  without = ledger;
  for (std::size_t i = 0; i < gone; ++i) {
    const auto& where = snapshot.job(stoppable[i]).allocation;
    const std::set<NodeId> its = NodesOf(snapshot, where);
    if (std::none_of(its.begin(), its.end(), [&](NodeId node) { return nodes.contains(node); })) {
      continue;
    }
    without.Vacate(snapshot, stoppable[i], where);
    leave.push_back(stoppable[i]);
  }
  MadeWay way;
  for (auto id = leave.rbegin(); id != leave.rend(); ++id) {
    const auto& where = snapshot.job(*id).allocation;
    without.Occupy(snapshot, *id, where);
    if (std::holds_alternative<Chosen>(place(without))) continue;
    without.Vacate(snapshot, *id, where);
    way.stops.push_back(*id);
  }
  std::sort(way.stops.begin(), way.stops.end());
  way.ledger = ledger;
  for (const JobId id : way.stops) way.ledger.Vacate(snapshot, id, snapshot.job(id).allocation);
  choice = place(way.ledger);
  if (way.stops.empty() || !std::holds_alternative<Chosen>(choice)) return std::nullopt;
  way.place = std::get<Chosen>(std::move(choice));
  way.ledger.Occupy(snapshot, view.job.id, way.place.to);
  return way;
}

}  // namespace sharewell::policy
