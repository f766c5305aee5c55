// SQLite behind Database: one file, write-ahead log, every commit on disk before it returns.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

// Made when it is not there, in a folder that is (the default one is made too). Refuses a folder, a
// file that is no database, and another program's database. A file that may only be read is opened
// for reading.
core::Result<std::unique_ptr<Database>> OpenSqlite(const std::string& path);

}  // namespace sharewell::store
