#include "predict/features.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sharewell::predict {
namespace {

constexpr double kContext = 1.449e9;  // bytes that a PyTorch process holds before its first tensor
constexpr double kMiB = 1024.0 * 1024.0;

bool IsMemory(Figure figure) { return figure == Figure::kMemory || figure == Figure::kReserved; }

double Log(double value, double least) { return std::log(std::max(value, least)); }

// Names and values come from one list, so that they cannot drift apart.
template <class Add>
void Collect(Figure figure, const Query* query, const Base* base, double gpu_seconds, Add add) {
  const auto put = [&](std::string name, auto value) { add(std::move(name), value); };
  const auto kernels = [](const Base& b) {
    return std::max(1.0, b.cost.forward.kernels + b.cost.backward.kernels + b.cost.update.kernels);
  };
  const auto traffic = [](const Base& b) {
    return std::max(1.0, b.cost.forward.bytes + b.cost.backward.bytes);
  };
  put("gpu", [&] { return Log(base->gpu, 1e-7); });
  put("host", [&] { return Log(base->host, 1e-7); });
  put("load", [&] { return Log(base->Load(), 1e-6); });
  put("gpu/host", [&] { return Log(base->gpu, 1e-7) - Log(base->host, 1e-7); });
  put("gpu/load", [&] { return Log(base->gpu, 1e-7) - Log(base->Load(), 1e-5); });
  put("host/load", [&] { return Log(base->host, 1e-7) - Log(base->Load(), 1e-5); });
  put("batch", [&] { return Log(static_cast<double>(query->graph->batch), 1); });
  put("params", [&] { return Log(base->cost.params, 1); });
  put("macs", [&] { return Log(base->cost.macs, 1); });
  put("kernel_time", [&] { return Log(base->gpu / kernels(*base), 1e-9); });
  put("kernels", [&] { return Log(kernels(*base), 1); });
  put("half", [&] { return query->run.mixed() ? 1.0 : 0.0; });
  put("workers", [&] { return static_cast<double>(query->workers); });
  put("inline", [&] { return query->workers == 0 ? 1.0 : 0.0; });
  put("float_inputs", [&] { return Log(base->float_inputs, 1); });
  put("other_inputs", [&] { return Log(base->other_inputs, 1); });
  put("intensity", [&] {
    return Log((base->cost.forward.flops + base->cost.backward.flops) / traffic(*base), 1e-3);
  });
  put("activations", [&] { return Log(base->memory.activations, 1); });
  put("activation_size", [&] { return Log(base->memory.activations / kernels(*base), 1); });
  put("update", [&] { return Log(base->cost.update.bytes / traffic(*base), 1e-6); });
  put("compute_share", [&] { return base->gpu > 0 ? base->compute / base->gpu : 0; });
  put("launch_share", [&] { return base->gpu > 0 ? base->launch / base->gpu : 0; });
  put("host_time", [&] { return Log(query->host_time, 1e-3); });
  put("recurrent", [&] { return Log(base->recurrent_steps, 1); });
  put("views", [&] { return base->views / std::max(1.0, base->calls); });
  for (std::size_t c = 0; c < kOpClasses; ++c) {
    put("bytes_" + std::string(kOpClassNames[c]),
        [&, c] { return base->bytes[c] / traffic(*base); });
    put("kernels_" + std::string(kOpClassNames[c]),
        [&, c] { return base->kernels[c] / kernels(*base); });
    if (c <= static_cast<std::size_t>(OpClass::kAttention)) {
      put("flops_" + std::string(kOpClassNames[c]), [&, c] {
        return base->flops[c] / std::max(1.0, base->cost.forward.flops + base->cost.backward.flops);
      });
    }
  }
  if (IsMemory(figure)) {
    const auto part = [&](double graph::Memory::*which, const char* name) {
      put(std::string("memory_") + name, [&, which] { return Log(base->memory.*which, 1e6); });
      put(std::string("memory_share_") + name,
          [&, which] { return base->memory.*which / std::max(1.0, base->memory.Peak()); });
    };
    put("memory_peak", [&] { return Log(base->memory.Peak(), 1e6); });
    part(&graph::Memory::weights, "weights");
    part(&graph::Memory::saved, "saved");
    part(&graph::Memory::transient, "transient");
    part(&graph::Memory::copies, "copies");
    part(&graph::Memory::inputs, "inputs");
    part(&graph::Memory::workspace, "workspace");
  } else if (figure != Figure::kBusySeconds) {
    put("busy", [&] { return Log(gpu_seconds, 1e-7); });
    put("busy/host", [&] { return Log(gpu_seconds, 1e-7) - Log(base->host, 1e-7); });
    put("busy/load", [&] { return Log(gpu_seconds, 1e-7) - Log(base->Load(), 1e-5); });
  }
}

}  // namespace

std::vector<std::string> FeatureNames(Figure figure) {
  std::vector<std::string> names;
  Collect(figure, nullptr, nullptr, 0,
          [&](std::string name, const auto&) { names.push_back(std::move(name)); });
  return names;
}

bool IsOfGpu(std::string_view feature) {
  constexpr std::string_view kOfGpu[] = {"gpu",         "gpu/host",      "gpu/load",
                                         "kernel_time", "compute_share", "launch_share",
                                         "busy",        "busy/host",     "busy/load"};
  return std::find(std::begin(kOfGpu), std::end(kOfGpu), feature) != std::end(kOfGpu);
}

std::vector<double> FeaturesOf(Figure figure, const Query& query, const Base& base,
                               double gpu_seconds) {
  std::vector<double> values;
  values.reserve(96);
  Collect(figure, &query, &base, gpu_seconds,
          [&](const std::string&, const auto& value) { values.push_back(value()); });
  return values;
}

double BaseFigure(Figure figure, const Query& query, const Base& base, double gpu_seconds,
                  double step_seconds) {
  const double busy = std::clamp(gpu_seconds / step_seconds, 0.0, 1.0);
  const core::GpuModel& gpu = *query.gpu;
  switch (figure) {
    case Figure::kBusySeconds:
      return base.gpu;
    case Figure::kStepSeconds:
      return base.Step(gpu_seconds);
    case Figure::kBusy:
      return busy;
    case Figure::kSm:
      return 0.75 * busy;
    case Figure::kDram:
      return std::min(
          1.0, (base.cost.forward.bytes + base.cost.backward.bytes + base.cost.update.bytes) /
                   step_seconds / std::max(gpu.bandwidth.value, 1e9));
    case Figure::kTensor: {
      // Plain fp32 leaves the matrix units alone.
      const bool used = query.run.precision != graph::Precision::kFp32;
      const double flops = (query.run.training ? 6 : 2) * base.cost.macs;
      return (used ? 1 : 0.001) *
             std::min(1.0, flops / step_seconds / PeakFlops(gpu, graph::Precision::kFp16));
    }
    case Figure::kMemory:
      return kContext + base.memory.Peak();
    case Figure::kReserved:
      return base.memory.Peak() + 3e8;
    case Figure::kPcie:
      return base.cost.input_bytes / step_seconds + 50 * kMiB;
    case Figure::kCores: {
      const double loader = query.workers > 0 ? base.worker * query.workers / step_seconds : 0;
      return 1.05 + std::min<double>(query.workers, loader);
    }
    case Figure::kHostMemory:
      return 1.4e9 + 5e8 * query.workers;
    case Figure::kPower: {
      const double limit = gpu.power_limit ? gpu.power_limit->value : 400;
      const double idle = gpu.idle_power ? gpu.idle_power->value : 0.115 * limit;
      return idle + 0.645 * (limit - idle) * busy;
    }
  }
  return 0;
}

}  // namespace sharewell::predict
