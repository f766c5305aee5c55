#include "policy/placement/neighbours.h"

namespace sharewell::policy {
namespace {

// The ledger has exactly these there, with these shares.
bool StillThere(const Context& context, core::GpuId gpu, const Colocation& group) {
  const auto jobs = context.ledger.residents(gpu).jobs();
  if (jobs.size() != group.size()) return false;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i] != group.job(i)) return false;
    if (context.ledger.sm_share(context.snapshot, jobs[i]) != group.sm_share(i)) return false;
  }
  return true;
}

}  // namespace

Neighbours::Neighbours(const Context& context, core::GpuId gpu)
    : group(context.snapshot, *context.options.interference, context.ledger, gpu),
      before(group.SumOfSpeeds()) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    alone += group.SpeedAlone(i);
    kernels_known = kernels_known || group.demand(i).kernel_time.has_value();
  }
}

Neighbours& NeighbourScratch::On(const Context& context, core::GpuId gpu) {
  Slot& slot = slots_[gpu.index() % slots_.size()];
  // Within a decision neither what is observed nor what is learnt of pairs changes.
  if (context.decision == 0 || slot.decision != context.decision || slot.gpu != gpu ||
      !StillThere(context, gpu, slot.neighbours->group)) {
    slot.neighbours.emplace(context, gpu);
    slot.decision = context.decision;
    slot.gpu = gpu;
  }
  return *slot.neighbours;
}

const Colocation& NeighbourScratch::Alone(const Context& context, core::JobId id,
                                          core::GpuModelId model) {
  if (context.decision == 0 || tried_.decision != context.decision || tried_.model != model) {
    tried_.alone.emplace(context.snapshot, *context.options.interference, model,
                         std::span<const core::JobId>(&id, 1));
    tried_.decision = context.decision;
    tried_.model = model;
  } else if (tried_.alone->job(0) != id) {
    tried_.alone->Leave();
    tried_.alone->Join(id);
  }
  return *tried_.alone;
}

}  // namespace sharewell::policy
