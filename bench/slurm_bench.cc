// Reading Slurm's queue: 10,000 jobs in every cycle as text, and once as JSON in both shapes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "engine/slurm/read/slurm_read.h"

namespace {

namespace engine = sharewell::engine;

std::string QueueText(int jobs) {
  std::string text;
  for (int i = 1; i <= jobs; ++i) {
    if (i % 4 == 0) {
      fmt::format_to(std::back_inserter(text), "{}|RUNNING|{}|gpu|n[{}-{}]|None\n", i,
                     4294901759 - i, i % 1000, i % 1000 + 1);
    } else {
      fmt::format_to(std::back_inserter(text), "{}|PENDING|0|gpu||JobHeldUser\n", i);
    }
  }
  return text;
}

// The fields that are read, and about as much again that is not.
std::string JobsJson(int jobs, bool wrapped) {
  const auto number = [&](long value) {
    return wrapped ? fmt::format(R"({{"set":true,"infinite":false,"number":{}}})", value)
                   : fmt::format("{}", value);
  };
  std::string text = R"({"errors":[],"jobs":[)";
  for (int i = 1; i <= jobs; ++i) {
    if (i > 1) text += ',';
    fmt::format_to(std::back_inserter(text), R"({{"job_id":{},"job_state":{},"user_id":1000,)", i,
                   wrapped ? R"(["PENDING"])" : R"("PENDING")");
    fmt::format_to(std::back_inserter(text),
                   R"("user_name":"ada","group_id":1000,"name":"train-{}","partition":"gpu",)", i);
    for (const char* key : {"priority", "cpus", "node_count", "submit_time", "start_time",
                            "end_time", "eligible_time", "time_limit", "memory_per_node"}) {
      fmt::format_to(std::back_inserter(text), R"("{}":{},)", key, number(i));
    }
    for (int k = 0; k < 60; ++k) {
      fmt::format_to(std::back_inserter(text), R"("other_{}":{},)", k, number(k));
    }
    text += R"("comment":"sharewell model=resnet50.onnx batch=64","nodes":"n[1-2]",)"
            R"("tres_per_node":"gres/shard:g0:50","state_reason":"JobHeldUser"})";
  }
  return text + "]}";
}

void BM_ReadQueue(benchmark::State& state) {
  const std::string text = QueueText(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    auto queue = engine::ParseQueue(text);
    if (!queue) state.SkipWithError(queue.error().message.c_str());
    benchmark::DoNotOptimize(queue);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ReadQueue)->Arg(10'000)->Unit(benchmark::kMillisecond);

void BM_ReadJobs(benchmark::State& state, bool wrapped) {
  const std::string text = JobsJson(static_cast<int>(state.range(0)), wrapped);
  for (auto _ : state) {
    auto jobs = engine::ParseJobs(text);
    if (!jobs) state.SkipWithError(jobs.error().message.c_str());
    benchmark::DoNotOptimize(jobs);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(BM_ReadJobs, plain_numbers, false)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadJobs, wrapped_numbers, true)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
