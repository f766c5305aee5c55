// Any bytes as the dump of a cluster's pods: read as a trace, or refused with a reason. The
// promises of reader.h are checked by trace_fuzzer.cc; this one spends all its time in one reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/csv.h"
#include "trace/kube_pods.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sharewell::trace::DetectKubePods(text);
  const auto trace = sharewell::trace::ReadKubePods(text, "fuzz");
  if (trace ? trace->jobs.empty() : trace.error().message.empty()) __builtin_trap();
  // What is imported is written as our own format, and read from it as the same.
  if (trace) {
    const auto again = sharewell::trace::ReadCsv(sharewell::trace::WriteCsv(*trace), "csv");
    if (!again || again->jobs.size() != trace->jobs.size()) __builtin_trap();
    if (again->jobs.back().waited != trace->jobs.back().waited) __builtin_trap();
  }
  return 0;
}
