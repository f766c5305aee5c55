// For tests: records of a server's jobs, and its machine. Times are seconds after a fixed moment.
#pragma once

#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"

namespace sharewell::simulation {

inline core::UnixMillis At(double seconds) {
  return 1'700'000'000'000 + static_cast<core::UnixMillis>(seconds * 1000);
}

// One GPU of model "A", 16 GiB.
inline core::Cluster OneGpu(int gpus = 1) {
  core::GpuModel model;
  model.name = "A";
  model.memory = core::GiB(16);
  model.bandwidth = core::GBps(1000);
  model.fp32_tflops = 20;
  core::Node node;
  node.name = "n1";
  node.model = core::GpuModelId(0);
  node.gpus = gpus;
  return core::Cluster({model}, {node});
}

inline std::vector<core::GivenGpu> GivenGpus(int gpus) {
  std::vector<core::GivenGpu> given;
  for (int i = 0; i < gpus; ++i) given.push_back({i, "simulated-" + std::to_string(i), "A"});
  return given;
}

// A job for one GPU that is believed to take 100 s and 1 GiB.
inline core::JobRecord RecordOf(std::int64_t number, double submitted, double busy,
                                core::Phase phase = core::Phase::kWaiting) {
  core::JobRecord record;
  record.number = number;
  record.user.name = "ann";
  record.asked.command = {"train", std::to_string(number)};
  record.believed.sources = core::Sources::All(core::Source::kObserved);
  record.believed.profile.gpu = "A";
  record.believed.profile.busy = busy;
  record.believed.profile.gpu_memory = core::GiB(1);
  record.believed.duration = core::Seconds(100);
  record.phase = phase;
  record.submitted = At(submitted);
  return record;
}

inline core::JobRecord Ended(core::JobRecord record, double started, double ended) {
  record.phase = core::Phase::kFinished;
  record.attempt = 1;
  record.started = At(started);
  record.ended = At(ended);
  record.alone_time = record.run_time = core::Seconds(ended - started);
  record.gpus = GivenGpus(1);
  return record;
}

inline core::JobRecord Running(core::JobRecord record, double started, int gpu = 0) {
  record.phase = core::Phase::kRunning;
  record.attempt = 1;
  record.started = record.resumed = At(started);
  record.gpus = {GivenGpus(gpu + 1).back()};
  return record;
}

inline std::vector<const core::JobRecord*> PointersTo(const std::vector<core::JobRecord>& records) {
  std::vector<const core::JobRecord*> pointers;
  for (const auto& record : records) pointers.push_back(&record);
  return pointers;
}

}  // namespace sharewell::simulation
