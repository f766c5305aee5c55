#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/key_digest.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {
namespace {

void Append(std::string& line, const std::vector<ToldOperand>& operands) {
  for (const ToldOperand& operand : operands) {
    line += operand.is_list ? " [" : " (";
    for (const ToldTensor& tensor : operand.tensors) {
      line += fmt::format("{}:{}:{}*{} ", static_cast<int>(tensor.role), NameOf(tensor.type),
                          fmt::join(tensor.dims, "x"), tensor.many);
    }
  }
}

// Operators may come in another order, and their arguments too.
std::string LineOf(const ToldOperator& op) {
  std::string line = fmt::format("{} {} {} in", op.op, NameOf(op.pass), op.count);
  Append(line, op.in);
  line += " out";
  Append(line, op.out);
  std::vector<std::string> arguments;
  arguments.reserve(op.arg.size());
  for (const auto& [name, numbers] : op.arg) {
    arguments.push_back(fmt::format("{}={}", name, fmt::join(numbers, ",")));
  }
  std::sort(arguments.begin(), arguments.end());
  line += fmt::format(" arg {}", fmt::join(arguments, " "));
  return line;
}

std::string Digest(const std::vector<std::string>& lines) {
  return core::TextOf(core::DigestOf(fmt::format("{}", fmt::join(lines, "\n"))));
}

int Told(const std::optional<bool>& flag) { return flag ? static_cast<int>(*flag) : -1; }

}  // namespace

Fingerprint FingerprintOf(const ToldStep& step) {
  std::vector<std::string> lines;
  std::set<std::string> shapes, names;
  lines.reserve(step.operators.size());
  for (const ToldOperator& op : step.operators) {
    lines.push_back(LineOf(op));
    names.insert(op.op);
    for (const ToldOperand& operand : op.in) {
      for (const ToldTensor& tensor : operand.tensors) {
        if (tensor.role == ToldRole::kOrdinary) continue;
        shapes.insert(
            fmt::format("{}:{}", static_cast<int>(tensor.role), fmt::join(tensor.dims, "x")));
      }
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.push_back(fmt::format(
      "batch {} precision '{}' autocast '{}' accumulation {} compiled {} checkpointing {} "
      "channels_last {} optimizer '{}' world {}",
      step.batch.value_or(0), step.precision, step.autocast, step.accumulation.value_or(0),
      Told(step.compiled), Told(step.checkpointing), Told(step.channels_last), step.optimizer,
      step.world_size.value_or(0)));
  std::vector<std::string> model(shapes.begin(), shapes.end());
  model.emplace_back("operators");
  model.insert(model.end(), names.begin(), names.end());
  return {Digest(lines), Digest(model)};
}

}  // namespace sharewell::graph
