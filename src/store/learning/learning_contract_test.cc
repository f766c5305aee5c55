// What is learnt from, on every kind of store.
#include <gmock/gmock.h>

#include "store/learning_store.h"
#include "store/test_place.h"

namespace sharewell::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class LearningContract : public ::testing::Test {
 protected:
  LearningContract() : place_(NewTestPlace()) { Reopen({}); }

  void Reopen(const LearningBounds& bounds) {
    auto opened = OpenLearning(place_->where(), bounds);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  static KeptRun Run(std::int64_t job, const std::string& graph, const std::string& user = "") {
    KeptRun run{0, job, graph, {}};
    run.record.user = user;
    run.record.created = 1000 + job;
    run.record.source = "run";
    run.record.profile.workload = {"net", 64, "bf16", 4};
    run.record.profile.gpu = "H200";
    run.record.profile.busy = 0.5;
    return run;
  }
  void Keep(const std::vector<KeptGraph>& graphs, const std::vector<KeptRun>& runs) {
    const auto kept = store_->Keep(graphs, runs);
    ASSERT_TRUE(kept) << kept.error().message;
  }
  std::vector<std::int64_t> Jobs(std::int64_t most = 100) {
    std::vector<std::int64_t> jobs;
    const auto runs = store_->Runs(most).value();
    for (const KeptRun& run : runs) jobs.push_back(run.job);
    return jobs;
  }
  bool Has(const std::string& digest) { return store_->Graph(digest).value().has_value(); }

  std::unique_ptr<TestPlace> place_;
  std::unique_ptr<LearningStore> store_;
};

TEST_F(LearningContract, GraphsAndRunsComeBackAsTheyWereAfterARestart) {
  Keep({{"aa", "{\"a\":1}\n", 5}}, {Run(1, "aa"), Run(2, "aa")});
  Reopen({});
  const auto runs = store_->Runs(10).value();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].job, 1) << "the oldest first";
  EXPECT_EQ(runs[1].graph, "aa");
  EXPECT_EQ(runs[1].record.profile, Run(2, "aa").record.profile);
  EXPECT_THAT(store_->Graph("aa").value(), Optional(std::string("{\"a\":1}\n")));
  EXPECT_FALSE(Has("bb"));
  EXPECT_THAT(Jobs(1), ElementsAre(2)) << "of those asked for, the newest";
}

TEST_F(LearningContract, TheOldestRunsMakeRoom) {
  Reopen({.runs = 3});
  for (int job = 1; job <= 5; ++job) Keep({}, {Run(job, "aa")});
  EXPECT_THAT(Jobs(), ElementsAre(3, 4, 5));
}

TEST_F(LearningContract, GraphsThatNoRunNamesGoFirstAndThenTheOldest) {
  Reopen({.graphs = 2});
  Keep({{"named", "x", 1}}, {Run(1, "named")});
  Keep({{"asked", "x", 2}}, {});
  Keep({{"new", "x", 3}}, {});
  EXPECT_TRUE(Has("named")) << "older, but a run names it";
  EXPECT_FALSE(Has("asked"));
  EXPECT_TRUE(Has("new"));
  EXPECT_EQ(store_->CountGraphs().value(), 2);
  Reopen({.graph_bytes = 10});
  Keep({{"large", std::string(9, 'x'), 4}}, {});
  EXPECT_LE(store_->CountGraphs().value(), 2) << "bytes count too";
}

TEST_F(LearningContract, AGraphThatIsAskedAboutAgainStaysLonger) {
  Reopen({.graphs = 2});
  Keep({{"a", "x", 1}, {"b", "x", 2}}, {});
  Keep({{"a", "x", 3}}, {});
  Keep({{"c", "x", 4}}, {});
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
}

TEST_F(LearningContract, OfModelsTheNewestStayWholeAndOfOlderOnesTheReport) {
  Reopen({.models = 4, .model_texts = 2});
  std::vector<std::int64_t> ids;
  for (const char* text : {"one", "two", "", "three", "four"}) {
    ids.push_back(store_->KeepModel({0, 7, "{}", text}).value());
  }
  EXPECT_THAT(store_->Models().value(), SizeIs(4));
  EXPECT_EQ(store_->Models().value()[0].id, ids[4]) << "the newest first";
  EXPECT_THAT(store_->ModelText(ids[4]).value(), Optional(std::string("four")));
  EXPECT_THAT(store_->ModelText(ids[3]).value(), Optional(std::string("three")));
  EXPECT_EQ(store_->ModelText(ids[1]).value(), std::nullopt);
  EXPECT_EQ(store_->ModelText(ids[2]).value(), std::nullopt) << "it was refused";
}

TEST_F(LearningContract, B5_TheUserWithMostLosesTheirOldest) {
  Reopen({.graphs = 4, .runs = 4});
  Keep({{"bob1", "x", 1, "bob"}}, {Run(1, "bob1", "bob"), Run(2, "bob1", "bob")});
  for (int i = 0; i < 20; ++i) {
    Keep({{"eve" + std::to_string(i), "x", 10 + i, "eve"}},
         {Run(100 + i, "eve" + std::to_string(i), "eve")});
  }
  EXPECT_THAT(Jobs(), ElementsAre(1, 2, 118, 119));
  EXPECT_TRUE(Has("bob1"));
  EXPECT_TRUE(Has("eve19"));
  EXPECT_EQ(store_->CountGraphs().value(), 4);
  Reopen({.graph_bytes = 100});
  for (int i = 0; i < 5; ++i) {
    Keep({{"large" + std::to_string(i), std::string(90, 'x'), 100 + i, "eve"}}, {});
  }
  EXPECT_TRUE(Has("bob1")) << "bytes count by user too";
  EXPECT_TRUE(Has("large4")) << "what a run names stays longest, of hers too";
}

TEST_F(LearningContract, A3_WhatAUserTaughtCanBeForgotten) {
  Keep({{"shared", "x", 1, "eve"}, {"hers", "x", 2, "eve"}, {"his", "x", 3, "bob"}},
       {Run(1, "shared", "bob"), Run(2, "hers", "eve"), Run(3, "shared", "eve")});
  EXPECT_THAT(store_->RunsByUser().value(),
              ElementsAre(std::pair<const std::string, std::int64_t>("bob", 1),
                          std::pair<const std::string, std::int64_t>("eve", 2)));
  EXPECT_EQ(store_->Forget("eve").value(), 2);
  EXPECT_THAT(Jobs(), ElementsAre(1));
  EXPECT_TRUE(Has("shared")) << "another's run names it";
  EXPECT_FALSE(Has("hers"));
  EXPECT_TRUE(Has("his"));
  EXPECT_EQ(store_->Forget("nobody").value(), 0);
}

TEST_F(LearningContract, AnEmptyStoreHasNothing) {
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_THAT(store_->Models().value(), IsEmpty());
}

}  // namespace
}  // namespace sharewell::store
