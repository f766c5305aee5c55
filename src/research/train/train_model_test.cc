#include "research/train/train_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "advice/prediction.h"
#include "platform/files/test_folder.h"

namespace sharewell::research {
namespace {

using predict::Figure;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Twelve networks of three families, measured on a GPU of the user's own.
class TrainModelTest : public ::testing::Test {
 protected:
  TrainModelTest() {
    EXPECT_TRUE(catalogue.ExtendFrom(
        "name,memory_gb,bandwidth_gbs,fp32_tflops,sms\nMine,16,500,10,40\n", "mine.csv"));
    std::string text =
        "workload,batch,precision,workers,gpu,model,family,gpu_util,steps_per_s,mem_used_bytes,cpu_"
        "cores,"
        "power_w,gpm_sm\n";
    for (int i = 0; i < 12; ++i) {
      const std::string net = fmt::format("net{}.json", i);
      folder.Write(
          net,
          fmt::format(
              R"({{"inputs":[{{"name":"x","shape":["batch",{}]}}],"layers":[{{"type":"linear","out":{}}}]}})",
              64 << (i % 3), 128 + 64 * i));
      text += fmt::format("w{},{},fp32,2,Mine,{},family{},{},{},{},1.5,120,{}\n", i, 8 + i, net,
                          i % 3, 20 + i, 100 - i, 900000000 + i * 1000000, 10 + i);
    }
    profiles = folder.Write("profiles.csv", text);
  }

  std::string Pairs(const std::string& rows) const {
    return folder.Write("pairs.csv",
                        "workload_a,batch_a,precision_a,workers_a,steps_per_s_a,"
                        "workload_b,batch_b,precision_b,workers_b,steps_per_s_b\n" +
                            rows);
  }
  std::string Error(const TrainAsk& ask) const {
    const auto report = TrainModel(ask, catalogue);
    return report ? "no error" : report.error().message;
  }

  platform::TestFolder folder;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  std::string profiles;
};

TEST_F(TrainModelTest, AModelOfOnesOwnProfilesKnowsOnesOwnGpu) {
  const auto report = TrainModel({{profiles}, {}, {}}, catalogue);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->rows, 12U);
  EXPECT_EQ(report->families, 3U);
  EXPECT_EQ(report->groups, 0U);
  EXPECT_FALSE(report->trained.together);
  advice::PredictionAsk ask;
  ask.model = folder.Path("net3.json");
  ask.batch = 11;
  ask.gpu = "Mine";
  ask.workers = 2;
  const auto row = advice::PredictOne(ask, report->trained.predictor, catalogue);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_TRUE(row->prediction.gpu_known);
  EXPECT_NEAR(row->prediction[Figure::kMemory].median / 9e8, 1, 0.1) << "as it was measured";
}

TEST_F(TrainModelTest, TheSameProfilesGiveTheSameBytes) {
  const auto once = TrainModel({{profiles}, {}, {}}, catalogue);
  const auto again = TrainModel({{profiles}, {}, {}}, catalogue);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(predict::Write(once->trained), predict::Write(again->trained));
}

TEST_F(TrainModelTest, PairsTeachHowJobsFareTogether) {
  std::string rows;
  for (int i = 0; i + 1 < 12; ++i) {
    rows += fmt::format("w{},{},fp32,2,{},w{},{},fp32,2,{}\n", i, 8 + i, 60, i + 1, 9 + i, 50);
  }
  const auto report = TrainModel({{profiles}, {Pairs(rows)}, {}}, catalogue);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->groups, 11U);
  ASSERT_TRUE(report->trained.together);
  // w0 alone does 100 steps a second.
  const auto& first = report->trained.together->state().groups.at(0);
  EXPECT_NEAR(first.speeds.at(0), 0.6, 1e-12);
}

TEST_F(TrainModelTest, APairOfAWorkloadWithoutAProfileIsLeftOutAndCounted) {
  EXPECT_THAT(
      Error({{profiles}, {Pairs("stranger,8,fp32,2,60,w1,9,fp32,2,50\n")}, {}}),
      AllOf(HasSubstr("pairs.csv"), HasSubstr("no group with a profile of every workload")));
  const auto report =
      TrainModel({{profiles},
                  {Pairs("stranger,8,fp32,2,60,w1,9,fp32,2,50\nw0,8,fp32,2,60,w1,9,fp32,2,50\n")},
                  {}},
                 catalogue);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->groups, 1U);
  EXPECT_EQ(report->groups_left_out, 1U);
}

TEST_F(TrainModelTest, GroupsHaveSharesAndDemandsOfTheirSitting) {
  std::string rows =
      "group,workload,batch,precision,workers,sm_percent,steps_per_s,alone_steps_per_s,"
      "limited_alone_steps_per_s,alone_gpu_util\n";
  for (int i = 0; i + 1 < 12; ++i) {
    rows += fmt::format("{},w{},{},fp32,2,100,60,120,,\n", i, i, 8 + i);
    rows += fmt::format("{},w{},{},fp32,2,80,50,{},90,55\n", i, i + 1, 9 + i, 100);
  }
  const auto report = TrainModel({{profiles}, {folder.Write("groups.csv", rows)}, {}}, catalogue);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->groups, 22U) << "each second one alone with its share, too";
  const auto& state = report->trained.together->state();
  const predict::Resident& first = state.residents.at(0);
  EXPECT_EQ(first.sm_share, 1);
  EXPECT_NEAR(first.demand.busy, 0.2 * 120 / 100, 1e-12) << "at the rate of that sitting";
  EXPECT_NEAR(first.step.value, 1 / 120.0, 1e-12);
  const predict::Resident& second = state.residents.at(1);
  EXPECT_EQ(second.sm_share, 0.8);
  EXPECT_EQ(second.demand.busy, 0.55) << "measured there";
  ASSERT_TRUE(report->speeds);
  EXPECT_EQ(report->speeds->unseen.groups, 11U);
}

TEST_F(TrainModelTest, FewProfilesAreRefused) {
  const std::string few =
      folder.Write("few.csv", "workload,gpu,model,steps_per_s,gpu_util\nw0,Mine,net0.json,10,20\n");
  EXPECT_THAT(Error({{few}, {}, {}}), HasSubstr("too few to learn from"));
}

}  // namespace
}  // namespace sharewell::research
