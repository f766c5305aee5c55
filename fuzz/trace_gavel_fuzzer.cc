// Any bytes as a trace of the format gavel: read, or refused with a reason. The promises of
// reader.h are checked by trace_fuzzer.cc; this one spends all its time in one reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/gavel.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sharewell::trace::DetectGavel(text);
  const auto trace = sharewell::trace::ReadGavel(text, "fuzz");
  if (trace ? trace->jobs.empty() : trace.error().message.empty()) __builtin_trap();
  return 0;
}
