// What jobs are taken to be of which a trace does not say what they train. Format of a file:
// docs/formats/workload-mix.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::catalogue {

struct MixPart {
  std::size_t line = 0;     // of the file, from 1
  core::Workload workload;  // its name is not empty
  double weight = 1;        // above 0
};

// `busy`: each keeps its GPU so busy. Else the workloads of `parts`, drawn by their weights; of
// none, all that were measured, each as likely as another.
struct WorkloadMix {
  std::string given = "catalogue";  // on the command line
  std::optional<core::Ratio> busy = {};
  std::vector<MixPart> parts = {};
};

// "catalogue", "busy:0.4" or the path of a file. Errors are usage errors, with file and line.
core::Result<WorkloadMix> ReadMix(const std::string& given);

// The same from a file's text; `name` stands in messages.
core::Result<WorkloadMix> ReadMixText(std::string_view text, const std::string& name);

}  // namespace sharewell::catalogue
