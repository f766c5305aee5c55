#include "store/postgres/postgres_database.h"

#include <libpq-fe.h>

#include <unordered_map>

#include "core/result.h"
#include "store/migrations.h"
#include "store/postgres/password.h"
#include "store/postgres/wire.h"
#include "store/upsert.h"

namespace sharewell::store {
namespace {

// The bounds on waiting: for a connection, for the server's answer on a dead line, for a lock that
// another program holds, for one statement.
constexpr const char* kConnectSeconds = "5";
constexpr const char* kLineMilliseconds = "15000";
// The joins are ours to choose: a series is read by many small seeks, of which the planner, knowing
// nothing of recursion, may think better to read the whole table.
constexpr const char* kSettings =
    "SET search_path = sharewell; SET lock_timeout = 10000; SET statement_timeout = 60000;"
    "SET client_min_messages = warning; SET enable_hashjoin = off; SET enable_mergejoin = off";
// Our two advisory locks: of the whole store, and (with the node's hash) of one node.
constexpr const char* kLockStoreShared = "SELECT pg_advisory_xact_lock_shared(6008479)";
constexpr const char* kLockStore = "SELECT pg_advisory_xact_lock(6008479)";
constexpr const char* kLockNode = "SELECT pg_advisory_xact_lock(6008480, hashtext($1))";
// Fewer rows than these are not worth a COPY.
constexpr std::size_t kFewRows = 4;

struct Release {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Release>;

class PostgresRow final : public Row {
 public:
  PostgresRow(const PGresult* result, int row) : result_(result), row_(row) {}
  std::int64_t Integer(int column) const override { return TakeBigEndian(Bytes(column)); }
  std::string_view Bytes(int column) const override {
    return {PQgetvalue(result_, row_, column),
            static_cast<std::size_t>(PQgetlength(result_, row_, column))};
  }

 private:
  const PGresult* result_;
  int row_;
};

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(std::string url)
      : url_(std::move(url)), where_(WithoutPassword(url_)) {}

  core::Result<void> Connect() {
    statements_.clear();
    connection_.reset();
    const char* keys[] = {"connect_timeout", "tcp_user_timeout", "application_name",
                          "client_encoding", "dbname",           nullptr};
    // The address comes last: what it says of these wins.
    const char* values[] = {kConnectSeconds, kLineMilliseconds, "sharewell",
                            "UTF8",          url_.c_str(),      nullptr};
    connection_.reset(PQconnectdbParams(keys, values, /*expand_dbname=*/1));
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      const std::string reason = Words(PQerrorMessage(connection_.get()));
      connection_.reset();
      return tl::unexpected(core::Error{
          core::ErrorKind::kAbsent,
          fmt::format("{}: cannot be reached: {}; see that the server runs, that this address, "
                      "user and password are right, and that it lets this machine in (pg_hba.conf)",
                      where_, reason)});
    }
    lost_ = false;
    return Script(kSettings);
  }

  core::Result<void> Begin(Access access, std::string_view lock) override {
    if (connection_ == nullptr || lost_) {
      if (auto done = Connect(); !done) return done;
    }
    const char* begin = access == Access::kRead ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                                                : "BEGIN ISOLATION LEVEL READ COMMITTED";
    auto done = Script(begin);
    if (!done && lost_) {
      // The server went and came again since the last one: nothing was begun, so try once more.
      done = Connect();
      if (done) done = Script(begin);
    }
    if (!done || access == Access::kRead) return done;
    if (lock.empty()) {
      done = Run(kLockStore, {}, {});
    } else {
      done = Run(kLockStoreShared, {}, {});
      const Value name = lock;
      if (done) done = Run(kLockNode, std::span(&name, 1), {});
    }
    if (!done) Rollback();
    return done;
  }
  core::Result<void> Commit() override { return Script("COMMIT"); }
  void Rollback() override {
    if (connection_ != nullptr && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) {
      std::ignore = Script("ROLLBACK");
    }
  }

  core::Result<void> Run(const std::string& sql, std::span<const Value> values,
                         const RowReader& read) override {
    const Parameters parameters(values);
    auto name = Prepared(sql, parameters);
    RETURN_IF_ERROR(name);
    const Answer answer(PQexecPrepared(connection_.get(), (*name)->c_str(), parameters.count(),
                                       parameters.values(), parameters.lengths(),
                                       parameters.formats(), /*resultFormat=*/1));
    if (auto done = Check(answer.get()); !done) return done;
    for (int row = 0; read && row < PQntuples(answer.get()); ++row) {
      read(PostgresRow(answer.get(), row));
    }
    return {};
  }

  // COPY knows no conflicts: the rows go into a table of this connection's own first.
  core::Result<void> Upsert(const Table& table, std::span<const std::vector<Value>> rows) override {
    if (rows.size() <= kFewRows) {
      for (const auto& row : rows) {
        if (auto done = Run(UpsertSql(table), row, {}); !done) return done;
      }
      return {};
    }
    const std::string columns = ColumnsOf(table);
    auto done = Script(fmt::format("CREATE TEMPORARY TABLE IF NOT EXISTS staged_{0} ON COMMIT "
                                   "DELETE ROWS AS SELECT {1} FROM {0} WITH NO DATA",
                                   table.name, columns)
                           .c_str());
    if (done) done = Copy(fmt::format("pg_temp.staged_{}", table.name), columns, CopyRows(rows));
    if (!done) return done;
    return Script(fmt::format("INSERT INTO {0}({1}) SELECT {1} FROM pg_temp.staged_{0} {2};"
                              "TRUNCATE pg_temp.staged_{0}",
                              table.name, columns, OnConflict(table))
                      .c_str());
  }

  core::Result<void> Script(const char* statements) override {
    return Check(Answer(PQexec(connection_.get(), statements)).get());
  }
  core::Result<void> Reclaim() override { return {}; }  // the server's autovacuum does
  const std::string& where() const override { return where_; }

 private:
  std::string Words(std::string_view message) const {
    std::string words = WithoutPassword(message, url_);
    while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
    for (char& c : words) {
      if (c == '\n' || c == '\t') c = ' ';
    }
    return words;
  }

  core::Result<void> Check(const PGresult* answer) {
    const ExecStatusType status = PQresultStatus(answer);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN) {
      return {};
    }
    const char* state = answer == nullptr ? nullptr : PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    const std::string_view code = state == nullptr ? "" : state;
    const std::string words = Words(PQerrorMessage(connection_.get()));
    // 57P01 and its like: the server is going down. No code: libpq's own, who lost the line.
    if (code.empty() || code.starts_with("57P") || code.starts_with("08")) {
      lost_ = true;
      return tl::unexpected(
          core::Error{core::ErrorKind::kAbsent,
                      fmt::format("{}: the connection is lost: {}; see that the server runs: what "
                                  "waits is kept in memory and tried again",
                                  where_, words)});
    }
    if (code == "55P03" || code == "57014") {
      return core::FailedError(
          "{}: another program keeps it locked, or the server is too slow: {}; "
          "end that program or try again: nothing is lost",
          where_, words);
    }
    if (code == "53100") {
      return core::FailedError("{}: the server's disk is full: {}; make room there and it goes on",
                               where_, words);
    }
    if (code == "42501" || code == "25006") {
      return core::FailedError(
          "{}: the server does not allow it: {}; let the database's owner GRANT "
          "CREATE ON DATABASE to this user, or use another user",
          where_, words);
    }
    return core::FailedError("{}: the server says: {}", where_, words);
  }

  core::Result<const std::string*> Prepared(const std::string& sql, const Parameters& parameters) {
    if (const auto found = statements_.find(sql); found != statements_.end()) {
      return &found->second;
    }
    const std::string name = fmt::format("s{}", statements_.size());
    const Answer made(PQprepare(connection_.get(), name.c_str(), sql.c_str(), parameters.count(),
                                parameters.types()));
    RETURN_IF_ERROR(Check(made.get()));
    return &statements_.emplace(sql, name).first->second;
  }

  core::Result<void> Copy(const std::string& table, const std::string& columns,
                          const std::string& bytes) {
    if (auto done =
            Script(fmt::format("COPY {}({}) FROM STDIN (FORMAT binary)", table, columns).c_str());
        !done) {
      return done;
    }
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      const auto size = static_cast<int>(std::min(kPiece, bytes.size() - at));
      if (PQputCopyData(connection_.get(), bytes.data() + at, size) != 1) break;
    }
    PQputCopyEnd(connection_.get(), nullptr);
    core::Result<void> result;
    while (PGresult* answer = PQgetResult(connection_.get())) {
      const Answer owned(answer);
      if (auto done = Check(answer); !done && result) result = done;
      if (PQstatus(connection_.get()) != CONNECTION_OK) break;
    }
    return result;
  }

  std::string url_, where_;
  std::unique_ptr<PGconn, Release> connection_;
  bool lost_ = false;
  std::unordered_map<std::string, std::string> statements_;  // by SQL; of this connection
};

// Names and profiles are UTF-8; another encoding would refuse some of them, one day.
core::Result<void> CheckEncoding(Database& database) {
  std::string encoding;
  auto reading = Transaction::Begin(database, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto done = database.Run("SELECT current_setting('server_encoding')", {},
                           [&](const Row& row) { encoding = row.Bytes(0); });
  if (!done) return done;
  if (encoding == "UTF8") return reading->Commit();
  return core::UsageError(
      "{}: the database's encoding is {} and must be UTF8: make one with "
      "CREATE DATABASE sharewell ENCODING 'UTF8' TEMPLATE template0",
      database.where(), encoding);
}

}  // namespace

core::Result<std::unique_ptr<Database>> OpenPostgres(const std::string& url) {
  auto database = std::make_unique<PostgresDatabase>(url);
  auto done = database->Connect();
  if (done) done = CheckEncoding(*database);
  if (done) done = Migrate(*database, PostgresSchema());
  RETURN_IF_ERROR(done);
  return database;
}

}  // namespace sharewell::store
