// Update: what the optimizer of a told step does, and how a Run says it. Private to step/.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/step/classify.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

// Sums up what works on lists of weights, in whichever pass, and all else of the update.
void AddUpdate(const ToldStep& step, const std::vector<ToldClass>& classes, ToldGraph& to);

}  // namespace sharewell::graph
