#include "store/migrations.h"

#include <charconv>
#include <string>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/version.h"

namespace sharewell::store {
namespace {

constexpr const char* kSqliteSteps[] = {
    // 1: samples.
    R"(
CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
CREATE TABLE series(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, metric TEXT NOT NULL,
  instance TEXT NOT NULL, job TEXT NOT NULL, unit TEXT NOT NULL, kind INTEGER NOT NULL,
  UNIQUE(node, metric, instance, job));
CREATE TABLE extent(series INTEGER PRIMARY KEY, first_time INTEGER NOT NULL,
  last_time INTEGER NOT NULL, samples INTEGER NOT NULL);
CREATE TABLE journal(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL,
  minute INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX journal_by_node ON journal(node, minute);
CREATE TABLE chunk(slot INTEGER PRIMARY KEY, samples INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE minute_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE hour_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE dirty(slot INTEGER PRIMARY KEY);
)",
    // 2: profiles.
    R"(
CREATE TABLE profile(id INTEGER PRIMARY KEY AUTOINCREMENT, created INTEGER NOT NULL,
  name TEXT NOT NULL, workload TEXT NOT NULL, gpu TEXT NOT NULL, source TEXT NOT NULL,
  record TEXT NOT NULL);
)",
    // 3: jobs. `ended` is 0 until a job is over; `workload` a hash of core::WorkloadKey.
    R"(
CREATE TABLE job(number INTEGER PRIMARY KEY, phase TEXT NOT NULL, owner TEXT NOT NULL,
  workload INTEGER NOT NULL, submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
  record TEXT NOT NULL);
CREATE INDEX job_by_phase ON job(phase, number);
CREATE INDEX job_by_owner ON job(owner, number);
CREATE INDEX job_by_workload ON job(workload, number);
CREATE INDEX job_by_end ON job(ended);
CREATE TABLE job_event(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL,
  job INTEGER NOT NULL, words TEXT NOT NULL);
CREATE TABLE shared_run(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
  gpu TEXT NOT NULL, a BLOB NOT NULL, b BLOB NOT NULL, speed_a TEXT NOT NULL,
  speed_b TEXT NOT NULL, fits INTEGER NOT NULL);
CREATE TABLE kept(name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
)",
    // 4: the store's id, made once.
    R"(
INSERT INTO meta(name, value) VALUES('id', lower(hex(randomblob(8)))) ON CONFLICT DO NOTHING;
)",
    // 5: who wrote a job's record (jobs/seal.h).
    R"(
ALTER TABLE job ADD COLUMN seal TEXT NOT NULL DEFAULT '';
)",
    // 6: the share of the SMs that each was given.
    R"(
ALTER TABLE shared_run ADD COLUMN share_a TEXT NOT NULL DEFAULT '1';
ALTER TABLE shared_run ADD COLUMN share_b TEXT NOT NULL DEFAULT '1';
)",
    // 7: what the predictor learns from (learning_store.h).
    R"(
CREATE TABLE learnt_graph(digest TEXT PRIMARY KEY NOT NULL, met INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE learnt_run(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, job INTEGER NOT NULL,
  graph TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE learnt_model(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
  report TEXT NOT NULL, data BLOB NOT NULL);
)",
    // 8: whose runs taught it.
    R"(
ALTER TABLE shared_run ADD COLUMN owner_a TEXT NOT NULL DEFAULT '';
ALTER TABLE shared_run ADD COLUMN owner_b TEXT NOT NULL DEFAULT '';
ALTER TABLE learnt_graph ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE learnt_run ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE learnt_run SET owner =
  COALESCE((SELECT job.owner FROM job WHERE job.number = learnt_run.job), '');
)",
    // 9: how long two jobs were watched together, in seconds.
    R"(
ALTER TABLE shared_run ADD COLUMN watched TEXT NOT NULL DEFAULT '0';
)",
    // 10: what jobs of clusters tell of themselves, from the agents to the server.
    R"(
CREATE TABLE job_told(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, job TEXT NOT NULL,
  time INTEGER NOT NULL, counts INTEGER NOT NULL, document BLOB NOT NULL, off BLOB NOT NULL);
CREATE INDEX job_told_by_node ON job_told(node, job);
)",
    // 11: how fast a job stepped over its life.
    R"(
CREATE TABLE job_speed(job INTEGER PRIMARY KEY, history TEXT NOT NULL);
)"};

constexpr const char* kPostgresSteps[] = {
    // 1: samples. Bytes are packed already: the server need not try.
    R"(
CREATE SCHEMA IF NOT EXISTS sharewell;
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE series(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node TEXT NOT NULL,
  metric TEXT NOT NULL, instance TEXT NOT NULL, job TEXT NOT NULL, unit TEXT NOT NULL,
  kind BIGINT NOT NULL, UNIQUE(node, metric, instance, job));
CREATE TABLE extent(series BIGINT PRIMARY KEY, first_time BIGINT NOT NULL,
  last_time BIGINT NOT NULL, samples BIGINT NOT NULL);
CREATE TABLE journal(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node TEXT NOT NULL,
  minute BIGINT NOT NULL, data BYTEA NOT NULL);
ALTER TABLE journal ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX journal_by_node ON journal(node, minute);
CREATE TABLE chunk(slot BIGINT PRIMARY KEY, samples BIGINT NOT NULL, data BYTEA NOT NULL);
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE minute_rollup(slot BIGINT PRIMARY KEY, data BYTEA NOT NULL);
ALTER TABLE minute_rollup ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE hour_rollup(slot BIGINT PRIMARY KEY, data BYTEA NOT NULL);
ALTER TABLE hour_rollup ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE dirty(slot BIGINT PRIMARY KEY);
)",
    // 2: profiles.
    R"(
CREATE TABLE profile(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created BIGINT NOT NULL,
  name TEXT NOT NULL, workload TEXT NOT NULL, gpu TEXT NOT NULL, source TEXT NOT NULL,
  record TEXT NOT NULL);
)",
    // 3: jobs.
    R"(
CREATE TABLE job(number BIGINT PRIMARY KEY, phase TEXT NOT NULL, owner TEXT NOT NULL,
  workload BIGINT NOT NULL, submitted BIGINT NOT NULL, ended BIGINT NOT NULL,
  record TEXT NOT NULL);
CREATE INDEX job_by_phase ON job(phase, number);
CREATE INDEX job_by_owner ON job(owner, number);
CREATE INDEX job_by_workload ON job(workload, number);
CREATE INDEX job_by_end ON job(ended);
CREATE TABLE job_event(id BIGINT PRIMARY KEY, time BIGINT NOT NULL, kind TEXT NOT NULL,
  job BIGINT NOT NULL, words TEXT NOT NULL);
CREATE TABLE shared_run(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time BIGINT NOT NULL,
  gpu TEXT NOT NULL, a BYTEA NOT NULL, b BYTEA NOT NULL, speed_a TEXT NOT NULL,
  speed_b TEXT NOT NULL, fits BIGINT NOT NULL);
CREATE TABLE kept(name TEXT PRIMARY KEY, value BYTEA NOT NULL);
)",
    // 4: the store's id, made once.
    R"(
INSERT INTO meta(name, value) VALUES('id', substr(md5(gen_random_uuid()::text), 1, 16))
  ON CONFLICT DO NOTHING;
)",
    // 5: who wrote a job's record (jobs/seal.h).
    R"(
ALTER TABLE job ADD COLUMN seal TEXT NOT NULL DEFAULT '';
)",
    // 6: the share of the SMs that each was given.
    R"(
ALTER TABLE shared_run ADD COLUMN share_a TEXT NOT NULL DEFAULT '1';
ALTER TABLE shared_run ADD COLUMN share_b TEXT NOT NULL DEFAULT '1';
)",
    // 7: what the predictor learns from (learning_store.h).
    R"(
CREATE TABLE learnt_graph(digest TEXT PRIMARY KEY NOT NULL, met BIGINT NOT NULL, data BYTEA NOT NULL);
CREATE TABLE learnt_run(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time BIGINT NOT NULL, job BIGINT NOT NULL,
  graph TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE learnt_model(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time BIGINT NOT NULL,
  report TEXT NOT NULL, data BYTEA NOT NULL);
)",
    // 8: whose runs taught it.
    R"(
ALTER TABLE shared_run ADD COLUMN owner_a TEXT NOT NULL DEFAULT '';
ALTER TABLE shared_run ADD COLUMN owner_b TEXT NOT NULL DEFAULT '';
ALTER TABLE learnt_graph ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE learnt_run ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE learnt_run SET owner =
  COALESCE((SELECT job.owner FROM job WHERE job.number = learnt_run.job), '');
)",
    // 9: how long two jobs were watched together, in seconds.
    R"(
ALTER TABLE shared_run ADD COLUMN watched TEXT NOT NULL DEFAULT '0';
)",
    // 10: what jobs of clusters tell of themselves, from the agents to the server.
    R"(
CREATE TABLE job_told(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node TEXT NOT NULL,
  job TEXT NOT NULL, time BIGINT NOT NULL, counts BIGINT NOT NULL, document BYTEA NOT NULL,
  off BYTEA NOT NULL);
CREATE INDEX job_told_by_node ON job_told(node, job);
)",
    // 11: how fast a job stepped over its life.
    R"(
CREATE TABLE job_speed(job BIGINT PRIMARY KEY, history TEXT NOT NULL);
)"};

// How many steps the store has taken; refuses more than `known`.
core::Result<std::size_t> StepsTaken(Database& database, const Schema& schema) {
  std::int64_t has_meta = 0;
  RETURN_IF_ERROR(
      database.Run(schema.has_meta, {}, [&](const Row& row) { has_meta = row.Integer(0); }));
  if (has_meta == 0) return 0;
  // No number yet: another process is making the store, and this transaction began before it ended.
  std::string taken = "0", writer = "another program";
  RETURN_IF_ERROR(database.Run("SELECT name, value FROM meta", {}, [&](const Row& row) {
    if (row.Bytes(0) == "schema") taken = row.Bytes(1);
    if (row.Bytes(0) == "written_by") writer = row.Bytes(1);
  }));
  std::size_t steps = 0;
  const auto [end, error] = std::from_chars(taken.data(), taken.data() + taken.size(), steps);
  if (error != std::errc() || end != taken.data() + taken.size()) {
    return core::UsageError("{}: its schema is {}, which is no number: this is no Sharewell store",
                            database.where(), core::Quoted(taken));
  }
  if (steps > schema.steps.size()) {
    return core::UsageError(
        "{}: was written by {} with schema {}, and this program (sharewell {}) knows schemas up to "
        "{}: update sharewell, or name another store",
        database.where(), core::Quoted(writer), steps, core::kVersion, schema.steps.size());
  }
  return steps;
}

}  // namespace

Schema SqliteSchema() {
  return {"SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'meta'",
          kSqliteSteps};
}

Schema PostgresSchema() {
  // Not to_regclass: it answers from what the connection remembers, which may be older than the
  // lock we have just waited for.
  return {
      "SELECT COUNT(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
      "ON n.oid = c.relnamespace WHERE n.nspname = 'sharewell' AND c.relname = 'meta'",
      kPostgresSteps};
}

core::Result<void> Migrate(Database& database, const Schema& schema) {
  {
    auto reading = Transaction::Begin(database, Access::kRead);
    RETURN_IF_ERROR(reading);
    const auto taken = StepsTaken(database, schema);
    RETURN_IF_ERROR(taken);
    if (*taken == schema.steps.size()) return reading->Commit();
  }
  auto writing = Transaction::Begin(database, Access::kWrite);
  RETURN_IF_ERROR(writing);
  // Again: another process may have been at it meanwhile.
  const auto taken = StepsTaken(database, schema);
  RETURN_IF_ERROR(taken);
  for (std::size_t i = *taken; i < schema.steps.size(); ++i) {
    if (auto done = database.Script(schema.steps[i]); !done) return done;
  }
  const std::string steps = std::to_string(schema.steps.size());
  const std::string writer = "sharewell " + std::string(core::kVersion);
  const std::vector<Value> rows[] = {{std::string_view("schema"), std::string_view(steps)},
                                     {std::string_view("written_by"), std::string_view(writer)}};
  if (auto done = database.Upsert({"meta", {"name"}, {"value"}}, rows); !done) return done;
  return writing->Commit();
}

}  // namespace sharewell::store
