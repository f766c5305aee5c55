#include "server/learn/learner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "advice/prediction.h"
#include "graph/read.h"
#include "platform/files/test_folder.h"
#include "predict/base.h"
#include "server/learn/learner_json.h"

namespace sharewell::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const predict::Trained& Shipped() {
  static const predict::Trained trained = advice::BuiltinModel().value();
  return trained;
}

graph::Graph NetOf(int width, std::int64_t batch) {
  const std::string list = fmt::format(
      R"({{"inputs":[{{"name":"x","shape":["batch",3,64,64]}}],"layers":[
          {{"type":"conv2d","out_channels":{0},"kernel":3,"padding":1}},{{"type":"relu"}},
          {{"type":"conv2d","out_channels":{0},"kernel":3,"padding":1}},{{"type":"relu"}},
          {{"type":"globalpool"}},{{"type":"flatten"}},{{"type":"linear","out":10}}]}})",
      width);
  return graph::Read(list, "net.json", {.batch = batch, .named = {}}).value();
}

class LearnerTest : public ::testing::Test {
 protected:
  void Start(const std::string& given = "shipped") {
    LearnerOptions options;
    options.given_name = given;
    options.open = [this] { return store::OpenLearning(folder.Path("store.db")); };
    options.catalogue = &catalogue;
    options.given = Shipped();
    options.wall = [] { return core::UnixMillis{1'800'000'000'000}; };
    options.tell = [this](const char* kind, const std::string& text) {
      const platform::MutexLock lock(mutex);
      told.push_back(fmt::format("{}: {}", kind, text));
    };
    options.gather = core::Seconds(0.01);
    learner = std::make_unique<Learner>(std::move(options));
  }

  // A run of this network that took `slower` times as long a step as the shipped predictor says.
  void RunOnce(std::int64_t job, double slower, const core::Account& user = {"root", 0, 0, true}) {
    const int width = 8 + 8 * static_cast<int>(job % 7);
    const std::int64_t batch = 16 + 16 * (job % 5);
    const graph::Graph graph = NetOf(width, batch);
    const core::GpuModel gpu = catalogue.Find("H200").value();
    predict::Query query;
    query.graph = &graph;
    query.gpu = &gpu;
    const auto said = Shipped().predictor.Predict(query);
    core::JobRecord record;
    record.number = job;
    record.user = user;
    record.ended = 1'700'000'000'000 + job;
    record.gpus = {{0, "simulated-0", "H200"}};
    record.cores = 64;
    record.asked.command = {"train"};
    record.asked.needs.emplace();
    record.asked.needs->graph = learner->KeepGraph(GraphToKeep(graph).value());
    record.asked.needs->profile.workload = {"net", static_cast<int>(batch), "fp32", 4};
    core::Profile seen;
    const double step = said[predict::Figure::kStepSeconds].median * slower *
                        (1 + 0.02 * std::sin(static_cast<double>(job)));
    seen.steps_per_second = 1 / step;
    seen.busy = said[predict::Figure::kBusy].median;
    auto run = RunToKeep(record, seen);
    ASSERT_TRUE(run);
    learner->KeepRun(*std::move(run));
  }
  void Runs(std::int64_t from, std::int64_t to, double slower) {
    for (std::int64_t job = from; job < to; ++job) RunOnce(job, slower);
  }

  template <class Until>
  bool Waited(Until until) {
    for (int i = 0; i < 20'000; ++i) {  // training with a sanitizer on a busy machine takes minutes
      if (until(learner->State())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::vector<std::string> Told() {
    const platform::MutexLock lock(mutex);
    return told;
  }
  double StepOf() {
    const graph::Graph graph = NetOf(24, 48);
    const core::GpuModel gpu = catalogue.Find("H200").value();
    predict::Query query;
    query.graph = &graph;
    query.gpu = &gpu;
    return learner->InUse()->predictor.Predict(query)[predict::Figure::kStepSeconds].median;
  }

  platform::TestFolder folder;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  platform::Mutex mutex;
  std::vector<std::string> told SHAREWELL_GUARDED_BY(mutex);
  std::unique_ptr<Learner> learner;  // before what it uses goes
};

TEST_F(LearnerTest, ItTrainsWhenEnoughIsNewAndARestartKeepsWhatItMade) {
  Start();
  const double before = StepOf();
  Runs(0, 39, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 39; }));
  EXPECT_FALSE(learner->IsRetrained()) << "one run is missing";
  RunOnce(39, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.taken == 1; }));
  EXPECT_TRUE(learner->IsRetrained());
  EXPECT_NEAR(StepOf() / before, 2, 0.3);
  const LearnerState state = learner->State();
  EXPECT_EQ(state.in_use, "retrained");
  ASSERT_TRUE(state.trained);
  EXPECT_EQ(state.trained->runs, 30U);
  EXPECT_EQ(state.trained->held_out, 10U);
  EXPECT_THAT(Told(), Contains(HasSubstr("predictor.taken: predictor: learnt from 30 runs")));
  learner.reset();
  Start();
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.in_use == "retrained"; }));
  EXPECT_NEAR(StepOf() / before, 2, 0.3);
  EXPECT_EQ(learner->State().new_runs, 0U);
}

TEST_F(LearnerTest, WhatWasLearntOntoAnotherModelIsNotUsed) {
  Start();
  const double before = StepOf();
  Runs(0, 40, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.taken == 1; }));
  learner.reset();
  Start("mine.json");
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 40; }));
  EXPECT_EQ(learner->State().in_use, "mine.json");
  EXPECT_EQ(StepOf(), before);
  ASSERT_TRUE(learner->Use("retrained"));
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.history.size() == 2; }));
  EXPECT_EQ(learner->State().in_use, "mine.json") << "nothing was learnt onto it";
  learner.reset();
  Start();
  EXPECT_TRUE(Waited([](const LearnerState& s) { return s.in_use == "retrained"; }));
}

TEST_F(LearnerTest, WhatIsNoBetterIsRefusedAndSaidSo) {
  Start();
  Runs(0, 40, 1);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.refused == 1; }));
  EXPECT_FALSE(learner->IsRetrained());
  const LearnerState state = learner->State();
  EXPECT_EQ(state.in_use, "shipped");
  ASSERT_EQ(state.history.size(), 1U);
  EXPECT_FALSE(state.history[0].figures[1].why.empty());
}

TEST_F(LearnerTest, AnAdminGoesBackAndForthAndItIsRemembered) {
  Start();
  const double before = StepOf();
  Runs(0, 40, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.taken == 1; }));
  EXPECT_FALSE(learner->Use("best"));
  ASSERT_TRUE(learner->Use("shipped"));
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.pinned; }));
  EXPECT_EQ(StepOf(), before);
  EXPECT_THAT(Told(), Contains(HasSubstr("predictor.chosen")));
  learner.reset();
  Start();
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.pinned; }));
  EXPECT_EQ(StepOf(), before) << "a restart does not undo the choice";
  ASSERT_TRUE(learner->Use("retrained"));
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.in_use == "retrained"; }));
  EXPECT_NEAR(StepOf() / before, 2, 0.3);
}

TEST_F(LearnerTest, DriftIsSaidInWords) {
  Start();
  Runs(0, 40, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.taken == 1; }));
  Runs(40, 75, 6);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return !s.drift.empty(); }));
  EXPECT_THAT(Told(), Contains(HasSubstr("predictor.drifts: predictions drift: over the last")));
  EXPECT_THAT(learner->State().drift, HasSubstr("step_seconds by"));
  EXPECT_THAT(LearnerMetrics(learner->State()), HasSubstr("sharewell_predictor_drifts 1\n"));
}

TEST_F(LearnerTest, A3_OneUsersRunsTeachNobodyElsesPredictor) {
  Start();
  const double before = StepOf();
  for (int job = 0; job < 60; ++job) RunOnce(job, 5, {"eve", 1003, 1003, false});
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 60; }));
  for (int job = 60; job < 64; ++job) RunOnce(job, 5, {"bob", 1001, 1001, false});
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 64; }));
  learner.reset();  // after whatever it had to do
  Start();
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 64; }));
  EXPECT_EQ(StepOf(), before);
  EXPECT_EQ(learner->State().taken, 0U);
  EXPECT_EQ(learner->State().runs_by_user.at("eve"), 60);
  Lessons lessons;
  lessons.workloads = 2;
  const std::string page = LearnerJson(learner->State(), {{"cal", lessons}});
  EXPECT_THAT(page, HasSubstr(R"({"user":"bob","runs_kept":4,"workloads":0)"));
  EXPECT_THAT(page, HasSubstr(R"({"user":"cal","runs_kept":0,"workloads":2,"compared":0,)"
                              R"("busy_factor":null)"));
}

TEST_F(LearnerTest, A3_WhatAUserTaughtIsForgottenAndARestartKeepsItSo) {
  Start();
  const double before = StepOf();
  Runs(0, 40, 2);
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.taken == 1; }));
  EXPECT_EQ(learner->State().trained->users, std::vector<std::string>{"root"});
  learner->Forget("nobody");
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.history.size() == 2; }));
  EXPECT_NEAR(StepOf() / before, 2, 0.3) << "not by that one";
  learner->Forget("root");
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.runs == 0 && !s.trained; }));
  EXPECT_EQ(StepOf(), before);
  learner.reset();
  Start();
  ASSERT_TRUE(Waited([](const LearnerState& s) { return s.history.size() == 3; }));
  EXPECT_EQ(StepOf(), before);
}

TEST(Teachers, A3_ThreeUsersTeachInEqualPartsAndFewerNotAtAll) {
  std::vector<store::KeptRun> runs;
  const auto add = [&](const std::string& user, int count, bool admin = false) {
    for (int i = 0; i < count; ++i) {
      store::KeptRun& run = runs.emplace_back();
      run.id = static_cast<std::int64_t>(runs.size());
      run.record.user = user;
      run.record.by_admin = admin;
    }
  };
  add("eve", 500);
  add("bob", 30);
  EXPECT_TRUE(ChooseTeachers(runs, 40, 1500).runs.empty());
  add("root", 45, true);
  Teachers chosen = ChooseTeachers(runs, 40, 1500);
  EXPECT_TRUE(chosen.several);
  EXPECT_EQ(chosen.runs.size(), 90U) << "thirty of each";
  EXPECT_EQ(chosen.runs.front().id, 471) << "the newest of hers";
  EXPECT_EQ(chosen.users, (std::vector<std::string>{"bob", "eve", "root"}));
  EXPECT_LE(ChooseTeachers(runs, 40, 60).runs.size(), 60U);
  chosen = ChooseTeachers(runs, 100, 1500);
  EXPECT_FALSE(chosen.several);
  EXPECT_EQ(chosen.users, std::vector<std::string>{"root"}) << "an admin needs nobody";
  EXPECT_EQ(chosen.runs.size(), 45U);
}

TEST_F(LearnerTest, AJobThatNamesNoGraphOrSharedItsSmsTeachesNothing) {
  core::JobRecord record;
  record.gpus = {{0, "u", "H200"}};
  core::Profile seen;
  seen.steps_per_second = 3;
  EXPECT_FALSE(RunToKeep(record, seen)) << "nobody knows what it trains";
  record.asked.needs.emplace();
  record.asked.needs->graph = "aa";
  record.asked.needs->profile.workload.batch = 8;
  EXPECT_TRUE(RunToKeep(record, seen));
  EXPECT_FALSE(RunToKeep(record, {})) << "nothing was seen";
  record.asked.sm_share = 0.5;
  EXPECT_FALSE(RunToKeep(record, seen));
  record.asked.sm_share.reset();
  record.asked.gpus = 2;
  EXPECT_FALSE(RunToKeep(record, seen)) << "the exchange of gradients is in its steps";
}

TEST(LearnerJson, AReportComesBackAsItWas) {
  TrainingReport report;
  report.outcome = "taken";
  report.why = "because";
  report.given = "mine.json";
  report.runs = 150;
  report.held_out = 50;
  report.users = {"ann", "bob"};
  report.figures[1].shipped = 0.5;
  report.figures[1].retrained = 0.1;
  report.figures[1].verdict = predict::FigureJudgement::Verdict::kTaken;
  const auto again = ReportFromJson(ReportToJson(report));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->runs, 150U);
  EXPECT_EQ(again->given, "mine.json");
  EXPECT_EQ(again->users, report.users);
  EXPECT_EQ(ReportFromJson(R"({"outcome":"taken"})")->given, "shipped") << "as it was once";
  EXPECT_EQ(again->figures[1].shipped, 0.5);
  EXPECT_EQ(again->figures[1].in_use, std::nullopt) << "unknown is not zero";
  EXPECT_EQ(again->figures[1].verdict, predict::FigureJudgement::Verdict::kTaken);
  EXPECT_FALSE(ReportFromJson("no"));
  LearnerState state;
  state.trained = report;
  EXPECT_THAT(LearnerMetrics(state),
              HasSubstr("sharewell_predictor_error{figure=\"step_seconds\",model=\"in_use\"} 0.1"));
  EXPECT_THAT(LearnerMetrics({}), Not(HasSubstr("sharewell_predictor_error")));
}

}  // namespace
}  // namespace sharewell::server
