// Multiply-accumulates from shapes. Nothing where a shape that is needed is not known or does not
// fit the operator.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sharewell::graph::pt2 {

using MaybeMacs = std::optional<double>;

double ElementsOf(const Dims& dims);

// Weight as [out, in / groups, window...]; transposed: [in, out / groups, window...].
MaybeMacs ConvMacs(const std::optional<Dims>& out, const std::optional<Dims>& weight);
MaybeMacs DeconvMacs(const std::optional<Dims>& in, const std::optional<Dims>& weight);

// Contracts the last dimension of the first operand.
MaybeMacs ProductMacs(const std::optional<Dims>& first, const std::optional<Dims>& out);

// "bij,bjk->bik": every index once. More than two operands are costed as one nest of loops, which
// is an upper bound.
MaybeMacs EinsumMacs(std::string_view equation, const std::vector<std::optional<Dims>>& operands);

// Both products. q, k, v as [..., tokens, width], or [..., tokens, heads, width] when by token.
MaybeMacs AttentionMacs(const std::optional<Dims>& q, const std::optional<Dims>& k,
                        const std::optional<Dims>& v, bool by_token);

}  // namespace sharewell::graph::pt2
