// CPU-only jobs: they take cores that are left. Under a slimming sizing they also give way: stopped
// where a start of the same plan took their cores or host memory, slowed where the node's memory
// bandwidth no longer suffices for a training job (CODA), and let loose again when it does.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"

namespace sharewell::policy {

// CpuLine: the CPU-only jobs that wait, kept between decisions. Those of one user that ask for the
// same cores at the same priority are one class, of which a decision looks at the first ones alone:
// thousands may wait, and where one of them finds no place, nobody behind it does.
class CpuLine {
 public:
  // -priority, user, cores, bytes of host memory
  using Class = std::tuple<int, core::UserId, double, double>;
  using Members = std::set<std::pair<double, core::JobId>>;  // by submission

  void Rebuild(const core::Snapshot& snapshot);
  // Takes over a job's state after something happened to it.
  void Update(const core::Snapshot& snapshot, core::JobId id);
  const std::map<Class, Members>& classes() const { return classes_; }

 private:
  std::map<Class, Members> classes_;
  std::vector<std::optional<Class>> where_;  // by job
};

// `by_user`: of equal priority, those whose user has fewest cores for CPU-only jobs go first.
// `tell` hears why the first of those that stay waiting do. Takes time by the classes, the starts
// and who runs, not by who waits; how many of those it looked at.
std::size_t PlaceCpuJobs(const core::Snapshot& snapshot, const CpuLine& line, Ledger& ledger,
                         bool give_way, bool by_user, core::Plan& plan,
                         const std::function<void(core::JobId, const core::Reason&)>& tell);

}  // namespace sharewell::policy
