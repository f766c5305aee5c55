// Operators that work element by element, or keep their first operand's shape: arithmetic,
// activations, normalisations, casts, scatters.
#pragma once

#include <optional>

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

// The shape both stretch to, by numpy's rules; none when they do not fit.
std::optional<Dims> Stretched(const Dims& a, const Dims& b);

void SameShape(Node& node);        // output 0 like input 0
void SameShapeAsBool(Node& node);  // IsNaN, Not
void StretchedShape(Node& node);   // Add, Mul, Max, ...: all inputs stretched to one shape
void StretchedAsBool(Node& node);  // Equal, Less, And, ...
void WhereShape(Node& node);
void CastShape(Node& node);
void DropoutShape(Node& node);
void NormShape(Node& node);      // and the statistics behind it
void SkipNormShape(Node& node);  // contrib: outputs 0 and 3 like the input
void QuantizeShape(Node& node);
void DequantizeShape(Node& node);
void DynamicQuantizeShape(Node& node);
void ReduceShape(Node& node);
void ArgReduceShape(Node& node);
void LossShape(Node& node);  // cross entropy: a number, or one for each target

}  // namespace sharewell::graph::onnx
