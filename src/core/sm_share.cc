#include "core/sm_share.h"

#include <fmt/format.h>

namespace sharewell::core {

std::optional<Ratio> InsistedShare(const JobView& view) {
  const bool kept = view.job.gpus == 1 && !view.must_be_alone();
  return kept ? view.job.sm_share : std::nullopt;
}

Ratio StandingShare(const JobView& view) {
  if (view.state == JobState::kRunning) return view.allocation.sm_share;
  return InsistedShare(view).value_or(1);
}

std::string ShareInWords(Ratio share) {
  return fmt::format("at most {:.3g} % of the SMs", share * 100);
}

std::string ShareInWords(Ratio share, bool insisted, const std::string& other) {
  if (share >= 1) return "";
  if (insisted) return ShareInWords(share) + ", as its user asked";
  return fmt::format("{}, so that short kernels of {} find room", ShareInWords(share),
                     other.empty() ? "whoever comes" : other);
}

}  // namespace sharewell::core
