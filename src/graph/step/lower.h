// Lower: from a told step to a graph. Operators keep their pass and count, and come with tensors of
// their own: a told step does not say which operator reads what another made. Multiply-accumulates
// come from shapes, by the same table as torch.export's operators (pt2/aten.h).
//
// What other graphs have derived is counted with the operator that it belongs to, so that both are
// priced alike: products of the backward pass with the forward product of the same size, copies to
// half precision with the product that reads them, the loss with what it reads.
#pragma once

#include <string>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/run.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

// A usage error where `binding` asks for another batch than the step's, or it has no operator.
core::Result<Graph> LowerStep(ToldStep step, const std::string& name, const Binding& binding);

// Reads and lowers.
core::Result<Graph> ReadStepGraph(std::string_view json, const std::string& name,
                                  const Binding& binding);

// How the step was run, as far as a Run can say it.
Run RunOf(const ToldStep& step);

}  // namespace sharewell::graph
