// This server's claim on its partition, written into Slurm and looked at with the nodes.
#include <fmt/format.h>

#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_control.h"

namespace sharewell::engine {

using core::Result;

Result<void> SlurmControl::WriteClaims(
    const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<std::string> lines;
  for (const auto& [node, text] : texts) {
    lines.push_back(fmt::format("update NodeName={} Extra={}", node, text));
  }
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  for (const auto& [node, text] : texts) claims_[node] = text;
  if (!complaint->empty()) {
    claim_again_ = now_ + kClaimAgain;
    Remark(fmt::format(
        "that this server places the jobs cannot be written into Slurm, so that a second one on "
        "another machine would not know of it: {}",
        *complaint));
  }
  return {};
}

Result<void> SlurmControl::KeepClaim() {
  if (!claim_ || now_ < claim_again_) return {};
  claims_ = client_.NodeExtras();
  const auto look = claim_->At(claims_, options_.wall(), now_);
  if (look.no_room) {
    Remark(
        "every node of Slurm has words of somebody else in its field Extra: a second server on "
        "another machine would not know of this one");
  }
  RETURN_IF_ERROR(WriteClaims(look.write));
  other_server_.clear();
  if (!look.other) return {};
  const SlurmClaim& other = *look.other;
  options_.alive();  // somebody places the jobs: the watchdog need not
  other_server_ = fmt::format(
      "another server places the jobs of {}: process {} on {}, heard {:.0f} s ago; stop it first, "
      "or give each server a partition of its own (--partition). One that is gone for good is "
      "forgotten {:g} s after it was last heard, or at once by `scontrol update NodeName={} "
      "Extra=`",
      other.partition.empty() ? "this Slurm cluster"
                              : "Slurm's partition " + core::Quoted(other.partition),
      other.process, other.host, look.heard.value, kClaimGone.value, look.other_node);
  return tl::unexpected(
      core::Error{core::ErrorKind::kFailed, other_server_, core::ErrorCause::kTaken});
}

// Where Slurm does not answer nobody waits for it: the claim then ends by itself.
void SlurmControl::Leave() {
  if (!claim_ || problem_) return;
  (void)WriteClaims(claim_->Leave(claims_));
}

}  // namespace sharewell::engine
