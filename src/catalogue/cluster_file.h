// A cluster from a file or from a short word. Format: docs/formats/cluster.md.
#pragma once

#include <string>
#include <string_view>

#include "catalogue/gpu_catalogue.h"
#include "core/cluster.h"
#include "core/result.h"

namespace sharewell::catalogue {

// `spec` is the shorthand `64x8xV100` (nodes x GPUs x model; several joined by '+'), or the path of
// a TOML file or of openb's node list. models() come in order of first appearance. Errors are usage
// errors that name file, line and key, or explain both forms when `spec` is neither.
core::Result<core::Cluster> ReadCluster(const std::string& spec, const GpuCatalogue& catalogue);

// The same from a file's text; `name` stands in messages.
core::Result<core::Cluster> ReadClusterText(std::string_view text, const std::string& name,
                                            const GpuCatalogue& catalogue);

}  // namespace sharewell::catalogue
