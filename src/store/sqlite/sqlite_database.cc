#include "store/sqlite/sqlite_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "store/migrations.h"
#include "store/sqlite/space_reserve.h"
#include "store/sqlite/sqlite_error.h"
#include "store/sqlite/writer_turns.h"
#include "store/store.h"
#include "store/upsert.h"

namespace sharewell::store {
namespace {

constexpr std::int64_t kApplicationId = 0x53687765;  // "Shwe": the file is ours
// Room is given back when so much of the file is empty, and at least so many pages.
constexpr std::int64_t kEmptyShare = 4, kEmptyPages = 16384;

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t Integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  std::string_view Bytes(int column) const override {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, std::unique_ptr<sqlite3, Close> handle)
      : path_(std::move(path)), handle_(std::move(handle)), turns_(WriterTurns::Of(path_)) {}
  ~SqliteDatabase() override { EndTurn(); }

  core::Result<void> Begin(Access access, std::string_view) override {
    if (access == Access::kRead) return Run("BEGIN", {}, {});
    if (auto there = StillThere(); !there) return there;
    // Not in time: SQLite tries for as long again, and says who keeps it.
    my_turn_ = turns_->Take(kBusyMilliseconds);
    auto begun = Run("BEGIN IMMEDIATE", {}, {});
    if (!begun) EndTurn();
    return begun;
  }
  core::Result<void> Commit() override {
    auto done = Run("COMMIT", {}, {});
    if (done) EndTurn();
    return done;
  }
  void Rollback() override {
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(handle_.get()) == 0) std::ignore = Run("ROLLBACK", {}, {});
    EndTurn();
  }
  core::Result<void> Run(const std::string& sql, std::span<const Value> values,
                         const RowReader& read) override {
    auto statement = Prepared(sql);
    RETURN_IF_ERROR(statement);
    return Step(*statement, values, read);
  }
  core::Result<void> Upsert(const Table& table, std::span<const std::vector<Value>> rows) override {
    auto statement = Prepared(UpsertSql(table));
    RETURN_IF_ERROR(statement);
    for (const auto& row : rows) {
      if (auto done = Step(*statement, row, {}); !done) return done;
    }
    return {};
  }
  core::Result<void> Script(const char* statements) override {
    const int code = sqlite3_exec(handle_.get(), statements, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return Failure(code);
    return {};
  }
  core::Result<void> Reclaim() override {
    std::int64_t pages = 0, empty = 0;
    const auto ask = [&](const char* pragma, std::int64_t& into) {
      return Run(pragma, {}, [&](const Row& row) { into = row.Integer(0); });
    };
    if (auto done = ask("PRAGMA page_count", pages); !done) return done;
    if (auto done = ask("PRAGMA freelist_count", empty); !done) return done;
    if (empty < kEmptyPages || empty < pages / kEmptyShare) return {};
    return Run("PRAGMA incremental_vacuum(4096)", {}, [](const Row&) {});
  }
  core::Result<void> KeepReserve() override {
    if (auto there = StillThere(); !there) return there;
    return SpaceReserve(path_).Keep();
  }
  std::optional<core::Result<void>> Health() override { return KeepReserve(); }
  bool UseReserve() override {
    if (!std::exchange(full_, false)) return false;
    std::ignore = SpaceReserve(path_).Use();
    // What the log holds goes into the file, so that the log is written from its beginning again,
    // where it has room.
    sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    return true;
  }
  const std::string& where() const override { return path_; }

  // What is opened now is what must lie there from now on.
  void RememberFiles() {
    for (File& file : files_) file = Find(file.suffix);
  }

 private:
  struct File {
    const char* suffix;
    dev_t device = 0;
    ino_t inode = 0;  // 0: it is not there
    friend bool operator==(const File&, const File&) = default;
  };

  File Find(const char* suffix) const {
    struct stat status {};
    if (::stat((path_ + suffix).c_str(), &status) != 0) return {suffix};
    return {suffix, status.st_dev, status.st_ino};
  }
  // SQLite goes on writing to a file that was deleted, and says that all is well.
  core::Result<void> StillThere() const {
    for (const File& file : files_) {
      if (file.inode == 0 || Find(file.suffix) == file) continue;
      return core::FailedError(
          "{}{}: was deleted or replaced while it was in use, and what is written now would be "
          "lost with it; put the same file back (mv) and it goes on. Jobs run on meanwhile",
          path_, file.suffix);
    }
    return {};
  }

  void EndTurn() {
    if (std::exchange(my_turn_, false)) turns_->Release();
  }
  core::Result<void> Failure(int code) {
    full_ = (code & 0xff) == SQLITE_FULL || sqlite3_system_errno(handle_.get()) == ENOSPC;
    return SqliteError(path_, handle_.get(), code);
  }

  core::Result<sqlite3_stmt*> Prepared(const std::string& sql) {
    if (const auto found = statements_.find(sql); found != statements_.end()) {
      return found->second.get();
    }
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                        &made, nullptr);
    if (code != SQLITE_OK) return SqliteError(path_, handle_.get(), code);
    statements_.emplace(sql, Statement(made));
    return made;
  }

  core::Result<void> Step(sqlite3_stmt* statement, std::span<const Value> values,
                          const RowReader& read) {
    for (std::size_t i = 0; i < values.size(); ++i) Bind(statement, i, values[i]);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      if (read) read(SqliteRow(statement));
    }
    core::Result<void> result;
    if (code != SQLITE_DONE) result = Failure(sqlite3_extended_errcode(handle_.get()));
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result;
  }

  static void Bind(sqlite3_stmt* statement, std::size_t i, const Value& value) {
    // By name: SQLite numbers $1 and $2 in the order in which they appear.
    SHAREWELL_CHECK(i < 99);
    const std::size_t number = i + 1;
    char name[] = {'$', static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10),
                   '\0'};
    if (number < 10) {
      name[1] = name[2];
      name[2] = '\0';
    }
    const int index = sqlite3_bind_parameter_index(statement, name);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      sqlite3_bind_int64(statement, index, *integer);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else {
      const std::string_view bytes = std::get<Blob>(value).bytes;
      sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
    }
  }

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<std::string, Statement> statements_;
  std::shared_ptr<WriterTurns> turns_;
  bool my_turn_ = false;
  bool full_ = false;  // the last failure was for want of room
  std::array<File, 2> files_ = {File{""}, File{"-wal"}};
};

// A mistyped name must not make folders.
core::Result<void> NeedFolder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  if (folder == DefaultFolder()) {
    std::filesystem::create_directories(folder, error);
    if (std::filesystem::is_directory(folder)) return {};
    return core::FailedError(
        "{}: its folder cannot be made: {}; name another store with --store or $SHAREWELL_STORE",
        path, error.message());
  }
  return core::UsageError(
      "{}: there is no folder {}; make it (mkdir -p), or name another store with --store or "
      "$SHAREWELL_STORE",
      path, core::Quoted(folder.string()));
}

// A store holds what others gave: environments, commands, logs' places. It is private before
// anything is in it, as whoever opened it once may read it for ever; SQLite gives the files beside
// it the same mode. Where it cannot be made, opening it says why.
void MakePrivate(const std::string& name) {
  const int made = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made >= 0) ::close(made);
}

// Whether it is ours already; else it is empty. Asked before anything is changed.
core::Result<bool> IsOurs(Database& database) {
  std::int64_t owner = 0, tables = 0;
  // Tables first: who makes the store at this moment marks it as ours before it makes them.
  RETURN_IF_ERROR(database.Run("SELECT COUNT(*) FROM sqlite_master", {},
                               [&](const Row& row) { tables = row.Integer(0); }));
  RETURN_IF_ERROR(
      database.Run("PRAGMA application_id", {}, [&](const Row& row) { owner = row.Integer(0); }));
  if (owner == kApplicationId || (owner == 0 && tables == 0)) return owner != 0;
  return core::UsageError(
      "{}: is a SQLite database of another program; nothing was changed: name another file",
      database.where());
}

core::Result<std::unique_ptr<Database>> OpenFile(const std::string& path) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return core::UsageError("{}: is a folder; name a file in it", path);
  }
  if (exists && !S_ISREG(status.st_mode)) {
    return core::UsageError("{}: is no file; name one, or a file that is not there yet", path);
  }
  if (!exists) {
    RETURN_IF_ERROR(NeedFolder(path));
  }
  // A name such as ":memory:" or "file:x" means a file of that name.
  const std::string name = path.starts_with('/') ? path : "./" + path;
  if (!exists) MakePrivate(name);
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<sqlite3, Close> handle(opened);
  if (code != SQLITE_OK) return SqliteError(path, opened, code);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  const bool writable = sqlite3_db_readonly(opened, "main") == 0;
  auto database = std::make_unique<SqliteDatabase>(path, std::move(handle));
  const auto ours = IsOurs(*database);
  RETURN_IF_ERROR(ours);
  // Reading needs little memory, and an agent should take little.
  RETURN_IF_ERROR(database->Script("PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY"));
  if (writable) {
    // The log's files stay when the last one closes: who may only read needs them.
    int keep = 1;
    sqlite3_file_control(opened, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    auto done = database->Script(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "PRAGMA journal_size_limit = 16777216");
    if (done && !*ours) {
      done = database->Script(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    }
    RETURN_IF_ERROR(done);
  }
  RETURN_IF_ERROR(Migrate(*database, SqliteSchema()));
  database->RememberFiles();
  return database;
}

}  // namespace

core::Result<std::unique_ptr<Database>> OpenSqlite(const std::string& path) {
  auto opened = OpenFile(path);
  // A server that is started on a full disk must be able to say so.
  const SpaceReserve reserve(path);
  if (!opened && reserve.DiskIsFull() && reserve.Use()) opened = OpenFile(path);
  return opened;
}

}  // namespace sharewell::store
