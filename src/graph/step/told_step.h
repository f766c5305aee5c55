// ToldStep: one training step as the watcher inside a job tells of it: every operator of forward
// pass, backward pass and optimizer with its shapes, and what else was seen of the loop. Plain data
// and its reader; what a step costs is lower.h's and cost.h's business. Format:
// docs/formats/told-step.md. What a job tells is a user's word, so the reader trusts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace sharewell::graph {

// Nothing larger is read.
inline constexpr std::size_t kLargestToldStep = std::size_t{256} << 10;
inline constexpr std::size_t kMostToldOperators = 4'000;

enum class ToldType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBf16,
  kTf32,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kB1,
  kC64,
  kC128,
  kF8,
  kOther,
};
std::string_view NameOf(ToldType type);  // "f32"
int BytesOf(ToldType type);              // an element; 4 for kOther
bool IsFloat(ToldType type);

enum class ToldRole : std::uint8_t { kOrdinary, kTrained, kFrozen };  // "", "w:", "p:"
enum class ToldPass : std::uint8_t { kForward, kBackward, kUpdate };
std::string_view NameOf(ToldPass pass);  // "forward"

struct ToldTensor {
  ToldType type = ToldType::kF32;
  ToldRole role = ToldRole::kOrdinary;
  std::vector<std::int64_t> dims;
  std::int64_t many = 1;  // alike, where it stands in a list

  double Elements() const;  // of one
  friend bool operator==(const ToldTensor&, const ToldTensor&) = default;
};

// One operand or output: a tensor, a list of tensors (foreach kernels, cat), or nothing where an
// optional one was not given.
struct ToldOperand {
  bool is_list = false;
  std::vector<ToldTensor> tensors;  // at most one where it is no list

  bool absent() const { return tensors.empty(); }
  friend bool operator==(const ToldOperand&, const ToldOperand&) = default;
};

struct ToldOperator {
  std::string op;  // "aten.convolution.default"
  ToldPass pass = ToldPass::kForward;
  std::int64_t count = 1;  // calls a step
  std::vector<ToldOperand> in, out;
  std::vector<std::pair<std::string, std::vector<double>>> arg;  // a number is a list of one
  bool view = false;           // outputs share the inputs' memory: no kernel
  bool channels_last = false;  // the first tensor is

  const std::vector<double>* Arg(std::string_view name) const;  // null: not told
  friend bool operator==(const ToldOperator&, const ToldOperator&) = default;
};

// Bytes of live tensors on the device.
struct ToldMemory {
  std::optional<double> parameters, gradients, optimizer;
  std::optional<double> peak;   // the most at once, those three included
  std::optional<double> saved;  // beyond those, when the backward pass begins

  friend bool operator==(const ToldMemory&, const ToldMemory&) = default;
};

struct ToldStep {
  std::string framework, python, device;  // empty: not known, in all words here
  std::optional<std::int64_t> batch;      // samples a step
  std::optional<std::int64_t> accumulation;
  std::string optimizer;  // "SGD"
  std::optional<std::int64_t> optimizers;
  std::string optimizer_style;  // "foreach", "fused", "for-loop"
  std::string precision;        // "fp32", "bf16", "fp16", "tf32", "fp64"
  std::string autocast;         // "bf16", "fp16"; empty: none
  std::optional<bool> grad_scaler;
  std::optional<std::int64_t> workers;
  std::optional<bool> compiled, channels_last, checkpointing, cuda_graphs;
  std::optional<std::int64_t> world_size;
  std::string parallel;                         // "ddp", "fsdp", "dp"; empty: none
  std::optional<double> parameters, trainable;  // numbers
  std::string modules;
  ToldMemory memory;
  std::optional<double> measured_peak;
  std::vector<ToldOperator> operators;  // distinct ones, in order of their first call
  std::int64_t dropped = 0;

  friend bool operator==(const ToldStep&, const ToldStep&) = default;
};

// Whether this JSON is meant to be one: an object with "sharewell_step" near its beginning.
bool IsToldStep(std::string_view json);

// `name` is the file's or the job's, for messages. A usage error says what is wrong, where, and
// what to do.
core::Result<ToldStep> ReadToldStep(std::string_view json,
                                    const std::string& name = "the told step");

// On one line; the same step gives the same text, and reads as the same step.
std::string WriteToldStep(const ToldStep& step);

// What makes two runs the same: 32 hexadecimal digits each.
struct Fingerprint {
  std::string workload;  // the same operators on the same shapes, run the same way
  std::string model;     // the same parameters and kinds of operators, at whatever batch

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
Fingerprint FingerprintOf(const ToldStep& step);

}  // namespace sharewell::graph
