// Any bytes as the annotation sharewell.io/known: refused with a reason, or written and read again
// as the same, with no figure that was observed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/kubernetes/pods/pod_known.h"

namespace engine = sharewell::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto known = engine::ReadKnown(text);
  if (!known) {
    if (known.error().message.empty()) __builtin_trap();
    return 0;
  }
  if (known->needs.sources.busy == sharewell::core::Source::kObserved) __builtin_trap();
  const std::string once = engine::WriteKnown(*known);
  const auto again = engine::ReadKnown(once);
  if (!again || once.size() > engine::kMostKnownBytes) __builtin_trap();
  if (engine::WriteKnown(*again) != once) __builtin_trap();
  return 0;
}
