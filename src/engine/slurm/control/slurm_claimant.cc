#include "engine/slurm/control/slurm_claimant.h"

#include <fmt/format.h>

#include "core/text/quoted.h"

namespace sharewell::engine {

using core::Result;

SlurmClaimant::SlurmClaimant(SlurmBook& book, SlurmNodes& nodes) : book_(book), nodes_(nodes) {
  const SlurmControlOptions& options = book.options();
  if (options.claim && !options.dry_run) keeper_.emplace(*options.claim);
}

Result<void> SlurmClaimant::Write(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<std::string> lines;
  for (const auto& [node, text] : texts) {
    lines.push_back(fmt::format("update NodeName={} Extra={}", node, text));
  }
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  for (const auto& [node, text] : texts) claims_[node] = text;
  if (!complaint->empty()) {
    again_ = book_.now() + kClaimAgain;
    nodes_.Remark(fmt::format(
        "that this server places the jobs cannot be written into Slurm, so that a second one on "
        "another machine would not know of it: {}",
        *complaint));
  }
  return {};
}

Result<void> SlurmClaimant::Keep() {
  if (!keeper_ || book_.now() < again_) return {};
  claims_ = book_.client().NodeExtras();
  const auto look = keeper_->At(claims_, book_.options().wall(), book_.now());
  if (look.no_room) {
    nodes_.Remark(
        "every node of Slurm has words of somebody else in its field Extra: a second server on "
        "another machine would not know of this one");
  }
  RETURN_IF_ERROR(Write(look.write));
  other_server_.clear();
  if (!look.other) return {};
  const SlurmClaim& other = *look.other;
  book_.options().alive();  // somebody places the jobs: the watchdog need not
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
void SlurmClaimant::Leave() {
  if (!keeper_) return;
  (void)Write(keeper_->Leave(claims_));
}

}  // namespace sharewell::engine
