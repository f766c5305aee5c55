// Reading a trace: a year of a large cluster must be read in well under a second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "trace/reader.h"

namespace {

std::string OwnTrace(int jobs) {
  std::string text = "id,submit_seconds,duration_seconds,gpus,user\n";
  for (int i = 0; i < jobs; ++i) {
    fmt::format_to(std::back_inserter(text), "job-{},{},{},{},user-{}\n", i, i * 37, 60 + i % 7919,
                   1 << (i % 4), i % 97);
  }
  return text;
}

void BM_ReadOwnTrace(benchmark::State& state) {
  const std::string text = OwnTrace(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    auto trace = sharewell::trace::ReadTraceText(text, "bench.csv");
    if (!trace) state.SkipWithError(trace.error().message.c_str());
    benchmark::DoNotOptimize(trace);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ReadOwnTrace)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
