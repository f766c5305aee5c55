// The profiles of SqlStore.
#include "core/result.h"
#include "store/profiles/profile_json.h"
#include "store/samples/pending.h"
#include "store/sql_store.h"

namespace sharewell::store {
namespace {

struct ProfileRow {
  std::string name, workload, gpu, source, record;
};

}  // namespace

core::Result<std::int64_t> SqlStore::Save(const core::ProfileRecord& record) {
  const ProfileRow row{StoredName(record.name), StoredName(record.profile.workload.name),
                       StoredName(record.profile.gpu), StoredName(record.source),
                       ProfileToJson(record)};
  auto writing = Transaction::Begin(*database_, Access::kWrite, "profile");
  RETURN_IF_ERROR(writing);
  std::vector<Value> values{record.created,
                            std::string_view(row.name),
                            std::string_view(row.workload),
                            std::string_view(row.gpu),
                            std::string_view(row.source),
                            std::string_view(row.record)};
  std::int64_t id = 0;
  const auto take = [&](const Row& answer) { id = answer.Integer(0); };
  core::Result<void> done;
  if (record.id != 0) {
    values.emplace_back(record.id);
    done = database_->Run(
        "UPDATE profile SET created = $1, name = $2, workload = $3, gpu = $4, source = $5, "
        "record = $6 WHERE id = $7 RETURNING id",
        values, take);
    values.pop_back();
  }
  // One that was removed meanwhile is a new one: better twice than lost.
  if (done && id == 0) {
    done = database_->Run(
        "INSERT INTO profile(created, name, workload, gpu, source, record) "
        "VALUES($1, $2, $3, $4, $5, $6) RETURNING id",
        values, take);
  }
  if (done) done = writing->Commit();
  RETURN_IF_ERROR(done);
  return id;
}

core::Result<std::vector<core::ProfileRecord>> SqlStore::Profiles(const ProfileFilter& filter) {
  std::string sql = "SELECT id, record FROM profile";
  std::vector<Value> values;
  const auto add = [&](const char* column, Value value) {
    values.push_back(value);
    sql +=
        fmt::format("{} {} = ${}", values.size() == 1 ? " WHERE" : " AND", column, values.size());
  };
  if (filter.id) add("id", *filter.id);
  std::vector<std::string> names;
  names.reserve(4);
  const auto add_name = [&](const char* column, const std::optional<std::string>& name) {
    if (name) add(column, std::string_view(names.emplace_back(StoredName(*name))));
  };
  add_name("name", filter.name);
  add_name("workload", filter.workload);
  add_name("gpu", filter.gpu);
  add_name("source", filter.source);
  std::vector<core::ProfileRecord> records;
  core::Result<void> read;
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto done = database_->Run(sql + " ORDER BY id", values, [&](const Row& row) {
    if (!read) return;
    auto record = ProfileFromJson(row.Bytes(1));
    if (!record) {
      read = core::FailedError("{}: profile {}: {}; remove it with `sharewell profiles`",
                               database_->where(), row.Integer(0), record.error().message);
      return;
    }
    record->id = row.Integer(0);
    records.push_back(std::move(*record));
  });
  if (done) done = read;
  if (done) done = reading->Commit();
  RETURN_IF_ERROR(done);
  return records;
}

core::Result<std::int64_t> SqlStore::RemoveProfiles(std::span<const std::int64_t> ids) {
  auto writing = Transaction::Begin(*database_, Access::kWrite, "profile");
  RETURN_IF_ERROR(writing);
  std::int64_t removed = 0;
  for (const std::int64_t id : ids) {
    auto done = database_->Run("DELETE FROM profile WHERE id = $1 RETURNING id", {id},
                               [&](const Row&) { ++removed; });
    RETURN_IF_ERROR(done);
  }
  RETURN_IF_ERROR(writing->Commit());
  return removed;
}

}  // namespace sharewell::store
