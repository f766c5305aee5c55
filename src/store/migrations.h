// The schema, as the list of steps that lead to it. A store says in its table `meta` how far it has
// come; that table never changes.
#pragma once

#include <span>

#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

struct Schema {
  const char* has_meta;                // a query: 1 where there is a table `meta`, else 0
  std::span<const char* const> steps;  // one that was released is never edited
};
Schema SqliteSchema();
Schema PostgresSchema();

// Takes the steps that are missing, all or none; writes nothing where none is. Refuses a store that
// has come further than `schema`, and says which program wrote it.
core::Result<void> Migrate(Database& database, const Schema& schema);

}  // namespace sharewell::store
