#include "graph/step/lower.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/result.h"
#include "graph/step/lowering.h"
#include "graph/step/update.h"

namespace sharewell::graph {

using What = ToldClass::What;

StepLowering::StepLowering(ToldStep step) : step_(std::move(step)) {
  classes_.reserve(step_.operators.size());
  for (const ToldOperator& op : step_.operators) classes_.push_back(ClassOf(op));
}

Graph StepLowering::Run(std::int64_t batch) {
  graph_.format = "told step";
  graph_.producer = step_.framework;
  graph_.batch = batch;
  graph_.told.emplace();
  FindWeights();
  FindInputs();
  FindLoss();
  belongings_.emplace(step_, classes_);
  FindHalfCopies();
  // Those first that take copies between precisions with them.
  for (const bool products : {true, false}) {
    for (std::size_t i = 0; i < step_.operators.size(); ++i) {
      if (TakesCasts(i) == products) Lower(i);
    }
  }
  PutInOrder();
  ToldGraph& told = *graph_.told;
  told.trained = step_.trainable.value_or(trained_);
  AddUpdate(step_, classes_, told);
  told.step = std::move(step_);
  return std::move(graph_);
}

// Shapes that a trained parameter has, and its transpose: a product reads a view of it, perhaps
// in half precision.
void StepLowering::FindWeights() {
  std::map<std::vector<std::int64_t>, double> trained;
  for (const ToldOperator& op : step_.operators) {
    for (const ToldOperand& operand : op.in) {
      for (const ToldTensor& tensor : operand.tensors) {
        if (tensor.role == ToldRole::kOrdinary || tensor.dims.empty()) continue;
        auto& shapes = tensor.role == ToldRole::kTrained ? trained_dims_ : frozen_dims_;
        shapes.insert(tensor.dims);
        if (tensor.dims.size() == 2) shapes.insert({tensor.dims[1], tensor.dims[0]});
        if (tensor.role != ToldRole::kTrained || op.pass != ToldPass::kForward) continue;
        double& count = trained[tensor.dims];
        count = std::max(count, static_cast<double>(op.count));
      }
    }
  }
  for (const auto& [dims, count] : trained) {
    ToldTensor one;
    one.dims = dims;
    trained_ += one.Elements() * count;
  }
}

// What the loader brings is read and was made by nobody. Of shapes that begin with the batch:
// statistics and buffers do not.
void StepLowering::FindInputs() {
  std::set<std::pair<ToldType, std::vector<std::int64_t>>> made;
  for (std::size_t i = 0; i < step_.operators.size(); ++i) {
    if (!IsForward(i)) continue;
    const ToldOperator& op = At(i);
    for (const ToldOperand& operand : op.in) {
      for (const ToldTensor& tensor : operand.tensors) {
        const bool whole = !IsFloat(tensor.type);
        if (tensor.role != ToldRole::kOrdinary || tensor.dims.empty() ||
            std::find(tensor.dims.begin(), tensor.dims.end(), graph_.batch) == tensor.dims.end() ||
            (tensor.dims.size() < 2 && !whole) || !made.insert({tensor.type, tensor.dims}).second) {
          continue;
        }
        const std::int64_t many = IsArrival(op) ? std::min<std::int64_t>(op.count, 64) : 1;
        for (std::int64_t n = 0; n < many; ++n) {
          graph_.inputs.push_back(Add(tensor, Role::kInput));
        }
      }
    }
    for (const ToldOperand& operand : op.out) {
      for (const ToldTensor& tensor : operand.tensors) made.insert({tensor.type, tensor.dims});
    }
  }
}

// What the loss reads, and the log-softmax before it, which counts with it.
void StepLowering::FindLoss() {
  std::set<double> read;
  for (std::size_t i = 0; i < step_.operators.size(); ++i) {
    const ToldTensor* in = TensorAt(At(i).in, 0);
    if (!IsForward(i) || classes_[i].what != What::kLoss || in == nullptr) continue;
    for (double n = 0; n < std::min(static_cast<double>(At(i).count), 16.0); ++n) {
      graph_.outputs.push_back(Add(*in, Role::kActivation));
    }
    read.insert(in->Elements());
  }
  for (std::size_t i = 0; i < step_.operators.size(); ++i) {
    const ToldTensor* in = TensorAt(At(i).in, 0);
    if (At(i).op.find("_log_softmax") == std::string::npos || in == nullptr) continue;
    if (read.contains(in->Elements())) classes_[i].what = What::kLoss;
  }
}

// Frameworks keep the half-precision copy of a weight until the step has ended.
void StepLowering::FindHalfCopies() {
  for (std::size_t i = 0; i < step_.operators.size(); ++i) {
    const ToldTensor* in = TensorAt(At(i).in, 0);
    const ToldTensor* out = TensorAt(At(i).out, 0);
    if (!IsForward(i) || in == nullptr || out == nullptr || IsHalf(in->type) ||
        !IsHalf(out->type) || RoleOf(*in, true) == Role::kActivation ||
        classes_[i].aten.rule != pt2::Rule::kCast) {
      continue;
    }
    graph_.told->half_copies += 2 * in->Elements() * static_cast<double>(At(i).count);
  }
}

// As they were called.
void StepLowering::PutInOrder() {
  std::vector<std::size_t> places(order_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return order_[a] < order_[b]; });
  std::vector<Op> ops;
  ops.reserve(places.size());
  for (const std::size_t place : places) ops.push_back(std::move(graph_.ops[place]));
  graph_.ops = std::move(ops);
}

core::Result<Graph> LowerStep(ToldStep step, const std::string& name, const Binding& binding) {
  if (step.batch && !binding.any_batch && *step.batch != binding.batch) {
    return core::UsageError(
        "{}: was told at batch {}, not at {}; leave the batch out, or let a run with batch {} tell "
        "its step: sharewell watch -- COMMAND",
        name, *step.batch, binding.batch, binding.batch);
  }
  const bool empty = std::none_of(step.operators.begin(), step.operators.end(), [](const auto& op) {
    return op.pass == ToldPass::kForward && ClassOf(op).what == What::kForward;
  });
  if (empty) {
    return core::UsageError(
        "{}: tells of no operator of a forward pass; let the watcher tell it again: sharewell "
        "watch -- COMMAND",
        name);
  }
  const std::int64_t batch = step.batch.value_or(binding.batch);
  return StepLowering(std::move(step)).Run(batch);
}

core::Result<Graph> ReadStepGraph(std::string_view json, const std::string& name,
                                  const Binding& binding) {
  auto step = ReadToldStep(json, name);
  RETURN_IF_ERROR(step);
  return LowerStep(*std::move(step), name, binding);
}

}  // namespace sharewell::graph
