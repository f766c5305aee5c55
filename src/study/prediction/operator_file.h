// Reads an operator table: docs/formats/operators.md.
#pragma once

#include <string>
#include <string_view>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "predict/operator_table.h"

namespace sharewell::study {

// Cells that failed are left out. All must be of one GPU model.
core::Result<predict::OperatorTable> ReadOperatorFile(const std::string& path,
                                                      const catalogue::GpuCatalogue& catalogue);
core::Result<predict::OperatorTable> ReadOperatorText(std::string_view text,
                                                      const std::string& name,
                                                      const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::study
