// Numbers: the contents of a small tensor, where they are known without running the model.
//
// Exporters compute shapes inside the graph (Shape, Gather, Concat, ..., Reshape), so shapes can
// only be inferred by following those few numbers. Weights are never read: only integers, and reals
// such as Resize's scales, and of both only tensors of at most kMostNumbers elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph::onnx {

// Integers (also booleans) or reals, in row-major order.
using Numbers = std::variant<std::vector<std::int64_t>, std::vector<double>>;

std::size_t CountOf(const Numbers& numbers);
bool IsReal(const Numbers& numbers);
// As integers, reals rounded towards zero; what no integer can hold becomes the nearest one.
std::vector<std::int64_t> Integers(const Numbers& numbers);
std::vector<double> Reals(const Numbers& numbers);

// The elements at these places. REQUIRES: each below CountOf(numbers).
Numbers Picked(const Numbers& numbers, std::span<const std::size_t> places);

// The type of the IR for TensorProto.DataType.
DType TypeOf(int element_type);
bool IsFloat(DType type);

// The tensor's contents; none where it is large, lies in another file, holds text, or has fewer
// bytes than its shape asks for.
std::optional<Numbers> NumbersOf(const wire::TensorData& tensor);

// Product of the dims, or none above `most` and on negative ones.
std::optional<std::size_t> CountWithin(std::span<const std::int64_t> dims, std::size_t most);

}  // namespace sharewell::graph::onnx
