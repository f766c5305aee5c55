#include "collect/host/ledger.h"

#include <algorithm>

namespace sharewell::collect {

void ProcessLedger::Begin() {
  lost_.clear();
  for (auto& [pid, process] : processes_) {
    process.seen = false;
    process.absorbed = 0;
  }
}

void ProcessLedger::Add(int pid, std::uint64_t start, int parent, double total, double absorbing) {
  const auto it = processes_.find(pid);
  if (it != processes_.end() && it->second.start == start) {
    Process& process = it->second;
    process.absorbed = std::max(0.0, absorbing - process.absorbing);
    // The kernel's own sums may step back by a tick; the highest counts.
    process.total = std::max(process.total, total);
    process.absorbing = std::max(process.absorbing, absorbing);
    process.parent = parent;
    process.seen = true;
    return;
  }
  // The number is used again: whoever had it before has ended, and who waited for it is not known.
  if (it != processes_.end()) kept_ += it->second.total;
  processes_[pid] = {start, parent, total, absorbing, 0, true};
}

int ProcessLedger::LivingAncestor(int pid) const {
  for (std::size_t steps = 0; steps <= processes_.size(); ++steps) {
    const auto it = processes_.find(pid);
    if (it == processes_.end()) return 0;
    if (it->second.seen) return pid;
    pid = it->second.parent;
  }
  return 0;  // a ring, which only a broken capture has
}

double ProcessLedger::End() {
  for (const auto& [pid, process] : processes_) {
    if (!process.seen) lost_[LivingAncestor(process.parent)] += process.total;
  }
  for (const auto& [ancestor, lost] : lost_) {
    const auto it = processes_.find(ancestor);
    kept_ += it == processes_.end() ? lost : std::max(0.0, lost - it->second.absorbed);
  }
  std::erase_if(processes_, [](const auto& entry) { return !entry.second.seen; });
  double now = kept_;
  for (const auto& [pid, process] : processes_) now += process.total;
  if (any_) {
    total_ += std::max(0.0, now - computed_);
  } else {
    total_ = now;
  }
  any_ = true;
  computed_ = now;
  return total_;
}

}  // namespace sharewell::collect
