// Operands in one line, as `sharewell inspect --json` and the operator table (operator_table.h)
// write them: "64x256x14x14:2g 256x256x3x3:4gw" is an activation of two bytes an element that wants
// a gradient, and a weight of four that wants one.
#pragma once

#include <string>

#include "graph/flow.h"
#include "graph/graph.h"

namespace sharewell::predict {

// An operand: dimensions ("?" where not known, "1" for a scalar), ":", bytes an element, then "g"
// if it wants a gradient, "w" for a weight, "c" for a constant, "i" for whole numbers. Absent
// optional operands are "-".
std::string OperandsOf(const graph::Graph& graph, const graph::Flow& flow, const graph::Op& op);

}  // namespace sharewell::predict
