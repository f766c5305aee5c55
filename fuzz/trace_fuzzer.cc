// Any bytes as a trace, through the reader they look like and another one: read as reader.h
// promises, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "trace/reader.h"

namespace trace = sharewell::trace;

namespace {

void CheckPromises(const sharewell::core::Result<trace::Trace>& read) {
  if (!read) {
    if (read.error().message.empty()) __builtin_trap();
    return;
  }
  if (read->jobs.empty() || read->jobs.front().submit.value != 0) __builtin_trap();
  std::unordered_set<std::string_view> ids;
  double last = 0;
  for (const auto& job : read->jobs) {
    if (job.gpus < 0 || !(job.submit.value >= last) || !ids.insert(job.id).second) __builtin_trap();
    if (job.duration && !(job.duration->value > 0)) __builtin_trap();
    last = job.submit.value;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckPromises(trace::ReadTraceText(text, "fuzz"));
  // A reader that was named must stand any text too; one at a time, as refusing takes longest.
  const auto formats = trace::TraceFormats();
  CheckPromises(formats[size % formats.size()].read(text, "fuzz"));
  return 0;
}
