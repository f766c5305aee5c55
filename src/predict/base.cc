#include "predict/base.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "predict/layout.h"
#include "predict/operator_table.h"
#include "predict/walk.h"
#include "predict/way.h"

namespace sharewell::predict {
namespace {

using graph::Kind;

constexpr double kChannelsLastWalk = 0.2;  // cuDNN's kernels, over those for channels outermost

// Of a loop over the weights: its kernels are much shorter than those over lists of weights.
constexpr double kUpdateOfOne = 0.34;

// How much the operator table counts beside the rates, where it has nothing near and where it has.
constexpr double kLeastTrust = 0.4, kMostTrust = 0.9;

constexpr double kAcross = 2;  // what a copy into another order takes, over one that keeps it

constexpr double kClearing = 0.35;  // of the seconds that as many bytes take to gather

// What the rates are asked for, one operator after the other.
struct Seconds {
  double compute = 0, bandwidth = 0, launch = 0, tabulated = 0;
};

double All(const Seconds& seconds) { return seconds.compute + seconds.bandwidth + seconds.launch; }

double Saturation(const StepWork::Op& op, const Rates& rates, bool tensor_units) {
  if (op.of == OpClass::kGrouped) return op.sum / (op.sum + rates.half_rate_group_sum);
  const bool product =
      op.of == OpClass::kPointwise || op.of == OpClass::kConv || op.of == OpClass::kMatMul;
  if (!product || !tensor_units) return 1;
  double share = op.sum / (op.sum + rates.half_rate_sum);
  if (op.of != OpClass::kMatMul) share *= op.channels / (op.channels + rates.half_rate_channels);
  return share;
}

// By rates alone.
Seconds Rated(const StepWork& work, const StepWork::Op& op, const Rates& rates) {
  Seconds seconds;
  const ClassRates& of = rates.of[static_cast<std::size_t>(op.of)];
  if (op.of == OpClass::kRecurrent) {
    seconds.compute += (op.flops[0] + op.flops[1]) / (work.peak * of.half_flops);
    seconds.launch += op.steps * (work.half ? rates.recurrent_half_step : rates.recurrent_step);
    return seconds;
  }
  const double reach = work.tensor_units ? of.half_flops : of.full_flops;
  const double rate =
      (op.tensor ? work.peak : work.plain) * reach * Saturation(op, rates, work.tensor_units);
  const double stream = work.bandwidth * (work.half ? of.half_bytes : of.full_bytes);
  const double pace = op.of == OpClass::kDepthwise ? rates.depthwise_walk
                      : op.of == OpClass::kNorm    ? rates.norm_walk
                                                   : 1;
  for (const std::size_t pass : {kForward, kBackward}) {
    const double arithmetic = op.tensor && rate > 0 ? op.flops[pass] / rate : 0;
    const double streamed = op.bytes[pass] / stream, walked = op.walk[pass] * pace;
    const double traffic = std::sqrt(streamed * streamed + walked * walked);
    (arithmetic > traffic ? seconds.compute : seconds.bandwidth) += std::max(arithmetic, traffic);
  }
  seconds.launch += op.kernels * of.kernel;
  return seconds;
}

// Where the table has it too: the geometric mean of both, which err differently.
void Add(Seconds& seconds, const StepWork& work, const StepWork::Op& op, const Rates& rates) {
  const Seconds rated = Rated(work, op, rates);
  double factor = 1;
  if (op.seconds > 0) {
    const ClassRates& of = rates.of[static_cast<std::size_t>(op.of)];
    const double told =
        op.seconds * (work.half ? of.half_table : of.full_table) + op.kernels * rates.table_kernel;
    const double all = All(rated);
    if (all > 0) factor = std::pow(told / all, op.trust);
    seconds.tabulated += all * factor * op.kernels_take;
  }
  factor *= op.kernels_take;
  seconds.compute += rated.compute * factor;
  seconds.bandwidth += rated.bandwidth * factor;
  seconds.launch += rated.launch * factor;
}

// What is no operator of the graph.
Seconds RestOf(const StepWork& work, const Rates& rates) {
  Seconds seconds;
  const ClassRates& sums = rates.of[static_cast<std::size_t>(OpClass::kElementwise)];
  seconds.launch += work.sum_kernels * sums.kernel;
  seconds.bandwidth += work.sum_bytes / (work.bandwidth * sums.half_bytes);
  seconds.bandwidth += work.update_bytes / (work.bandwidth * rates.update_bytes);
  seconds.launch += (work.update_kernels + work.update_ones * kUpdateOfOne) * rates.update_kernel;
  seconds.bandwidth += work.copy_bytes / rates.copy_bytes;
  seconds.bandwidth += work.loss_bytes / (work.bandwidth * rates.loss_bytes);
  seconds.launch += rates.gpu_step;
  return seconds;
}

Seconds SecondsOf(const StepWork& work, const Rates& rates) {
  Seconds seconds = RestOf(work, rates);
  for (const StepWork::Op& op : work.ops) Add(seconds, work, op, rates);
  return seconds;
}

// A recurrent layer that reads both ways has a pass for each.
double Directions(const graph::Graph& graph, const graph::Op& op) {
  if (op.kind != Kind::kRecurrent || op.outputs.empty() || op.outputs[0] == graph::kAbsent)
    return 1;
  const graph::Tensor& out = graph.tensors[static_cast<std::size_t>(op.outputs[0])];
  // ONNX: steps, directions, samples, width.
  return out.dims && out.dims->size() == 4 ? std::max(1.0, static_cast<double>((*out.dims)[1])) : 1;
}

void AddHost(StepWork& work, const graph::Graph& graph, const graph::Op& op,
             const graph::OpCost& cost) {
  if (op.kind == Kind::kHost) return;
  const double count = op.told ? op.told->count : 1;
  if (op.kind == Kind::kView) {
    work.view_calls += cost.forward.calls + cost.backward.calls;
    return;
  }
  const bool pointwise = op.kind == Kind::kElementwise || op.kind == Kind::kActivation;
  (pointwise ? work.pointwise : work.forward) += cost.forward.calls;
  work.backward += cost.backward.calls;
  if (work.half && cost.tensor) work.casts += cost.forward.calls;
  // Of a told operator each pass comes by itself.
  if (op.told && op.told->as != graph::ToldUse::As::kForward) return;
  if (op.kind == Kind::kConv || op.kind == Kind::kDeconv) work.convs += count;
  if (op.kind == Kind::kNorm) work.norms += count;
  if (op.kind == Kind::kRecurrent) {
    work.recurrent_steps += count * static_cast<double>(op.steps) * Directions(graph, op);
  }
}

StepWork::Op WorkOf(const Query& query, const graph::Op& op, const graph::OpCost& cost,
                    OpClass of) {
  StepWork::Op out;
  out.of = of;
  out.tensor = cost.tensor;
  out.flops = {cost.forward.flops, cost.backward.flops};
  out.bytes = {cost.forward.bytes, cost.backward.bytes};
  out.kernels = cost.forward.kernels + cost.backward.kernels;
  out.steps = static_cast<double>(op.steps) * Directions(*query.graph, op);
  out.sum = Contraction(*query.graph, op);
  double weight = 0;
  for (const graph::TensorId id : op.inputs) {
    if (id == graph::kAbsent) continue;
    const graph::Tensor& tensor = query.graph->tensors[static_cast<std::size_t>(id)];
    const bool kept = tensor.role == graph::Role::kWeight || tensor.role == graph::Role::kConstant;
    if (kept) weight += Elements(tensor);
  }
  out.channels = std::max(1.0, out.sum > 0 ? weight / out.sum : 1.0);
  // An embedding's gradient is cleared first, which runs at nearly the peak; gathering does not.
  if (of == OpClass::kEmbedding && out.bytes[kBackward] > 0 && !op.inputs.empty() &&
      op.inputs[0] != graph::kAbsent) {
    const double table = 4 * Elements(query.graph->tensors[static_cast<std::size_t>(op.inputs[0])]);
    out.bytes[kBackward] =
        std::max(out.bytes[kBackward] - (1 - kClearing) * table, kClearing * out.bytes[kBackward]);
  }
  out.walk = WalkOf(*query.graph, op, of, query.run, *query.gpu);
  if (op.told) {
    const bool back = op.told->as == graph::ToldUse::As::kBackward;
    out.steps *= back ? 0 : op.told->count;  // a step's seconds are those of both passes
    const double forward = out.walk[kForward], backward = out.walk[kBackward];
    out.walk = {};
    if (back) {
      out.walk[kBackward] = backward * op.told->count;
    } else {
      out.walk[op.told->as == graph::ToldUse::As::kForward ? kForward : kBackward] =
          forward * op.told->count;
    }
  }
  return out;
}

// The copies that come before operators that want their operands in order, forward and back.
void AddCopies(StepWork& work, const Query& query) {
  const std::vector<double> copied = CopiedBefore(*query.graph);
  for (const double elements : copied) {
    if (!(elements > 0)) continue;
    StepWork::Op copy;
    copy.of = OpClass::kMove;
    copy.bytes[kForward] = kAcross * 2 * elements * (work.half ? 2 : 4);
    if (query.run.training) copy.bytes[kBackward] = copy.bytes[kForward];
    copy.kernels = query.run.training ? 2 : 1;
    work.pointwise += copy.kernels;
    work.ops.push_back(copy);
  }
}

// Of one pass of a told operator, all its calls: the table has a call at a time.
std::optional<OperatorTable::Told> ToldPass(const OperatorTable& table, const graph::Op& op,
                                            OperatorShape shape, const Roofline& roofline) {
  const bool back = op.told->as == graph::ToldUse::As::kBackward;
  const double count = std::max(op.told->count, 1e-9);
  // What runs forward within the backward pass is looked up as what it is.
  const std::size_t from = op.told->as == graph::ToldUse::As::kForward ? kForward : kBackward;
  const std::size_t pass = back ? kBackward : kForward;
  shape.flops[pass] = shape.flops[from] / count;
  shape.bytes[pass] = shape.bytes[from] / count;
  shape.walk[pass] = shape.walk[from] / count;
  auto told = table.Seconds(shape, pass, roofline);
  if (told) told->seconds *= count;
  return told;
}

// Forward and, where it returns, backward together; as sure as the less sure of the two.
std::optional<OperatorTable::Told> Told(const OperatorTable& table, const OperatorShape& shape,
                                        bool returns, const Roofline& roofline) {
  auto told = table.Seconds(shape, kForward, roofline);
  if (!told || !returns) return told;
  const auto back = table.Seconds(shape, kBackward, roofline);
  if (!back) return std::nullopt;
  told->seconds += back->seconds;
  told->support = std::min(told->support, back->support);
  return told;
}

}  // namespace

bool Computes(const core::GpuModel& gpu, graph::Precision precision) {
  switch (precision) {
    case graph::Precision::kFp32:
      return true;
    case graph::Precision::kTf32:
      return gpu.tf32_tflops.has_value();
    case graph::Precision::kFp16:
      return gpu.fp16_tflops.has_value();
    case graph::Precision::kBf16:
      return gpu.bf16_tflops.has_value();
  }
  return false;
}

bool HasMatrixUnits(const core::GpuModel& gpu, graph::Precision precision) {
  if (precision == graph::Precision::kFp32) return gpu.tf32_tflops.has_value();
  if (!Computes(gpu, precision)) return false;
  // Half precision on plain cores has twice their rate (P100); matrix units have more.
  constexpr double kPlainHalf = 2.5;
  return gpu.tf32_tflops.has_value() || gpu.fp16_tflops.value_or(0) > kPlainHalf * gpu.fp32_tflops;
}

double PeakFlops(const core::GpuModel& gpu, graph::Precision precision) {
  std::optional<double> tflops;
  if (precision == graph::Precision::kTf32) tflops = gpu.tf32_tflops;
  if (precision == graph::Precision::kFp16) tflops = gpu.fp16_tflops;
  if (precision == graph::Precision::kBf16) tflops = gpu.bf16_tflops;
  return std::max(tflops.value_or(gpu.fp32_tflops), 0.1) * 1e12;
}

void StepWork::Merge() {
  const auto key = [](const Op& op) {
    return std::tuple(op.of, op.tensor, op.sum, op.channels, op.flops, op.bytes, op.kernels,
                      op.steps, op.seconds, op.trust, op.walk, op.kernels_take);
  };
  std::sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) { return key(a) < key(b); });
  std::vector<Op> merged;
  for (std::size_t i = 0; i < ops.size();) {
    std::size_t end = i;
    while (end < ops.size() && key(ops[end]) == key(ops[i])) ++end;
    Op all = ops[i];
    const auto times = static_cast<double>(end - i);
    for (const std::size_t pass : {kForward, kBackward}) {
      all.flops[pass] *= times;
      all.bytes[pass] *= times;
      all.walk[pass] *= times;
    }
    all.kernels *= times;
    all.steps *= times;
    all.seconds *= times;
    merged.push_back(all);
    i = end;
  }
  ops = std::move(merged);
}

double StepWork::Gpu(const Rates& rates) const { return All(SecondsOf(*this, rates)); }

double StepWork::GpuOf(OpClass of, const Rates& rates) const {
  Seconds seconds;
  for (const Op& op : ops) {
    if (op.of == of) Add(seconds, *this, op, rates);
  }
  return All(seconds);
}

double StepWork::GpuRest(const Rates& rates) const { return All(RestOf(*this, rates)); }

double Base::Step(double gpu_seconds) const {
  const double overlapping = std::pow(gpu_seconds, overlap) + std::pow(host, overlap) +
                             std::pow(worker, overlap) + std::pow(pin, overlap);
  return std::pow(overlapping, 1 / overlap) + inline_load;
}

double Overlapping(double a, double b) {
  const double p = BuiltInRates().overlap;
  return std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
}

double Base::Load() const { return std::max({worker, pin, inline_load}); }

StepWork StepWorkOf(const Query& query, const graph::Cost& cost) {
  StepWork work;
  work.half = query.run.mixed();
  work.tensor_units = query.run.precision != graph::Precision::kFp32 &&
                      HasMatrixUnits(*query.gpu, query.run.precision);
  work.peak = PeakFlops(*query.gpu, query.run.precision);
  work.plain = PeakFlops(*query.gpu, graph::Precision::kFp32) / 2;
  work.bandwidth = std::max(query.gpu->bandwidth.value, 1e9);
  const Roofline roofline = RooflineOf(*query.gpu);
  const std::vector<bool> last = ChannelsLast(*query.graph);
  if (query.graph->told) {
    work.compiled = query.graph->told->step.compiled.value_or(false);
    work.checkpointing = query.graph->told->step.checkpointing.value_or(false);
  }
  const bool images_last = ImagesChannelsLast(*query.graph);
  graph::Work backward;
  // Most networks repeat their layers, and to ask the table is most of the work here.
  std::map<std::pair<OperatorShape, bool>, std::optional<OperatorTable::Told>> told;
  work.ops.reserve(query.graph->ops.size());
  AddCopies(work, query);
  for (std::size_t i = 0; i < query.graph->ops.size(); ++i) {
    const graph::Op& op = query.graph->ops[i];
    AddHost(work, *query.graph, op, cost.ops[i]);
    // What a told step adds up of gradients is no operator's.
    if (op.told && op.told->as == graph::ToldUse::As::kPlain && graph::IsSum(op)) continue;
    backward += cost.ops[i].backward;
    const OpClass of = ClassOf(*query.graph, op);
    if (of == OpClass::kNone) continue;
    work.ops.push_back(WorkOf(query, op, cost.ops[i], of));
    const bool channels_last = WrittenChannelsLast(*query.graph, op, images_last, work.compiled);
    work.ops.back().kernels_take =
        KernelsTake(*query.graph, op, of, query.run.precision, channels_last, work.compiled);
    const bool other_kernels = of == OpClass::kDepthwise && !op.inputs.empty() &&
                               op.inputs[0] != graph::kAbsent &&
                               (last[static_cast<std::size_t>(op.inputs[0])] || channels_last ||
                                (op.told && op.told->channels_last));
    if (other_kernels) {
      for (double& walk : work.ops.back().walk) walk *= kChannelsLastWalk;
    }
    // Recurrent layers go by their steps: cells of other shapes say little of them.
    if (query.operators == nullptr || other_kernels || of == OpClass::kRecurrent) continue;
    OperatorShape shape = ShapeOf(*query.graph, op, cost.ops[i], query.run);
    shape.walk = work.ops.back().walk;
    std::optional<OperatorTable::Told> seconds;
    if (op.told) {
      seconds = ToldPass(*query.operators, op, shape, roofline);
    } else {
      const bool returns = cost.ops[i].backward.kernels > 0;
      const auto [known, first] = told.try_emplace({shape, returns});
      if (first) known->second = Told(*query.operators, shape, returns, roofline);
      seconds = known->second;
    }
    if (!seconds) continue;
    work.ops.back().seconds = seconds->seconds;
    work.ops.back().trust = kLeastTrust + (kMostTrust - kLeastTrust) * seconds->support;
  }
  work.sum_bytes = cost.backward.bytes - backward.bytes;
  work.sum_kernels = cost.backward.kernels - backward.kernels;
  work.update_bytes = cost.update.bytes;
  work.update_kernels = cost.update.kernels;
  work.told = query.graph->told.has_value();
  if (work.told) {
    work.pointwise += cost.update.calls;  // one weight after the other
    work.update_ones = std::min(cost.update.calls, work.update_kernels);
    work.update_kernels -= work.update_ones;
  }
  work.copy_bytes = cost.input_bytes;
  // The loss is computed in full precision: log-softmax and its gradient, or the like.
  if (query.run.training) work.loss_bytes = cost.output_elements * (work.half ? 24 : 16);
  work.weights = cost.weights;
  work.batch = static_cast<double>(query.graph->batch);
  for (const graph::TensorId id : query.graph->inputs) {
    const graph::Tensor& tensor = query.graph->tensors[static_cast<std::size_t>(id)];
    (tensor.dtype == graph::DType::kFloat ? work.float_inputs : work.other_inputs) +=
        Elements(tensor);
    ++work.inputs;
  }
  work.workers = query.workers;
  work.host_time = query.host_time;
  return work;
}

Base BaseOf(const Query& query) {
  const graph::Flow flow = FlowOf(*query.graph, query.run);
  return BaseOf(query, CostOf(*query.graph, flow, query.run),
                MemoryOf(*query.graph, flow, query.run));
}

Base BaseOf(const Query& query, graph::Cost cost, const graph::Memory& memory) {
  Base base;
  const Rates& rates = query.rates != nullptr ? *query.rates : BuiltInRates();
  base.cost = std::move(cost);
  base.memory = memory;
  const StepWork work = StepWorkOf(query, base.cost);
  for (const StepWork::Op& op : work.ops) {
    const auto c = static_cast<std::size_t>(op.of);
    base.flops[c] += op.flops[0] + op.flops[1];
    base.bytes[c] += op.bytes[0] + op.bytes[1];
    base.kernels[c] += op.kernels;
    if (op.of == OpClass::kRecurrent) base.recurrent_steps += op.steps;
  }
  for (std::size_t i = 0; i < query.graph->ops.size(); ++i) {
    if (query.graph->ops[i].kind == Kind::kHost) continue;
    base.calls += base.cost.ops[i].forward.calls;
    const graph::Op& op = query.graph->ops[i];
    if (op.kind == Kind::kView) base.views += op.told ? op.told->count : 1;
  }
  const Seconds seconds = SecondsOf(work, rates);
  base.compute = seconds.compute;
  base.bandwidth = seconds.bandwidth;
  base.launch = seconds.launch;
  base.gpu = base.compute + base.bandwidth + base.launch;
  base.tabulated = base.gpu > 0 ? seconds.tabulated / base.gpu : 0;
  base.overlap = rates.overlap;
  base.host = work.Host(rates);
  base.float_inputs = work.float_inputs;
  base.other_inputs = work.other_inputs;
  if (work.workers > 0) {
    base.worker = work.Load(rates) / work.workers;
    base.pin = work.Pin(rates);
  } else {
    base.inline_load = work.Load(rates);
  }
  return base;
}

}  // namespace sharewell::predict
