// Where the contract runs on SQLite.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "platform/files/test_folder.h"
#include "store/test_place.h"

namespace sharewell::store {
namespace {

class SqlitePlace final : public TestPlace {
 public:
  std::string where() const override { return folder_.Path("store.db"); }
  void Run(const std::string& sql) const override {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(where().c_str(), &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 1000);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  std::string Damage() const override {
    sqlite3* database = nullptr;
    std::string found;
    sqlite3_open(where().c_str(), &database);
    sqlite3_exec(
        database, "PRAGMA integrity_check",
        [](void* text, int, char** values, char**) {
          *static_cast<std::string*>(text) += values[0];
          return 0;
        },
        &found, nullptr);
    sqlite3_close(database);
    return found == "ok" ? "" : found;
  }

 private:
  platform::TestFolder folder_;
};

}  // namespace

std::unique_ptr<TestPlace> NewTestPlace() { return std::make_unique<SqlitePlace>(); }

}  // namespace sharewell::store
