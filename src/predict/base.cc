#include "predict/base.h"

#include <algorithm>
#include <cmath>

namespace sharewell::predict {
namespace {

using graph::Kind;

// Shares of the peak rates that a class reaches, in mixed precision and in full, and what a kernel
// costs however small.
struct Rates {
  double half_flops, half_bytes;
  double full_flops, full_bytes;
  double kernel;  // seconds
};

constexpr std::array<Rates, kOpClasses> kRates = {{
    {.60, .0186, .37, .401, 6.2e-6},   // stem: weight gradients of three channels crawl
    {.976, .745, .476, .51, 3.5e-6},   // pointwise
    {.88, .122, .446, .499, 1.35e-5},  // conv: cuDNN changes the layout there and back
    {.05, .0318, .05, .053, 6.1e-6},   // depthwise
    {.60, .119, .551, .502, 5.5e-6},   // grouped
    {.719, .672, .671, .495, 4.9e-6},  // matmul
    {.631, .60, .55, .50, 5.3e-6},     // attention
    {1, .193, 1, .667, 1.75e-5},       // norm
    {1, .695, 1, .571, 1.2e-5},        // activation
    {1, .42, 1, .498, 1.5e-6},         // elementwise
    {1, .0587, 1, .545, 6.1e-6},       // softmax
    {1, .451, 1, .549, 5.8e-6},        // pool
    {1, .255, 1, .229, 5.6e-6},        // embedding
    {1, .584, 1, .481, 3.4e-6},        // move
    {.423, 1, .423, 1, 0},             // recurrent: see kRecurrentStep
}};
constexpr double kRecurrentStep = 2.5 * 1.04e-5;  // seconds a time step, forward and back
constexpr double kRecurrentHalfStep = 2.5 * 1.34e-5;
// Matrix units fill slowly: at this length of sums, and this many outputs, half the rate is lost.
constexpr double kHalfRateSum = 106;
constexpr double kHalfRateChannels = 5.2;
constexpr double kHalfRateGroupSum = 16;
constexpr double kUpdateBytes = 1.1;  // foreach kernels hit in L2
constexpr double kUpdateKernel = 6.2e-5;

// What the host spends, in seconds on our reference host (16 cores of a Xeon, PyTorch 2.11).
constexpr double kHostStep = 2.6e-3;
constexpr double kHostForward = 9.6e-5;  // a module's call and its kernels
constexpr double kHostPointwise = .233 * kHostForward;
constexpr double kHostBackward = 2.4e-5;
constexpr double kHostView = 1.5e-5;
constexpr double kHostCast = 2.2e-5;
constexpr double kHostConv = 3.1e-5;
constexpr double kHostNorm = 1.8e-5;
constexpr double kHostRecurrentStep = 3.9e-5;
constexpr double kHostWeight = 4.9e-6;  // the optimizer's walk over the weights
constexpr double kLoadSample = 1.6e-5;
constexpr double kLoadFloat = 7.0e-9;  // crop, flip, scale: an element
constexpr double kLoadOther = 6.6e-9;
constexpr double kPinFloat = 1.5e-9;
constexpr double kPinOther = 1.0e-9;
constexpr double kOverlap = 3.24;  // the norm that joins what overlaps: 1 adds, infinity hides all

double Saturation(const graph::Graph& graph, const graph::Op& op, OpClass of, bool tensor_units) {
  const double sum = Contraction(graph, op);
  if (of == OpClass::kGrouped) return sum / (sum + kHalfRateGroupSum);
  const bool product = of == OpClass::kPointwise || of == OpClass::kConv || of == OpClass::kMatMul;
  if (!product || !tensor_units) return 1;
  double share = sum / (sum + kHalfRateSum);
  if (of != OpClass::kMatMul) {
    double weight = 0;
    for (const graph::TensorId id : op.inputs) {
      if (graph::IsWeight(graph, id))
        weight += Elements(graph.tensors[static_cast<std::size_t>(id)]);
    }
    const double channels = std::max(1.0, sum > 0 ? weight / sum : 1.0);
    share *= channels / (channels + kHalfRateChannels);
  }
  return share;
}

struct Peaks {
  double product, plain, bandwidth;
};

void AddOp(Base& base, const Query& query, const graph::Op& op, const graph::OpCost& cost,
           const Peaks& peaks) {
  const OpClass of = ClassOf(*query.graph, op);
  if (of == OpClass::kNone) return;
  const auto c = static_cast<std::size_t>(of);
  const double flops = cost.forward.flops + cost.backward.flops;
  const double bytes = cost.forward.bytes + cost.backward.bytes;
  const double kernels = cost.forward.kernels + cost.backward.kernels;
  base.flops[c] += flops;
  base.bytes[c] += bytes;
  base.kernels[c] += kernels;
  const Rates& rates = kRates[c];
  const bool half = query.run.mixed();
  if (of == OpClass::kRecurrent) {
    base.recurrent_steps += static_cast<double>(op.steps);
    base.compute += flops / (peaks.product * rates.half_flops);
    base.launch += static_cast<double>(op.steps) * (half ? kRecurrentHalfStep : kRecurrentStep);
    return;
  }
  const bool tensor_units = query.run.precision != graph::Precision::kFp32 &&
                            HasMatrixUnits(*query.gpu, query.run.precision);
  const double reach = tensor_units ? rates.half_flops : rates.full_flops;
  const double rate = (cost.tensor ? peaks.product : peaks.plain) * reach *
                      Saturation(*query.graph, op, of, tensor_units);
  const double stream = peaks.bandwidth * (half ? rates.half_bytes : rates.full_bytes);
  for (const graph::Work& work : {cost.forward, cost.backward}) {
    const double arithmetic = cost.tensor && rate > 0 ? work.flops / rate : 0;
    const double traffic = work.bytes / stream;
    (arithmetic > traffic ? base.compute : base.bandwidth) += std::max(arithmetic, traffic);
  }
  base.launch += kernels * rates.kernel;
}

void AddHost(Base& base, const graph::Op& op, const graph::OpCost& cost, bool half) {
  if (op.kind == Kind::kHost) return;
  base.calls += cost.forward.calls;
  if (op.kind == Kind::kView) {
    base.views += 1;
    base.host += (cost.forward.calls + cost.backward.calls) * kHostView;
    return;
  }
  const bool pointwise = op.kind == Kind::kElementwise || op.kind == Kind::kActivation;
  base.host += cost.forward.calls * (pointwise ? kHostPointwise : kHostForward) +
               cost.backward.calls * kHostBackward;
  if (half && cost.tensor) base.host += cost.forward.calls * kHostCast;
  if (op.kind == Kind::kConv || op.kind == Kind::kDeconv) base.host += kHostConv;
  if (op.kind == Kind::kNorm) base.host += kHostNorm;
  if (op.kind == Kind::kRecurrent) base.host += static_cast<double>(op.steps) * kHostRecurrentStep;
}

void AddLoader(Base& base, const Query& query) {
  for (const graph::TensorId id : query.graph->inputs) {
    const graph::Tensor& tensor = query.graph->tensors[static_cast<std::size_t>(id)];
    (tensor.dtype == graph::DType::kFloat ? base.float_inputs : base.other_inputs) +=
        Elements(tensor);
  }
  const double load = (static_cast<double>(query.graph->batch) * kLoadSample +
                       base.float_inputs * kLoadFloat + base.other_inputs * kLoadOther) *
                      query.host_time;
  if (query.workers > 0) {
    base.worker = load / query.workers;
    base.pin = (base.float_inputs * kPinFloat + base.other_inputs * kPinOther) * query.host_time;
  } else {
    base.inline_load = load;
  }
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

double Base::Step(double gpu_seconds) const {
  const double overlapping = std::pow(gpu_seconds, kOverlap) + std::pow(host, kOverlap) +
                             std::pow(worker, kOverlap) + std::pow(pin, kOverlap);
  return std::pow(overlapping, 1 / kOverlap) + inline_load;
}

double Overlapping(double a, double b) {
  return std::pow(std::pow(a, kOverlap) + std::pow(b, kOverlap), 1 / kOverlap);
}

double Base::Load() const { return std::max({worker, pin, inline_load}); }

Base BaseOf(const Query& query) {
  Base base;
  const graph::Flow flow = FlowOf(*query.graph, query.run);
  base.cost = CostOf(*query.graph, flow, query.run);
  base.memory = MemoryOf(*query.graph, flow, query.run);
  const Peaks peaks{PeakFlops(*query.gpu, query.run.precision),
                    PeakFlops(*query.gpu, graph::Precision::kFp32) / 2,
                    std::max(query.gpu->bandwidth.value, 1e9)};
  graph::Work backward;
  for (std::size_t i = 0; i < query.graph->ops.size(); ++i) {
    const graph::Op& op = query.graph->ops[i];
    AddOp(base, query, op, base.cost.ops[i], peaks);
    AddHost(base, op, base.cost.ops[i], query.run.mixed());
    backward += base.cost.ops[i].backward;
  }
  // Gradients that several readers send back are added up, operator by operator of their own.
  const Rates& sums = kRates[static_cast<std::size_t>(OpClass::kElementwise)];
  base.launch += (base.cost.backward.kernels - backward.kernels) * sums.kernel;
  base.bandwidth +=
      (base.cost.backward.bytes - backward.bytes) / (peaks.bandwidth * sums.half_bytes);
  base.bandwidth += base.cost.update.bytes / (peaks.bandwidth * kUpdateBytes);
  base.launch += base.cost.update.kernels * kUpdateKernel;
  base.gpu = base.compute + base.bandwidth + base.launch;
  base.host = (base.host + kHostStep + base.cost.weights * kHostWeight) * query.host_time;
  AddLoader(base, query);
  return base;
}

}  // namespace sharewell::predict
