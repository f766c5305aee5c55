// `sharewell kubernetes inject`: pods from its input, with what they need to be placed by us.
#pragma once

#include <string>

#include "cli/args/command.h"
#include "core/result.h"

namespace sharewell::cli {

// `model`: a model file, of which the pods' needs are predicted here and now, for the batch,
// precision and GPU model that their annotations name; empty: nothing is predicted.
core::Result<ExitCode> InjectFromInput(const std::string& scheduler, const std::string& model);

}  // namespace sharewell::cli
