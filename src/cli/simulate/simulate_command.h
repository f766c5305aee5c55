// The command `simulate`, which both programs have: they differ in what compares policies.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args/command.h"
#include "core/result.h"
#include "simulation/scenario.h"
#include "simulation/simulate.h"

namespace sharewell::cli {

using Comparer = core::Result<simulation::Comparison> (*)(const simulation::Scenario& scenario,
                                                          const std::vector<std::string>& policies,
                                                          simulation::CompareOptions options);

// `optima`: names of --policy that are none of the registry, but that `compare` knows.
std::unique_ptr<Command> NewSimulate(Comparer compare, std::span<const std::string_view> optima);

}  // namespace sharewell::cli
