#include "graph/step/update.h"

#include <algorithm>
#include <map>

#include "core/text/suggest.h"
#include "graph/run.h"
#include "graph/step/lower.h"

namespace sharewell::graph {
namespace {

// As UpdateOf in cost.cc: one launch takes so many tensors, or so many numbers.
constexpr double kTensorsALaunch = 60, kNumbersALaunch = 320.0 * 65'536;

struct Touched {
  double bytes = 0, numbers = 0, tensors = 0;
  bool scalars = true;  // steps' counters, which lie on the host
};

Touched Of(const ToldOperand& operand) {
  Touched out;
  for (const ToldTensor& tensor : operand.tensors) {
    const double many = static_cast<double>(tensor.many);
    out.bytes += tensor.Elements() * BytesOf(tensor.type) * many;
    out.numbers += tensor.Elements() * many;
    out.tensors += many;
    out.scalars = out.scalars && tensor.dims.empty();
  }
  return out;
}

// In place, nothing is told to come out. Fused kernels write weights and states, not gradients.
double Written(const ToldOperator& op, const ToldName& name) {
  double bytes = 0;
  for (const ToldOperand& operand : op.out) bytes += Of(operand).bytes;
  if (bytes > 0 || !name.in_place) return bytes;
  const bool fused = name.op.starts_with("_fused");
  for (std::size_t i = 0; i < op.in.size(); ++i) {
    if (i == 0 || (fused && i > 1 && op.in[i].is_list)) bytes += Of(op.in[i]).bytes;
    if (!fused) break;
  }
  return bytes;
}

}  // namespace

// On a CPU PyTorch goes from weight to weight unless it is told otherwise, on a GPU it does not: a
// loop that was told on a CPU is taken for lists of weights, by operator.
void AddUpdate(const ToldStep& step, const std::vector<ToldClass>& classes, ToldGraph& to) {
  const bool would_be_lists = step.device == "cpu" || step.device == "meta";
  std::map<std::vector<std::int64_t>, double> weights;  // of loops over weights: calls by shape
  std::map<std::string, Touched> looped_lists;
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const ToldOperator& op = step.operators[i];
    const bool lists = classes[i].what == ToldClass::What::kUpdate;
    if (!lists && op.pass != ToldPass::kUpdate) continue;
    if (classes[i].what == ToldClass::What::kHost || op.view || op.in.empty()) continue;
    const ToldName name = NameOf(op);
    const double count = static_cast<double>(op.count);
    Touched all, first = Of(op.in[0]);
    for (const ToldOperand& operand : op.in) all.bytes += Of(operand).bytes;
    if (first.scalars) continue;
    double launches = 1;
    if (lists) {
      launches = std::max(1.0, first.tensors / kTensorsALaunch + first.numbers / kNumbersALaunch);
      to.trained_tensors = std::max(to.trained_tensors, first.tensors);
    } else {
      if (would_be_lists) {
        Touched& list = looped_lists[op.op];
        list.tensors += count;
        list.numbers += count * first.numbers;
      } else {
        to.update_calls += count;
      }
      for (const ToldTensor& tensor : op.in[0].tensors) {
        if (tensor.role != ToldRole::kTrained) continue;
        double& calls = weights[tensor.dims];
        calls = std::max(calls, count);
      }
    }
    to.update_flops += count * first.numbers;
    to.update_bytes += count * (all.bytes + Written(op, name));
    if (lists || !would_be_lists) to.update_kernels += count * launches;
  }
  for (const auto& [name, list] : looped_lists) {
    to.update_kernels +=
        std::max(1.0, list.tensors / kTensorsALaunch + list.numbers / kNumbersALaunch);
  }
  double looped = 0;
  for (const auto& [dims, calls] : weights) looped += calls;
  to.trained_tensors = std::max(to.trained_tensors, looped);
}

Run RunOf(const ToldStep& step) {
  Run run;
  const std::string& precision = step.autocast.empty() ? step.precision : step.autocast;
  run.precision = precision == "bf16"   ? Precision::kBf16
                  : precision == "fp16" ? Precision::kFp16
                  : precision == "tf32" ? Precision::kTf32
                                        : Precision::kFp32;
  const ToldMemory& memory = step.memory;
  const std::string name = core::LowerCase(step.optimizer);
  if (memory.optimizer && memory.parameters && *memory.parameters > 0) {
    const double states = *memory.optimizer / *memory.parameters;
    run.optimizer = states > 1.5   ? Optimizer::kAdam
                    : states > 0.5 ? Optimizer::kMomentum
                                   : Optimizer::kSgd;
  } else if (name.find("adam") != std::string::npos || name.find("lamb") != std::string::npos ||
             name.find("adan") != std::string::npos) {
    run.optimizer = Optimizer::kAdam;
  }
  return run;
}

}  // namespace sharewell::graph
