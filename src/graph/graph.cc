#include "graph/graph.h"

#include <array>

namespace sharewell::graph {

int BytesOf(DType type) {
  switch (type) {
    case DType::kDouble:
    case DType::kInt64:
      return 8;
    case DType::kHalf:
      return 2;
    case DType::kByte:
      return 1;
    case DType::kUnknown:
    case DType::kFloat:
    case DType::kInt32:
      break;
  }
  return 4;
}

double Elements(const Tensor& tensor) {
  if (!tensor.dims) return 0;
  double elements = 1;
  for (const std::int64_t dim : *tensor.dims) elements *= static_cast<double>(dim);
  return elements;
}

std::string_view NameOf(Kind kind) {
  constexpr std::array<std::string_view, 18> kNames = {
      "conv",      "deconv",     "matmul",      "attention", "recurrent", "norm",
      "softmax",   "activation", "elementwise", "reduction", "pool",      "resample",
      "embedding", "move",       "dropout",     "view",      "host",      "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace sharewell::graph
