// SlurmClaimant: writes this server's claim on its partition into Slurm and looks at those of
// others (slurm_claim.h), with the nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_claim.h"
#include "engine/slurm/control/slurm_nodes.h"

namespace sharewell::engine {

class SlurmClaimant {
 public:
  SlurmClaimant(SlurmBook& book, SlurmNodes& nodes);

  // An error: another server places the jobs.
  core::Result<void> Keep();
  // Which says why we do not; empty: none does.
  const std::string& other_server() const { return other_server_; }
  // Another may begin at once.
  void Leave();

 private:
  core::Result<void> Write(const std::vector<std::pair<std::string, std::string>>& texts);

  SlurmBook& book_;
  SlurmNodes& nodes_;
  std::optional<ClaimKeeper> keeper_;
  std::string other_server_;
  std::map<std::string, std::string> claims_;  // as they are written, by node
  core::Seconds again_;                        // Slurm refused it: not before then
};

}  // namespace sharewell::engine
