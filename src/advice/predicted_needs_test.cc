#include "advice/predicted_needs.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::advice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNet =
    R"({"inputs":[{"name":"x","shape":["batch",64]}],"layers":[{"type":"linear","out":10}]})";

class PredictNeedsTest : public ::testing::Test {
 protected:
  PredictionAsk Ask(const std::string& text) const {
    PredictionAsk ask;
    ask.model = folder.Write("net.json", text);
    ask.batch = 32;
    ask.workers = 2;
    return ask;
  }

  core::Result<core::Needs> Predicted(const PredictionAsk& ask,
                                      const std::optional<std::string>& name = std::nullopt) const {
    return PredictNeedsBy(BuiltinModel()->predictor, ask, catalogue, name);
  }

  platform::TestFolder folder;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
};

TEST_F(PredictNeedsTest, MediansAreTheProfileAndBoundsStandBesideIt) {
  const PredictionAsk ask = Ask(kNet);
  const auto needs = Predicted(ask);
  ASSERT_TRUE(needs) << needs.error().message;
  EXPECT_EQ(needs->sources.busy, core::Source::kPredicted);
  EXPECT_EQ(needs->from, "'net.json' at batch 32, fp32");
  EXPECT_EQ(needs->profile.workload.name, "net");
  EXPECT_EQ(needs->profile.workload.workers, 2);
  EXPECT_EQ(needs->profile.gpu, "H200");
  const auto row = PredictOne(ask, BuiltinModel()->predictor, catalogue);
  ASSERT_TRUE(row);
  EXPECT_EQ(needs->profile.gpu_memory,
            core::Bytes(row->prediction[predict::Figure::kMemory].median));
  ASSERT_TRUE(needs->profile.kernels && needs->profile.kernel_time);
  EXPECT_GT(*needs->profile.kernels, 3) << "forward, backward and update";
  EXPECT_NEAR(needs->profile.kernel_time->value * *needs->profile.kernels,
              row->prediction[predict::Figure::kBusySeconds].median, 1e-12);
  ASSERT_TRUE(needs->gpu_memory_upper);
  EXPECT_GE(*needs->gpu_memory_upper, *needs->profile.gpu_memory);
  ASSERT_TRUE(needs->pace_low && needs->pace_high && needs->profile.steps_per_second);
  EXPECT_LT(*needs->pace_low, *needs->profile.steps_per_second);
  EXPECT_GT(*needs->pace_high, *needs->profile.steps_per_second);
}

TEST_F(PredictNeedsTest, ACopyIsCalledByTheUsersName) {
  const auto needs = Predicted(Ask(kNet), "mine/resnet.json");
  ASSERT_TRUE(needs) << needs.error().message;
  EXPECT_EQ(needs->profile.workload.name, "resnet");
  EXPECT_EQ(needs->from, "'resnet.json' at batch 32, fp32");
}

TEST_F(PredictNeedsTest, WhatFitsOnNoSuchGpuIsSaidAndCanBeSent) {
  PredictionAsk ask = Ask(R"({"inputs":[{"name":"x","shape":["batch",1048576]}],
      "layers":[{"type":"linear","out":1048576}]})");
  ask.batch = 1 << 24;
  const auto needs = Predicted(ask);
  ASSERT_TRUE(needs) << needs.error().message;
  EXPECT_THAT(needs->from, HasSubstr(", more GPU memory than H200 has: expect it to run out"));
  EXPECT_LE(needs->gpu_memory_upper->value, 1e15) << "what a server takes";
}

TEST_F(PredictNeedsTest, AnErrorNamesTheUsersFileAndNotTheCopy) {
  const PredictionAsk ask = Ask("{");
  const auto own = Predicted(ask);
  ASSERT_FALSE(own);
  EXPECT_THAT(own.error().message, HasSubstr(ask.model));
  const auto copy = Predicted(ask, "resnet.json");
  ASSERT_FALSE(copy);
  EXPECT_THAT(copy.error().message, AllOf(HasSubstr("'resnet.json'"), Not(HasSubstr(ask.model))));
}

}  // namespace
}  // namespace sharewell::advice
