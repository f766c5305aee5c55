#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/job/most_lose.h"
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
      RETURN_IF_ERROR(database_->Run(
          "INSERT INTO learnt_graph(digest, met, data, owner) VALUES($1, $2, $3, $4) "
          "ON CONFLICT(digest) DO UPDATE SET met = excluded.met",
          {std::string_view(graph.digest), graph.met, Blob{graph.text},
           std::string_view(graph.user)}));
    }
    for (const KeptRun& run : runs) {
      const std::string record = ProfileToJson(run.record);
      RETURN_IF_ERROR(database_->Run(
          "INSERT INTO learnt_run(time, job, graph, record, owner) VALUES($1, $2, $3, $4, $5)",
          {run.record.created, run.job, std::string_view(run.graph), std::string_view(record),
           std::string_view(run.record.user)}));
      // Whoever ran it answers for it, where nobody does yet.
      RETURN_IF_ERROR(
          database_->Run("UPDATE learnt_graph SET owner = $1 WHERE digest = $2 AND owner = ''",
                         {std::string_view(run.record.user), std::string_view(run.graph)}));
    }
    if (!runs.empty()) RETURN_IF_ERROR(DropRuns());
    RETURN_IF_ERROR(DropGraphs());
    return writing->Commit();
  }

  core::Result<std::vector<KeptRun>> Runs(std::int64_t most) override {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::vector<KeptRun> runs;
    auto done = database_->Run(
        "SELECT id, job, graph, record, owner FROM learnt_run ORDER BY id DESC LIMIT $1", {most},
        [&](const Row& row) {
          auto record = ProfileFromJson(row.Bytes(3));
          if (!record) return;  // one that is damaged teaches nothing; the others do
          record->user = row.Bytes(4);
          runs.push_back(
              {row.Integer(0), row.Integer(1), std::string(row.Bytes(2)), std::move(*record)});
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

  core::Result<std::map<std::string, std::int64_t>> RunsByUser() override {
    auto reading = Transaction::Begin(*database_, Access::kRead);
    RETURN_IF_ERROR(reading);
    std::map<std::string, std::int64_t> counts;
    auto done =
        CountRuns([&](const std::string& owner, std::int64_t count) { counts[owner] = count; });
    if (done) done = reading->Commit();
    RETURN_IF_ERROR(done);
    return counts;
  }

  core::Result<std::int64_t> Forget(const std::string& user) override {
    auto writing = Transaction::Begin(*database_, Access::kWrite, kLearningLock);
    RETURN_IF_ERROR(writing);
    std::int64_t removed = 0;
    RETURN_IF_ERROR(database_->Run("DELETE FROM learnt_run WHERE owner = $1 RETURNING id",
                                   {std::string_view(user)}, [&](const Row&) { ++removed; }));
    // A graph says nothing by itself, and others' runs may name it.
    RETURN_IF_ERROR(
        database_->Run("DELETE FROM learnt_graph WHERE owner = $1 AND digest NOT IN (SELECT graph "
                       "FROM learnt_run)",
                       {std::string_view(user)}));
    RETURN_IF_ERROR(writing->Commit());
    return removed;
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

  template <class F>
  core::Result<void> CountRuns(F each) {
    return database_->Run("SELECT owner, COUNT(*) FROM learnt_run GROUP BY owner", {},
                          [&](const Row& row) { each(std::string(row.Bytes(0)), row.Integer(1)); });
  }

  core::Result<void> DropRuns() {
    std::map<std::string, std::size_t> counts;
    RETURN_IF_ERROR(CountRuns([&](const std::string& owner, std::int64_t count) {
      counts[owner] = static_cast<std::size_t>(count);
    }));
    for (const auto& [owner, count] :
         core::MostLose(counts, static_cast<std::size_t>(bounds_.runs))) {
      RETURN_IF_ERROR(database_->Run(
          "DELETE FROM learnt_run WHERE id IN (SELECT id FROM learnt_run WHERE owner = $1 ORDER BY "
          "id LIMIT $2)",
          {std::string_view(owner), static_cast<std::int64_t>(count)}));
    }
    return {};
  }

  // Of the users with most, by number and then by bytes: those that no run names first, then the
  // oldest; as many as it takes.
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
    struct Kept {
      std::string digest;
      std::size_t bytes = 0;
    };
    std::map<std::string, std::deque<Kept>> by_owner;  // those that go first in front
    std::map<std::string, std::size_t> counts, sizes;
    RETURN_IF_ERROR(database_->Run(
        "SELECT digest, LENGTH(data), owner FROM learnt_graph ORDER BY CASE WHEN digest IN "
        "(SELECT graph FROM learnt_run) THEN 1 ELSE 0 END, met, digest",
        {}, [&](const Row& row) {
          const std::string owner(row.Bytes(2));
          const auto size = static_cast<std::size_t>(row.Integer(1));
          by_owner[owner].push_back({std::string(row.Bytes(0)), size});
          ++counts[owner];
          sizes[owner] += size;
        }));
    std::vector<std::string> gone;
    const auto drop = [&](const std::string& owner) {
      Kept& first = by_owner[owner].front();
      gone.push_back(std::move(first.digest));
      const std::size_t size = first.bytes;
      sizes[owner] -= size;
      by_owner[owner].pop_front();
      return size;
    };
    for (const auto& [owner, count] :
         core::MostLose(counts, static_cast<std::size_t>(bounds_.graphs))) {
      for (std::size_t i = 0; i < count; ++i) drop(owner);
    }
    for (const auto& [owner, count] :
         core::MostLose(sizes, static_cast<std::size_t>(bounds_.graph_bytes))) {
      for (std::size_t lost = 0; lost < count && !by_owner[owner].empty();) lost += drop(owner);
    }
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
