// The database behind a store's name.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

bool IsPostgres(const std::string& where);  // else it is a file

// `where` as store::Open has it; with the schema of this program.
core::Result<std::unique_ptr<Database>> OpenDatabase(const std::string& where);

}  // namespace sharewell::store
