// A plan, an observation or a decision as text: two of them are the same when their texts are, and
// a failing test shows what differs. Numbers are written to the last bit.
#pragma once

#include <string>

#include "core/plan.h"
#include "engine/engine.h"

namespace sharewell::fixtures {

std::string TextOf(const core::Allocation& where);
// All that will be done, with its reasons, a line each. Without the waits: those are told when
// their reason changes, which only a kept memo knows.
std::string ActionsOf(const core::Plan& plan);
std::string WaitsOf(const core::Plan& plan);
std::string TextOf(const engine::Observation& observation);

}  // namespace sharewell::fixtures
