// What jobs of a node told of themselves, of SqlStore.
#include "store/told/told.h"

#include <utility>

#include "core/result.h"
#include "store/samples/pending.h"
#include "store/sql_store.h"

namespace sharewell::store {
namespace {

// Servers read every two seconds: of a node on which more jobs tell at once the oldest go.
constexpr std::int64_t kMostToldOfNode = 64;
constexpr core::UnixMillis kToldKept = 24 * 3'600'000;

}  // namespace

core::Result<void> SqlStore::SaveTold(const std::string& node, const core::JobTold& told) {
  const std::string where = StoredName(node), job = StoredName(told.job);
  const std::string_view here = where;
  auto writing = Transaction::Begin(*database_, Access::kWrite, "told " + where);
  RETURN_IF_ERROR(writing);
  auto done = database_->Run("DELETE FROM job_told WHERE node = $1 AND job = $2",
                             {here, std::string_view(job)});
  RETURN_IF_ERROR(done);
  done = database_->Run(
      "INSERT INTO job_told(node, job, time, counts, document, off) VALUES($1, $2, $3, $4, $5, $6)",
      {here, std::string_view(job), told.time, std::int64_t{told.counts_steps ? 1 : 0},
       Blob{told.document}, Blob{told.off}});
  RETURN_IF_ERROR(done);
  done = database_->Run(
      "DELETE FROM job_told WHERE node = $1 AND (time < $2 OR id NOT IN "
      "(SELECT id FROM job_told WHERE node = $1 ORDER BY id DESC LIMIT $3))",
      {here, told.time - kToldKept, kMostToldOfNode});
  RETURN_IF_ERROR(done);
  return writing->Commit();
}

core::Result<std::vector<ToldHead>> SqlStore::ToldOn(const std::string& node) {
  const std::string where = StoredName(node);
  std::vector<ToldHead> heads;
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto done =
      database_->Run("SELECT id, job, time FROM job_told WHERE node = $1 ORDER BY id",
                     {std::string_view(where)}, [&](const Row& row) {
                       heads.push_back({row.Integer(0), std::string(row.Bytes(1)), row.Integer(2)});
                     });
  RETURN_IF_ERROR(done);
  RETURN_IF_ERROR(reading->Commit());
  return heads;
}

core::Result<std::optional<core::JobTold>> SqlStore::ReadTold(std::int64_t id) {
  std::optional<core::JobTold> told;
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto done =
      database_->Run("SELECT job, time, counts, document, off FROM job_told WHERE id = $1", {id},
                     [&](const Row& row) {
                       told = {std::string(row.Bytes(0)), row.Integer(1), row.Integer(2) != 0,
                               std::string(row.Bytes(3)), std::string(row.Bytes(4))};
                     });
  RETURN_IF_ERROR(done);
  RETURN_IF_ERROR(reading->Commit());
  return told;
}

core::Result<void> DropOldTold(Database& database, core::UnixMillis now) {
  return database.Run("DELETE FROM job_told WHERE time < $1", {now - kToldKept});
}

}  // namespace sharewell::store
