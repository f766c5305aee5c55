// Database: what SQLite and PostgreSQL have in common, as the store needs it: statements with
// parameters, transactions, and rows in bulk. The SQL is the same for both; parameters are written
// $1, $2 ...
//
// One thread. A failed statement leaves its transaction to be rolled back, and says in words for a
// person what is wrong with the file or server and what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace sharewell::store {

struct Blob {
  std::string_view bytes;
};
// Views: what they show must live until the call returns.
using Value = std::variant<std::int64_t, std::string_view, Blob>;

// One row of an answer, valid during the call only.
class Row {
 public:
  virtual ~Row() = default;
  virtual std::int64_t Integer(int column) const = 0;
  virtual std::string_view Bytes(int column) const = 0;  // of a text or blob
};
using RowReader = std::function<void(const Row&)>;

// Where Upsert writes.
struct Table {
  const char* name;
  std::vector<const char*> key;
  std::vector<const char*> columns;  // besides the key; none: a row that is there stays as it is
};

enum class Access { kRead, kWrite };

class Database {
 public:
  virtual ~Database() = default;

  // A reading transaction sees one state of the store; a writing one is alone with the rows of
  // `lock`, or with the whole store where `lock` is empty. Connects again where that was lost.
  virtual core::Result<void> Begin(Access access, std::string_view lock) = 0;
  // Durable when it returns success.
  virtual core::Result<void> Commit() = 0;
  virtual void Rollback() = 0;

  virtual core::Result<void> Run(const std::string& sql, std::span<const Value> values,
                                 const RowReader& read) = 0;
  // Each row has the key's values, then those of the columns; a row with the same key is replaced.
  // REQUIRES: no key twice.
  virtual core::Result<void> Upsert(const Table& table,
                                    std::span<const std::vector<Value>> rows) = 0;
  // Several statements, separated by semicolons, without parameters or answers.
  virtual core::Result<void> Script(const char* statements) = 0;
  // Gives room on disk back that deleting has left, a little at a time.
  virtual core::Result<void> Reclaim() = 0;
  // Room that is kept on this machine's disk for what must always be stored (space_reserve.h). The
  // first fails where there is too little for new work; the second is for after a failure, and is
  // true where it was one for want of room and trying again may help.
  virtual core::Result<void> KeepReserve() { return {}; }
  virtual bool UseReserve() { return false; }
  // As JobStore::Health.
  virtual std::optional<core::Result<void>> Health() { return std::nullopt; }
  // For messages; holds no password.
  virtual const std::string& where() const = 0;

  core::Result<void> Run(const std::string& sql, std::initializer_list<Value> values = {},
                         const RowReader& read = {}) {
    return Run(sql, std::span<const Value>(values.begin(), values.size()), read);
  }
};

// Rolled back when it goes out of sight before Commit().
class Transaction {
 public:
  static core::Result<Transaction> Begin(Database& database, Access access,
                                         std::string_view lock = {}) {
    RETURN_IF_ERROR(database.Begin(access, lock));
    return Transaction(database);
  }
  ~Transaction() {
    if (database_ != nullptr) database_->Rollback();
  }
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  core::Result<void> Commit() {
    auto committed = database_->Commit();
    if (committed) database_ = nullptr;
    return committed;
  }

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

}  // namespace sharewell::store
