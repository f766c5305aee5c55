#include "core/job/cancelled.h"

#include <fmt/format.h>

namespace sharewell::core {
namespace {

struct CancelledWords {
  std::string operator()(const cancelled::ByUser& one) const { return "cancelled by " + one.who; }
  std::string operator()(const cancelled::ByManager& one) const { return one.why; }
  std::string operator()(const cancelled::ByJobBefore& one) const {
    using End = cancelled::ByJobBefore::End;
    return fmt::format("job {}, which it was to come after, {}", one.job,
                       one.end == End::kFailed      ? "failed"
                       : one.end == End::kCancelled ? "was cancelled"
                                                    : "did not finish well");
  }
  std::string operator()(const cancelled::ByStore&) const {
    return "the store failed while it was submitted, so it was refused";
  }
};

}  // namespace

std::string InWords(const Cancelled& cancelled) { return std::visit(CancelledWords{}, cancelled); }

}  // namespace sharewell::core
