// PostgreSQL behind Database, through libpq. Its tables lie in a schema of their own, `sharewell`.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

// Connects, and makes the tables where they are not there. A connection that is lost later is made
// again by the next Begin(). No error shows the password that `url` may have.
core::Result<std::unique_ptr<Database>> OpenPostgres(const std::string& url);

}  // namespace sharewell::store
