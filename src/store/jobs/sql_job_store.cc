#include "store/jobs/sql_job_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/result.h"
#include "store/jobs/job_json.h"
#include "store/jobs/sql_shared_runs.h"
#include "store/jobs/sql_speeds.h"
#include "store/open_database.h"
#include "store/samples/pending.h"

namespace sharewell::store {
namespace {

// Removed in one transaction, so that the server need not wait long; and in one call.
constexpr std::int64_t kTidyRows = 1000, kTidyRounds = 5;
constexpr std::size_t kAskedAtOnce = 500;  // numbers in one statement

// FNV-1a: a key may be a whole command line, too long for an index and no text.
std::int64_t HashOfKey(std::string_view key) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<std::int64_t>(hash);
}

core::UnixMillis EndOf(const core::JobRecord& job) {
  if (!core::IsOver(job.phase)) return 0;
  return std::max<core::UnixMillis>(1, job.ended.value_or(job.submitted));
}

// Newest first. Each phase by itself: an index has its jobs in order, so that the last of a million
// are found without looking at the others.
std::string NewestOf(std::vector<core::Phase> phases, const std::string& where, std::size_t limit) {
  const auto newest = [&](const std::string& condition) {
    const char* joint = where.empty() || condition.empty() ? "" : " AND ";
    const std::string conditions = where + joint + condition;
    return fmt::format(
        "SELECT number, record, seal, phase FROM job{}{} ORDER BY number DESC LIMIT ${}",
        conditions.empty() ? "" : " WHERE ", conditions, limit);
  };
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  if (phases.empty()) return newest("");
  std::string all;
  for (const core::Phase phase : phases) {
    all +=
        fmt::format("{}SELECT * FROM ({}) AS {}", all.empty() ? "" : " UNION ALL ",
                    newest(fmt::format("phase = '{}'", core::NameOf(phase))), core::NameOf(phase));
  }
  return fmt::format(
      "SELECT number, record, seal, phase FROM ({}) AS every ORDER BY number DESC LIMIT ${}", all,
      limit);
}

core::Result<std::string> IdOf(Database& database) {
  std::string id;
  RETURN_IF_ERROR(database.Run("SELECT value FROM meta WHERE name = 'id'", {},
                               [&](const Row& row) { id = row.Bytes(0); }));
  return id;
}

std::int64_t AsLimit(std::size_t most) {
  return static_cast<std::int64_t>(
      std::min<std::size_t>(most, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

core::Result<void> SqlJobStore::PutJobs(const std::vector<core::JobRecord>& jobs) {
  std::map<std::int64_t, const core::JobRecord*> last;  // of two with one number
  for (const core::JobRecord& job : jobs) last[job.number] = &job;
  struct Texts {
    std::string owner, record, seal;
  };
  std::vector<Texts> texts;
  std::vector<std::vector<Value>> rows;
  texts.reserve(last.size());
  rows.reserve(last.size());
  for (const auto& [number, job] : last) {
    Texts& text = texts.emplace_back(Texts{StoredName(job->user.name), StoredJob(*job), ""});
    // What is not believed stays so.
    if (!job->untrusted) text.seal = seal_.Of(*job, text.record);
    rows.push_back({number, core::NameOf(job->phase), std::string_view(text.owner),
                    HashOfKey(core::WorkloadKey(job->asked)), job->submitted, EndOf(*job),
                    std::string_view(text.record), std::string_view(text.seal)});
  }
  return database_->Upsert(
      {"job", {"number"}, {"phase", "owner", "workload", "submitted", "ended", "record", "seal"}},
      rows);
}

core::Result<void> SqlJobStore::PutRest(const JobChanges& changes) {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::vector<Value>> rows;
  texts.reserve(changes.events.size());
  for (const core::Event& event : changes.events) {
    const auto& [kind, words] = texts.emplace_back(StoredName(event.kind), StoredName(event.text));
    rows.push_back(
        {event.id, event.time, std::string_view(kind), event.job, std::string_view(words)});
  }
  if (auto done = database_->Upsert({"job_event", {"id"}, {"time", "kind", "job", "words"}}, rows);
      !done) {
    return done;
  }
  RETURN_IF_ERROR(PutShared(*database_, changes.shared));
  RETURN_IF_ERROR(PutSpeeds(*database_, changes.speeds));
  std::map<std::string, std::string_view> kept;
  for (const auto& [name, value] : changes.kept) kept[StoredName(name)] = value;
  rows.clear();
  for (const auto& [name, value] : kept) rows.push_back({std::string_view(name), Blob{value}});
  return database_->Upsert({"kept", {"name"}, {"value"}}, rows);
}

core::Result<void> SqlJobStore::SameStore() {
  const auto id = IdOf(*database_);
  RETURN_IF_ERROR(id);
  if (*id == id_) return {};
  return core::FailedError(
      "{}: another store lies there now (its id is {}, and this server's jobs are in {}); put that "
      "one back and it goes on, or end this server and start one for the other",
      database_->where(), id->empty() ? "not known" : *id, id_);
}

core::Result<void> SqlJobStore::Write(const JobChanges& changes) {
  if (server_ && !changes.may_use_reserve) {
    RETURN_IF_ERROR(database_->KeepReserve());
  }
  auto done = WriteOnce(changes);
  if (!done && server_ && changes.may_use_reserve && database_->UseReserve()) {
    done = WriteOnce(changes);
  }
  return done;
}

core::Result<void> SqlJobStore::WriteOnce(const JobChanges& changes) {
  auto writing = Transaction::Begin(*database_, Access::kWrite, kJobsLock);
  RETURN_IF_ERROR(writing);
  core::Result<void> done = SameStore();
  if (done && server_) done = lock_->Hold(*database_);
  if (done && !changes.jobs.empty()) done = PutJobs(changes.jobs);
  if (done) done = PutRest(changes);
  if (done) done = writing->Commit();
  return done;
}

core::Result<void> SqlJobStore::Read(const std::string& sql, std::span<const Value> values,
                                     const RowReader& read) {
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto done = database_->Run(sql, values, read);
  if (done) done = reading->Commit();
  return done;
}

// By pages, where bytes are bounded: what is beyond the bound is not read.
core::Result<std::vector<core::JobRecord>> SqlJobStore::Jobs(const JobFilter& filter) {
  constexpr std::size_t kPage = 100;
  const bool bounded = filter.most_bytes != std::numeric_limits<std::size_t>::max();
  std::vector<core::JobRecord> records;
  JobFilter page = filter;
  for (;;) {
    page.most = filter.most - records.size();
    if (bounded) page.most = std::min(page.most, kPage);
    Page read{records, page.most_bytes};
    auto done = ReadPage(page, read);
    RETURN_IF_ERROR(done);
    if (!bounded || read.rows < page.most || read.left == 0 || records.size() >= filter.most) {
      return records;
    }
    page.most_bytes = read.left;
    page.below = read.last;
  }
}

core::Result<void> SqlJobStore::ReadPage(const JobFilter& filter, Page& page) {
  std::string where;
  std::vector<Value> values;
  const auto add = [&](std::string_view condition, Value value) {
    values.push_back(value);
    where += fmt::format("{}{} ${})", where.empty() ? "" : " AND ", condition, values.size());
  };
  const std::string owner = filter.user ? StoredName(*filter.user) : "";
  if (filter.number) add("(number =", *filter.number);
  if (filter.user) add("(owner =", std::string_view(owner));
  if (filter.workload) add("(workload =", HashOfKey(*filter.workload));
  if (filter.ended_since) add("(ended = 0 OR ended >=", *filter.ended_since);
  if (filter.below) add("(number <", *filter.below);
  values.emplace_back(AsLimit(filter.most));
  const std::string sql = NewestOf(filter.phases, where, values.size());

  core::Result<void> whole;
  auto done = Read(sql, values, [&](const Row& row) {
    ++page.rows;
    page.last = row.Integer(0);
    if (!whole || page.left == 0) return;
    const std::size_t size = row.Bytes(1).size();
    if (size > page.left && !page.records.empty()) page.left = 0;
    if (page.left == 0) return;
    page.left -= std::min(size, page.left);
    auto record = JobFromJson(row.Bytes(1));
    if (!record) {
      whole = core::FailedError(
          "{}: job {}: {}; update sharewell, or remove that row from the table job",
          database_->where(), row.Integer(0), record.error().message);
      return;
    }
    record->number = row.Integer(0);
    // By its column a job is found: a finished one must not be found among those that wait.
    record->untrusted = !seal_.Matches(record->number, row.Bytes(1), row.Bytes(2)) ||
                        (seal_.active() && row.Bytes(3) != core::NameOf(record->phase));
    if (record->untrusted && !core::IsOver(record->phase)) {
      record->hold = seal_.Changed(*record, row.Bytes(2));
    }
    // Two keys may have one hash.
    if (filter.workload && core::WorkloadKey(record->asked) != *filter.workload) return;
    page.records.push_back(std::move(*record));
  });
  if (done) done = whole;
  return done;
}

core::Result<std::map<std::int64_t, core::Phase>> SqlJobStore::PhasesOf(
    const std::vector<std::int64_t>& numbers) {
  std::map<std::int64_t, core::Phase> phases;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kAskedAtOnce) {
    const std::size_t end = std::min(begin + kAskedAtOnce, numbers.size());
    const std::span<const std::int64_t> some(numbers.data() + begin, end - begin);
    auto done = Read(
        fmt::format("SELECT number, phase FROM job WHERE number IN ({})", fmt::join(some, ",")), {},
        [&](const Row& row) {
          if (const auto phase = core::PhaseNamed(row.Bytes(1))) {
            phases.emplace(row.Integer(0), *phase);
          }
        });
    RETURN_IF_ERROR(done);
  }
  return phases;
}

core::Result<std::int64_t> SqlJobStore::LastNumber() {
  std::int64_t last = 0;
  auto done = Read("SELECT COALESCE(MAX(number), 0) FROM job", {},
                   [&](const Row& row) { last = row.Integer(0); });
  RETURN_IF_ERROR(done);
  return last;
}

core::Result<std::int64_t> SqlJobStore::LastEvent() {
  std::int64_t last = 0;
  auto done = Read("SELECT COALESCE(MAX(id), 0) FROM job_event", {},
                   [&](const Row& row) { last = row.Integer(0); });
  RETURN_IF_ERROR(done);
  return last;
}

core::Result<std::vector<core::Event>> SqlJobStore::Events(std::int64_t after, std::size_t most) {
  std::vector<core::Event> events;
  const Value values[] = {after, AsLimit(most)};
  auto done =
      Read("SELECT id, time, kind, job, words FROM job_event WHERE id > $1 ORDER BY id LIMIT $2",
           values, [&](const Row& row) {
             events.push_back({row.Integer(0), row.Integer(1), std::string(row.Bytes(2)),
                               row.Integer(3), std::string(row.Bytes(4))});
           });
  RETURN_IF_ERROR(done);
  return events;
}

core::Result<std::optional<std::string>> SqlJobStore::Kept(const std::string& name) {
  std::optional<std::string> value;
  const std::string stored = StoredName(name);
  const Value values[] = {std::string_view(stored)};
  auto done = Read("SELECT value FROM kept WHERE name = $1", values,
                   [&](const Row& row) { value = row.Bytes(0); });
  RETURN_IF_ERROR(done);
  return value;
}

core::Result<std::int64_t> SqlJobStore::RemoveSome(const std::string& sql, std::int64_t bound,
                                                   bool jobs) {
  std::vector<std::int64_t> removed;
  auto writing = Transaction::Begin(*database_, Access::kWrite, kJobsLock);
  RETURN_IF_ERROR(writing);
  auto done = database_->Run(sql, {bound, kTidyRows},
                             [&](const Row& row) { removed.push_back(row.Integer(0)); });
  if (done && jobs) done = RemoveSpeeds(*database_, removed);
  if (done) done = writing->Commit();
  RETURN_IF_ERROR(done);
  return static_cast<std::int64_t>(removed.size());
}

core::Result<void> SqlJobStore::TidyJobs(core::UnixMillis ended_before, std::int64_t keep_events) {
  // The last job and the last event stay: their numbers are never given again.
  const std::string jobs =
      "DELETE FROM job WHERE number IN (SELECT number FROM job WHERE ended > 0 AND ended < $1 AND "
      "number < (SELECT MAX(number) FROM job) LIMIT $2) RETURNING number";
  const std::string events =
      "DELETE FROM job_event WHERE id IN (SELECT id FROM job_event WHERE id <= "
      "(SELECT MAX(id) FROM job_event) - $1 ORDER BY id LIMIT $2) RETURNING id";
  const std::int64_t keep = std::max<std::int64_t>(1, keep_events);
  for (const auto& [sql, bound] : {std::pair(&jobs, ended_before), std::pair(&events, keep)}) {
    for (std::int64_t round = 0; round < kTidyRounds; ++round) {
      const auto removed = RemoveSome(*sql, bound, sql == &jobs);
      RETURN_IF_ERROR(removed);
      if (*removed < kTidyRows) break;
    }
  }
  RETURN_IF_ERROR(TidyShared(*database_));
  if (server_) std::ignore = database_->KeepReserve();  // the next submission says why not
  return database_->Reclaim();
}

core::Result<void> SqlJobStore::BecomeServer() {
  auto done = TakeLock();
  if (!done && database_->UseReserve()) done = TakeLock();
  server_ = server_ || done.has_value();
  if (server_) std::ignore = database_->KeepReserve();  // the first submission says why not
  return done;
}

core::Result<void> SqlJobStore::TakeLock() {
  auto writing = Transaction::Begin(*database_, Access::kWrite, kJobsLock);
  RETURN_IF_ERROR(writing);
  auto done = lock_->Hold(*database_);
  const std::string who = ThisServer();
  const std::vector<Value> row{std::string_view(kServerName), Blob{who}};
  if (done) done = database_->Upsert({"kept", {"name"}, {"value"}}, std::span(&row, 1));
  if (done) done = writing->Commit();
  return done;
}

core::Result<std::unique_ptr<SqlJobStore>> SqlJobStore::Make(std::unique_ptr<Database> database,
                                                             std::unique_ptr<ServerLock> lock,
                                                             const std::string& key) {
  auto reading = Transaction::Begin(*database, Access::kRead);
  RETURN_IF_ERROR(reading);
  auto id = IdOf(*database);
  RETURN_IF_ERROR(id);
  RETURN_IF_ERROR(reading->Commit());
  return std::unique_ptr<SqlJobStore>(
      new SqlJobStore(std::move(database), std::move(lock), *id, key));
}

core::Result<std::unique_ptr<JobStore>> OpenJobs(const std::string& where, const std::string& key) {
  auto database = OpenDatabase(where);
  RETURN_IF_ERROR(database);
  return SqlJobStore::Make(std::move(*database),
                           IsPostgres(where) ? NewAdvisoryLock() : NewFileLock(where), key);
}

}  // namespace sharewell::store
