#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "store/jobs/sql_speeds.h"
#include "store/kept_jobs.h"
#include "store/open_database.h"
#include "store/sql.h"

namespace sharewell::store {
namespace {

constexpr std::string_view kKeptLock = "jobs";  // as for those who write jobs
// What a job takes: its record, and what lies beside it.
constexpr const char* kSize =
    "LENGTH(record) + COALESCE((SELECT LENGTH(history) FROM job_speed WHERE job = number), 0)";
constexpr std::int64_t kRemovedAtOnce = 200;  // so that the server need not wait long

class SqlKeptJobs final : public KeptJobs {
 public:
  explicit SqlKeptJobs(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  core::Result<std::map<std::string, core::Bytes>> EndedSince(core::UnixMillis& since) override {
    std::map<std::string, core::Bytes> taken;
    core::UnixMillis last = since;
    auto done =
        Read(fmt::format("SELECT owner, {}, ended FROM job WHERE ended > 0 AND ended >= $1", kSize),
             {since}, [&](const Row& row) {
               taken[std::string(row.Bytes(0))] += core::Bytes(static_cast<double>(row.Integer(1)));
               last = std::max(last, row.Integer(2) + 1);
             });
    RETURN_IF_ERROR(done);
    since = last;
    return taken;
  }

  core::Result<core::Bytes> KeepNewest(const std::string& user, core::Bytes most) override {
    core::Bytes kept, all;
    std::int64_t cut = 0;  // the newest that goes
    auto done = Read(fmt::format("SELECT number, {} FROM job WHERE owner = $1 AND ended > 0 "
                                 "ORDER BY number DESC",
                                 kSize),
                     {std::string_view(user)}, [&](const Row& row) {
                       all += core::Bytes(static_cast<double>(row.Integer(1)));
                       if (all <= most) kept = all;
                       if (all > most && cut == 0) cut = row.Integer(0);
                     });
    RETURN_IF_ERROR(done);
    // The last job of all stays: its number is never given again.
    const std::string sql =
        "DELETE FROM job WHERE number IN (SELECT number FROM job WHERE owner = $1 AND ended > 0 "
        "AND "
        "number <= $2 AND number < (SELECT MAX(number) FROM job) LIMIT $3) RETURNING number";
    for (std::int64_t removed = kRemovedAtOnce; cut > 0 && removed == kRemovedAtOnce;) {
      const auto some = RemoveSome(sql, {std::string_view(user), cut, kRemovedAtOnce});
      RETURN_IF_ERROR(some);
      removed = *some;
    }
    if (cut > 0) {
      RETURN_IF_ERROR(database_->Reclaim());
    }
    return kept;
  }

 private:
  core::Result<std::int64_t> RemoveSome(const std::string& sql, const std::vector<Value>& values) {
    std::vector<std::int64_t> jobs;
    auto open = Transaction::Begin(*database_, Access::kWrite, kKeptLock);
    RETURN_IF_ERROR(open);
    RETURN_IF_ERROR(
        database_->Run(sql, values, [&](const Row& row) { jobs.push_back(row.Integer(0)); }));
    RETURN_IF_ERROR(RemoveSpeeds(*database_, jobs));
    RETURN_IF_ERROR(open->Commit());
    return static_cast<std::int64_t>(jobs.size());
  }
  core::Result<void> Read(const std::string& sql, const std::vector<Value>& values,
                          const RowReader& read) {
    auto open = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(open);
    auto done = database_->Run(sql, values, read);
    if (done) done = open->Commit();
    return done;
  }

  std::unique_ptr<Database> database_;
};

}  // namespace

core::Result<std::unique_ptr<KeptJobs>> OpenKeptJobs(const std::string& where) {
  auto database = OpenDatabase(where);
  RETURN_IF_ERROR(database);
  return std::make_unique<SqlKeptJobs>(std::move(*database));
}

}  // namespace sharewell::store
