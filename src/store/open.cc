#include <string_view>

#include "core/result.h"
#include "core/text/quoted.h"
#include "store/open_database.h"
#include "store/postgres/postgres_database.h"
#include "store/sql_store.h"
#include "store/sqlite/sqlite_database.h"
#include "store/store.h"

namespace sharewell::store {

bool IsPostgres(const std::string& where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

core::Result<std::unique_ptr<Database>> OpenDatabase(const std::string& where) {
  if (where.empty()) {
    return core::UsageError("the store has no name: give a file, or postgresql://USER@HOST/NAME");
  }
  if (IsPostgres(where)) return OpenPostgres(where);
  const std::size_t scheme = where.find("://");
  if (scheme != std::string::npos && where.find('/') > scheme) {
    return core::UsageError("a store is a file or a postgresql:// address, and {}:// is neither",
                            core::Quoted(std::string_view(where).substr(0, scheme)));
  }
  return OpenSqlite(where);
}

core::Result<std::unique_ptr<Store>> Open(const std::string& where) {
  auto database = OpenDatabase(where);
  RETURN_IF_ERROR(database);
  return std::make_unique<SqlStore>(std::move(*database));
}

}  // namespace sharewell::store
