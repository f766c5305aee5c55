#include <string_view>

#include "core/shown.h"
#include "store/postgres/postgres_database.h"
#include "store/sql_store.h"
#include "store/sqlite/sqlite_database.h"
#include "store/store.h"

namespace sharewell::store {

core::Result<std::unique_ptr<Store>> Open(const std::string& where) {
  if (where.empty()) {
    return core::UsageError("the store has no name: give a file, or postgresql://USER@HOST/NAME");
  }
  const bool postgres = where.starts_with("postgresql://") || where.starts_with("postgres://");
  const std::size_t scheme = where.find("://");
  if (!postgres && scheme != std::string::npos && where.find('/') > scheme) {
    return core::UsageError("a store is a file or a postgresql:// address, and {}:// is neither",
                            core::Shown(std::string_view(where).substr(0, scheme)));
  }
  auto database = postgres ? OpenPostgres(where) : OpenSqlite(where);
  if (!database) return tl::unexpected(std::move(database.error()));
  return std::make_unique<SqlStore>(std::move(*database));
}

}  // namespace sharewell::store
