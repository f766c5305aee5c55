// Where the contract runs on PostgreSQL: one server for the whole program.
#include "store/postgres/postgres_place.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace sharewell::store {
namespace {

class PostgresPlace final : public TestPlace {
 public:
  PostgresPlace() { Run("DROP SCHEMA IF EXISTS sharewell CASCADE"); }
  std::string where() const override { return SharedServer().url(); }
  void Run(const std::string& sql) const override {
    PGconn* connection = PQconnectdb(where().c_str());
    PQclear(PQexec(connection, "SET client_min_messages = error; SET search_path = sharewell"));
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }
  std::string Damage() const override { return {}; }  // the server keeps its files to itself
};

}  // namespace

TestServer& SharedServer() {
  static TestServer server;
  return server;
}

std::unique_ptr<TestPlace> NewTestPlace() {
  EXPECT_TRUE(SharedServer().running())
      << "PostgreSQL's server does not start; tools/setup installs it\n"
      << SharedServer().log();
  return std::make_unique<PostgresPlace>();
}

}  // namespace sharewell::store
