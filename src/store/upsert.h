// The SQL of an upsert, the same for both databases.
#pragma once

#include <string>

#include "store/sql.h"

namespace sharewell::store {

// "slot, samples, data": the key's columns, then the others.
std::string ColumnsOf(const Table& table);
// "ON CONFLICT(slot) DO UPDATE SET samples = excluded.samples, ..."
std::string OnConflict(const Table& table);
// One row, its values as $1, $2 ...
std::string UpsertSql(const Table& table);

}  // namespace sharewell::store
