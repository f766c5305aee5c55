#include <algorithm>
#include <utility>

#include "core/result.h"
#include "store/learning_store.h"
#include "store/open_database.h"
#include "store/profiles/profile_json.h"
#include "store/sql.h"

namespace sharewell::store {
namespace {

constexpr std::string_view kLearningLock = "learning";

class SqlLearningStore final : public LearningStore {
 public:
  SqlLearningStore(std::unique_ptr<Database> database, const LearningBounds& bounds)
      : database_(std::move(database)), bounds_(bounds) {}

  core::Result<void> Keep(std::span<const KeptGraph> graphs,
                          std::span<const KeptRun> runs) override {
    auto writing = Transaction::Begin(*database_, Access::kWrite, kLearningLock);
    RETURN_IF_ERROR(writing);
    for (const KeptGraph& graph : graphs) {
      RETURN_IF_ERROR(
          database_->Run("INSERT INTO learnt_graph(digest, met, data) VALUES($1, $2, $3) "
                         "ON CONFLICT(digest) DO UPDATE SET met = excluded.met",
                         {std::string_view(graph.digest), graph.met, Blob{graph.text}}));
    }
    for (const KeptRun& run : runs) {
      const std::string record = ProfileToJson(run.record);
      RETURN_IF_ERROR(database_->Run(
          "INSERT INTO learnt_run(time, job, graph, record) VALUES($1, $2, $3, $4)",
          {run.record.created, run.job, std::string_view(run.graph), std::string_view(record)}));
    }
    if (!runs.empty()) {
      RETURN_IF_ERROR(
          database_->Run("DELETE FROM learnt_run WHERE id <= "
                         "(SELECT COALESCE(MAX(id), 0) FROM learnt_run) - $1",
                         {bounds_.runs}));
    }
    RETURN_IF_ERROR(DropGraphs());
    return writing->Commit();
  }

  core::Result<std::vector<KeptRun>> Runs(std::int64_t most) override {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::vector<KeptRun> runs;
    auto done =
        database_->Run("SELECT id, job, graph, record FROM learnt_run ORDER BY id DESC LIMIT $1",
                       {most}, [&](const Row& row) {
                         auto record = ProfileFromJson(row.Bytes(3));
                         if (!record) return;  // one that is damaged teaches nothing; the others do
                         runs.push_back({row.Integer(0), row.Integer(1), std::string(row.Bytes(2)),
                                         std::move(*record)});
                       });
    if (done) done = reading->Commit();
    RETURN_IF_ERROR(done);
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  core::Result<std::optional<std::string>> Graph(const std::string& digest) override {
    return Text("SELECT data FROM learnt_graph WHERE digest = $1", std::string_view(digest));
  }

  core::Result<std::int64_t> CountGraphs() override {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::int64_t count = 0;
    auto done = database_->Run("SELECT COUNT(*) FROM learnt_graph", {},
                               [&](const Row& row) { count = row.Integer(0); });
    if (done) done = reading->Commit();
    RETURN_IF_ERROR(done);
    return count;
  }

  core::Result<std::int64_t> KeepModel(const KeptModel& model) override {
    auto writing = Transaction::Begin(*database_, Access::kWrite, kLearningLock);
    RETURN_IF_ERROR(writing);
    std::int64_t id = 0;
    RETURN_IF_ERROR(database_->Run(
        "INSERT INTO learnt_model(time, report, data) VALUES($1, $2, $3) RETURNING id",
        {model.time, std::string_view(model.report), Blob{model.text}},
        [&](const Row& row) { id = row.Integer(0); }));
    RETURN_IF_ERROR(
        database_->Run("DELETE FROM learnt_model WHERE id <= $1 - $2", {id, bounds_.models}));
    // Those that were refused have no text; so the newest few that have one stay whole.
    RETURN_IF_ERROR(database_->Run(
        "UPDATE learnt_model SET data = $1 WHERE LENGTH(data) > 0 AND id NOT IN (SELECT id FROM "
        "learnt_model WHERE LENGTH(data) > 0 ORDER BY id DESC LIMIT $2)",
        {Blob{""}, bounds_.model_texts}));
    RETURN_IF_ERROR(writing->Commit());
    return id;
  }

  core::Result<std::vector<KeptModel>> Models() override {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::vector<KeptModel> models;
    auto done = database_->Run(
        "SELECT id, time, report FROM learnt_model ORDER BY id DESC", {}, [&](const Row& row) {
          models.push_back({row.Integer(0), row.Integer(1), std::string(row.Bytes(2)), {}});
        });
    if (done) done = reading->Commit();
    RETURN_IF_ERROR(done);
    return models;
  }

  core::Result<std::optional<std::string>> ModelText(std::int64_t id) override {
    auto text = Text("SELECT data FROM learnt_model WHERE id = $1", id);
    if (text && *text && (*text)->empty()) return std::nullopt;
    return text;
  }

 private:
  core::Result<std::optional<std::string>> Text(const std::string& sql, const Value& key) {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::optional<std::string> text;
    auto done =
        database_->Run(sql, {key}, [&](const Row& row) { text = std::string(row.Bytes(0)); });
    if (done) done = reading->Commit();
    RETURN_IF_ERROR(done);
    return text;
  }

  // Those that no run names first, then the oldest; as many as it takes.
  core::Result<void> DropGraphs() {
    std::int64_t graphs = 0, bytes = 0;
    RETURN_IF_ERROR(
        database_->Run("SELECT COUNT(*), CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) "
                       "FROM learnt_graph",
                       {}, [&](const Row& row) {
                         graphs = row.Integer(0);
                         bytes = row.Integer(1);
                       }));
    if (graphs <= bounds_.graphs && bytes <= bounds_.graph_bytes) return {};
    std::vector<std::string> gone;
    RETURN_IF_ERROR(
        database_->Run("SELECT digest, LENGTH(data) FROM learnt_graph ORDER BY CASE WHEN digest IN "
                       "(SELECT graph FROM learnt_run) THEN 1 ELSE 0 END, met, digest",
                       {}, [&](const Row& row) {
                         if (graphs <= bounds_.graphs && bytes <= bounds_.graph_bytes) return;
                         gone.emplace_back(row.Bytes(0));
                         --graphs;
                         bytes -= row.Integer(1);
                       }));
    for (const std::string& digest : gone) {
      RETURN_IF_ERROR(
          database_->Run("DELETE FROM learnt_graph WHERE digest = $1", {std::string_view(digest)}));
    }
    return {};
  }

  std::unique_ptr<Database> database_;
  const LearningBounds bounds_;
};

}  // namespace

core::Result<std::unique_ptr<LearningStore>> OpenLearning(const std::string& where,
                                                          const LearningBounds& bounds) {
  auto database = OpenDatabase(where);
  RETURN_IF_ERROR(database);
  return std::make_unique<SqlLearningStore>(std::move(*database), bounds);
}

}  // namespace sharewell::store
