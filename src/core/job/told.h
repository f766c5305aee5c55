// Told: what the watcher inside a job told of one of its steps (docs/formats/told-step.md): how its
// loop is written, and what makes it the same workload as another. A user's word, never worth more
// than what is measured. What is not known is absent, or empty.
#pragma once

#include <optional>
#include <string>

#include "core/job/submission.h"
#include "core/units.h"

namespace sharewell::core {

struct Told {
  // The same operators on the same shapes, run the same way; and the same parameters at whatever
  // batch. 32 hexadecimal digits each.
  std::string fingerprint, model_fingerprint;
  std::string framework, python, device;  // "pytorch 2.11.0"
  std::string modules;                    // what is trained: "ResNet"
  std::string optimizer, optimizer_style, precision, autocast, parallel;
  std::optional<double> batch, accumulation, optimizers, workers, world_size;
  std::optional<double> parameters, trainable;  // numbers
  std::optional<bool> grad_scaler, compiled, channels_last, checkpointing, cuda_graphs;
  std::optional<Bytes> peak;       // of live tensors on its device during the step
  std::optional<Needs> predicted;  // by those operators, as they are
  std::string not_predicted;       // why; empty: it was

  friend bool operator==(const Told&, const Told&) = default;
};

// "ResNet with 25.6 M parameters, batch 64, SGD, bf16 autocast, 4 loader workers, compiled"; what
// is not known is left out.
std::string InWords(const Told& told);

}  // namespace sharewell::core
