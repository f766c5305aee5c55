// Any bytes as the note that we leave in a job, and as a user's comment. A note that is read is
// written on one line and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/slurm/control/job_note.h"

namespace engine = sharewell::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto note = engine::ParseJobNote(text)) {
    const std::string once = engine::FormatJobNote(*note);
    if (once.find('\n') != std::string::npos) __builtin_trap();
    const auto again = engine::ParseJobNote(once);
    if (!again || !(*again == *note)) __builtin_trap();
  }
  if (const auto words = engine::ParseUserWords(text)) {
    if (words->problem.size() > 4000) __builtin_trap();
    if (words->max_slowdown && !(*words->max_slowdown >= 1)) __builtin_trap();
  }
  return 0;
}
