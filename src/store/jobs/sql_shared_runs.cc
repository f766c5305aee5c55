// What jobs taught by sharing, and the server's small facts: those parts of SqlJobStore.
#include "store/jobs/sql_shared_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/job/most_lose.h"
#include "core/result.h"
#include "store/jobs/sql_job_store.h"
#include "store/samples/pending.h"

namespace sharewell::store {
namespace {

constexpr std::size_t kMostSharedRuns = 10'000;
constexpr std::size_t kMostRemoved = 5'000;  // of two users' in one call: others wait meanwhile

// A number is written so that it comes back exactly.
double NumberIn(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A speed that nobody measured is an empty text.
std::string SpeedText(std::optional<core::Ratio> speed) {
  return speed ? fmt::format("{}", *speed) : "";
}

std::optional<core::Ratio> SpeedIn(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<core::Ratio>(NumberIn(text));
}

}  // namespace

core::Result<void> PutShared(Database& database, const std::vector<core::SharedRun>& shared) {
  for (const core::SharedRun& run : shared) {
    const std::string gpu = StoredName(run.gpu_model);
    const std::string a = SpeedText(run.speed_a), b = SpeedText(run.speed_b);
    const std::string share_a = fmt::format("{}", run.sm_share_a);
    const std::string share_b = fmt::format("{}", run.sm_share_b);
    const std::string over = fmt::format("{}", run.over.value);
    const std::string owner_a = StoredName(run.user_a), owner_b = StoredName(run.user_b);
    auto done = database.Run(
        "INSERT INTO shared_run(time, gpu, a, b, speed_a, speed_b, fits, share_a, share_b, "
        "owner_a, owner_b, watched) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        {run.time, std::string_view(gpu), Blob{run.a}, Blob{run.b}, std::string_view(a),
         std::string_view(b), std::int64_t{run.fits ? 1 : 0}, std::string_view(share_a),
         std::string_view(share_b), std::string_view(owner_a), std::string_view(owner_b),
         std::string_view(over)});
    if (!done) return done;
  }
  return {};
}

core::Result<std::vector<core::SharedRun>> SqlJobStore::SharedRuns() {
  std::vector<core::SharedRun> runs;
  auto done = Read(
      "SELECT gpu, a, b, speed_a, speed_b, fits, time, share_a, share_b, owner_a, owner_b, "
      "watched "
      "FROM shared_run ORDER BY id",
      {}, [&](const Row& row) {
        runs.push_back({std::string(row.Bytes(0)), std::string(row.Bytes(1)),
                        std::string(row.Bytes(2)), SpeedIn(row.Bytes(3)), SpeedIn(row.Bytes(4)),
                        row.Integer(5) != 0, row.Integer(6), NumberIn(row.Bytes(7)),
                        NumberIn(row.Bytes(8)), std::string(row.Bytes(9)),
                        std::string(row.Bytes(10)), core::Seconds(NumberIn(row.Bytes(11)))});
      });
  RETURN_IF_ERROR(done);
  return runs;
}

core::Result<void> SqlJobStore::RemoveShared(const std::string& user) {
  const std::string owner = StoredName(user);
  auto writing = Transaction::Begin(*database_, Access::kWrite, kJobsLock);
  RETURN_IF_ERROR(writing);
  RETURN_IF_ERROR(database_->Run("DELETE FROM shared_run WHERE owner_a = $1 OR owner_b = $2",
                                 {std::string_view(owner), std::string_view(owner)}));
  return writing->Commit();
}

// A pair of users counts as one: whoever floods the table, alone or beside another's job, loses
// what that pair taught.
core::Result<void> TidyShared(Database& database) {
  using Owners = std::pair<std::string, std::string>;
  std::map<std::string, std::size_t> counts;
  std::map<std::string, Owners> owners;
  auto reading = Transaction::Begin(database, Access::kRead);
  RETURN_IF_ERROR(reading);
  RETURN_IF_ERROR(
      database.Run("SELECT owner_a, owner_b, COUNT(*) FROM shared_run GROUP BY owner_a, owner_b",
                   {}, [&](const Row& row) {
                     Owners pair{std::string(row.Bytes(0)), std::string(row.Bytes(1))};
                     if (pair.second < pair.first) std::swap(pair.first, pair.second);
                     const std::string name = pair.first + '\0' + pair.second;
                     counts[name] += static_cast<std::size_t>(row.Integer(2));
                     owners[name] = std::move(pair);
                   }));
  RETURN_IF_ERROR(reading->Commit());
  for (const auto& [name, count] : core::MostLose(counts, kMostSharedRuns)) {
    const auto& [a, b] = owners[name];
    auto writing = Transaction::Begin(database, Access::kWrite, kJobsLock);
    RETURN_IF_ERROR(writing);
    RETURN_IF_ERROR(database.Run(
        "DELETE FROM shared_run WHERE id IN (SELECT id FROM shared_run WHERE (owner_a = $1 AND "
        "owner_b = $2) OR (owner_a = $3 AND owner_b = $4) ORDER BY id LIMIT $5)",
        {std::string_view(a), std::string_view(b), std::string_view(b), std::string_view(a),
         static_cast<std::int64_t>(std::min(count, kMostRemoved))}));
    RETURN_IF_ERROR(writing->Commit());
  }
  return {};
}

core::Result<std::map<std::string, std::string>> SqlJobStore::KeptUnder(const std::string& prefix) {
  std::map<std::string, std::string> facts;
  const Value values[] = {static_cast<std::int64_t>(prefix.size()), std::string_view(prefix)};
  auto done = Read("SELECT name, value FROM kept WHERE substr(name, 1, CAST($1 AS INTEGER)) = $2",
                   values, [&](const Row& row) {
                     facts[std::string(row.Bytes(0).substr(prefix.size()))] = row.Bytes(1);
                   });
  RETURN_IF_ERROR(done);
  return facts;
}

}  // namespace sharewell::store
