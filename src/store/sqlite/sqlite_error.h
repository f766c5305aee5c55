// What SQLite's codes mean for a person.
#pragma once

#include <sqlite3.h>

#include <string>

#include "core/result.h"

namespace sharewell::store {

// How long another process may keep us waiting for the file.
constexpr int kBusyMilliseconds = 3000;

// `database` may be null. `code` is an extended one.
tl::unexpected<core::Error> SqliteError(const std::string& path, sqlite3* database, int code);

// "process 17 (sqlite3)", or empty when it cannot be told. Read from /proc/locks: the file itself
// must not be opened beside SQLite, closing it would drop our own locks.
std::string LockHolder(const std::string& path);

}  // namespace sharewell::store
