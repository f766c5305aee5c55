#include "server/cluster_predictions.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "advice/prediction.h"
#include "platform/files/test_folder.h"
#include "platform/files/write_file.h"

namespace sharewell::server {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModel =
    R"({"schema":1,"name":"n","inputs":[{"name":"x","shape":["batch",8]}],)"
    R"("layers":[{"type":"linear","out":10}]})";

class ClusterPredictionsTest : public ::testing::Test {
 protected:
  ClusterPredictionsTest() {
    LearnerOptions options;
    options.open = []() -> core::Result<std::unique_ptr<store::LearningStore>> {
      return core::FailedError("there is none");
    };
    options.catalogue = &catalogue_;
    options.given = advice::BuiltinModel().value();
    options.wall = [] { return core::UnixMillis{0}; };
    learner_ = std::make_unique<Learner>(std::move(options));
    Begin({.first = core::Seconds(0), .later = core::Seconds(0), .of_the_time = 0});
  }
  void Begin(const ClusterPredictions::Patience& patience) {
    predictions_ = std::make_unique<ClusterPredictions>(catalogue_, *learner_, patience);
  }

  ClusterPredictions::Asked Asked(const std::string& user, const std::string& text, int batch = 1) {
    const std::string path = folder_.Path("model");
    EXPECT_TRUE(platform::WriteFile(path, text));
    ClusterPredictions::Asked asked;
    asked.user = user;
    asked.file_version = text;
    asked.name = "net.json";
    asked.ask.batch = batch;
    asked.file = std::make_shared<const OpenFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return asked;
  }

  core::Result<core::Needs> Soon(const ClusterPredictions::Asked& asked) {
    for (int i = 0; i < 12'000; ++i) {  // on a busy machine, under a sanitizer too
      if (auto needs = predictions_->Of(asked)) return *needs;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return core::FailedError("it was never known");
  }

  platform::TestFolder folder_;
  catalogue::GpuCatalogue catalogue_ = catalogue::GpuCatalogue::Builtin();
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<ClusterPredictions> predictions_;
};

TEST_F(ClusterPredictionsTest, S8NobodyWaitsForThem) {
  const auto asked = Asked("ann", kModel);
  EXPECT_FALSE(predictions_->Of(asked));  // not known yet
  const auto needs = Soon(asked);
  ASSERT_TRUE(needs) << needs.error().message;
  EXPECT_THAT(needs->from, HasSubstr("net.json"));
  EXPECT_TRUE(predictions_->Of(asked));  // at once: it is kept
}

TEST_F(ClusterPredictionsTest, WhatWasThereBeforeTheServerIsKnownAtOnce) {
  Begin({.first = core::Seconds(60), .later = core::Seconds(0), .of_the_time = 0});
  for (int batch = 1; batch <= 3; ++batch)
    EXPECT_TRUE(predictions_->Of(Asked("ann", kModel, batch)));
}

TEST_F(ClusterPredictionsTest, AnErrorIsKeptToo) {
  const auto needs = Soon(Asked("ann", "no model"));
  ASSERT_FALSE(needs);
  EXPECT_THAT(needs.error().message, HasSubstr("net.json"));
}

TEST_F(ClusterPredictionsTest, S8OneUsersManyDoNotKeepOthersWaiting) {
  // More than one user may have waiting: what is left over is asked for later, and comes too.
  std::vector<ClusterPredictions::Asked> many;
  for (int batch = 1; batch <= 20; ++batch) many.push_back(Asked("eve", kModel, batch));
  for (const auto& one : many) EXPECT_FALSE(predictions_->Of(one));
  EXPECT_TRUE(Soon(Asked("bob", kModel)));
  EXPECT_FALSE(predictions_->Of(many.back()));  // bob did not wait for the last of hers
  for (const auto& one : many) {
    const auto needs = Soon(one);
    EXPECT_TRUE(needs) << needs.error().message;
  }
}

TEST_F(ClusterPredictionsTest, B1StopsWithoutWaitingForThem) {
  for (int batch = 1; batch <= 10; ++batch) (void)predictions_->Of(Asked("eve", kModel, batch));
  predictions_->Stop();
  EXPECT_FALSE(predictions_->Of(Asked("bob", kModel)));
}

}  // namespace
}  // namespace sharewell::server
