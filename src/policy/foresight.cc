#include "policy/foresight.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/order/order.h"

namespace sharewell::policy {
namespace {

using core::GpuId;
using core::JobId;
using core::JobView;

// The nodes that are free first, as many as hold so many GPUs.
class FirstFree {
 public:
  explicit FirstFree(int gpus) : missing_(gpus) {}

  // From when on a node is of no use; they are added in rising order, and of equals the first is
  // taken.
  double bound() const {
    return missing_ > 0 ? std::numeric_limits<double>::infinity() : nodes_.back().in;
  }
  void Add(core::NodeId id, int gpus, double in) {
    const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), in,
                                        [](double a, const Node& b) { return a < b.in; });
    nodes_.insert(after, {in, id, gpus});
    missing_ -= gpus;
    while (missing_ + nodes_.back().gpus <= 0) {
      missing_ += nodes_.back().gpus;
      nodes_.pop_back();
    }
  }
  std::optional<SoonFree> Found() const {
    if (missing_ > 0 || nodes_.empty() || !std::isfinite(nodes_.back().in)) return std::nullopt;
    SoonFree out;
    out.in = core::Seconds(nodes_.back().in);
    for (const Node& node : nodes_) out.nodes.push_back(node.id);
    return out;
  }

 private:
  struct Node {
    double in = 0;  // seconds
    core::NodeId id;
    int gpus = 0;
  };
  std::vector<Node> nodes_;
  int missing_;
};

}  // namespace

std::optional<double> Ends::FreeIn(const core::Node& node, int count, double bound) {
  of_node_.clear();
  int too_late = 0;
  for (int k = 0; k < node.gpus; ++k) {
    of_node_.push_back(EndOf(node, GpuId(node.first_gpu.index() + static_cast<std::size_t>(k))));
    if (of_node_.back() >= bound && ++too_late > node.gpus - count) return std::nullopt;
  }
  std::nth_element(of_node_.begin(), of_node_.begin() + (count - 1), of_node_.end());
  return of_node_[static_cast<std::size_t>(count - 1)];
}

double Ends::EndOf(const core::Node& node, GpuId gpu) {
  const auto jobs = ledger_.residents(gpu).jobs();
  if (jobs.empty()) return 0;
  if (!many_) return EndOf(node, jobs);
  if (known_.empty()) known_.resize(snapshot_.cluster().gpu_count());
  Known& known = known_[gpu.index()];
  if (known.jobs != static_cast<int>(jobs.size())) {
    known = {EndOf(node, jobs), static_cast<int>(jobs.size())};
  }
  return known.end;
}

double Ends::EndOf(const core::Node& node, std::span<const JobId> jobs) {
  double end = 0;
  for (const JobId id : jobs) end = std::max(end, EndOf(node, id));
  return end;
}

double Ends::EndOf(const core::Node& node, JobId id) {
  if (id == last_) return end_of_last_;  // a gang's GPUs follow each other
  constexpr double kLeastRate = 0.05;
  const JobView& view = snapshot_.job(id);
  // What runs is seen; what this plan has just put there is believed to run as if alone.
  const bool seen = view.state == core::JobState::kRunning && view.rate > 0;
  const double rate = seen ? view.rate : view.estimate.On(node.model).rate;
  last_ = id;
  end_of_last_ = view.job.placeholder
                     ? std::numeric_limits<double>::infinity()
                     : ExpectedRemaining(snapshot_, view) / std::max(rate, kLeastRate);
  return end_of_last_;
}

std::optional<SoonFree> SoonestFree(const core::Snapshot& snapshot, const Ledger& ledger,
                                    const JobView& view, core::GpuModelId model) {
  Ends ends(snapshot, ledger, false);
  return SoonestFree(ends, view, model);
}

std::optional<SoonFree> SoonestFree(Ends& ends, const JobView& view, core::GpuModelId model) {
  const Ledger& ledger = ends.ledger();
  const auto& cluster = ends.snapshot().cluster();
  const int gpus = view.job.gpus;
  if (!Allowed(view, model) || cluster.CountOf(model) < gpus) return std::nullopt;
  const bool one_node = gpus <= cluster.LargestNodeOf(model);
  FirstFree first(gpus);
  for (std::size_t n = 0; n < cluster.nodes().size(); ++n) {
    const auto& node = cluster.nodes()[n];
    if (node.gpus == 0 || node.model != model || (one_node && node.gpus < gpus)) continue;
    if (ledger.closed(core::NodeId(n))) continue;  // kept for another
    const int here = std::min(node.gpus, gpus);
    if (node.memory && core::HostMemoryAskedOn(view, here) > *node.memory) continue;
    const auto in = ends.FreeIn(node, here, first.bound());
    if (in) first.Add(core::NodeId(n), node.gpus, *in);
  }
  return first.Found();
}

}  // namespace sharewell::policy
