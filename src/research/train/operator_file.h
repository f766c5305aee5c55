// Reads an operator table: docs/formats/operators.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/operator_table.h"

namespace sharewell::research {

// One table of one or more files. Cells that failed are left out. All must be of one GPU model.
core::Result<predict::OperatorTable> ReadOperatorFiles(const std::vector<std::string>& paths,
                                                       const catalogue::GpuCatalogue& catalogue);
core::Result<predict::OperatorTable> ReadOperatorText(std::string_view text,
                                                      const std::string& name,
                                                      const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::research
