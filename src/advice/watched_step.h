// What came of watching a command until it told one of its steps (watch_step.h). Plain data for
// reports; what was not told is absent, or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sharewell::advice {

struct WatchedStep {
  std::string document;  // the told step, as it was told (docs/formats/told-step.md)
  std::string workload_fingerprint, model_fingerprint;
  std::int64_t steps = 0;        // counted while it was watched
  std::string off;               // why the watcher switched itself off in some process
  std::optional<int> exit_code;  // of the command where it ended by itself; absent: it was ended

  // ---- facts of the step
  std::string framework, device, modules, optimizer, precision, autocast, parallel;
  std::optional<std::int64_t> batch, accumulation, workers, world_size;
  std::optional<double> parameters, trainable;  // numbers
  std::optional<bool> compiled, channels_last, checkpointing;
  std::optional<double> peak;  // bytes
  double forward_calls = 0, backward_calls = 0, update_calls = 0;
  std::size_t different_operators = 0;
  std::int64_t dropped = 0;
};

}  // namespace sharewell::advice
