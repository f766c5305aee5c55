#include "advice/recommend/recommend.h"

#include <gmock/gmock.h>

#include "advice/prediction.h"
#include "platform/files/test_folder.h"

namespace sharewell::advice::recommend {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSmallNet =
    R"({"inputs":[{"name":"x","shape":["batch",3,224,224]}],"layers":[
        {"type":"conv2d","out_channels":64,"kernel":7,"stride":4},{"type":"relu"},
        {"type":"repeat","times":8,"layers":[{"type":"conv2d","out_channels":64,"kernel":3,"padding":1},{"type":"relu"}]},
        {"type":"globalpool"},{"type":"flatten"},{"type":"linear","out":1000}]})";

const predict::Trained& Ours() {
  static const predict::Trained trained = BuiltinModel().value();
  return trained;
}

class RecommendTest : public ::testing::Test {
 protected:
  RecommendTest() { ask.model = folder.Write("net.json", kSmallNet); }

  Recommendation Answer() const {
    auto answer = Recommend(ask, Ours(), catalogue);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *std::move(answer) : Recommendation();
  }
  std::string Error() const {
    const auto answer = Recommend(ask, Ours(), catalogue);
    return answer ? "no error" : answer.error().message;
  }
  static const Choice& Of(const Recommendation& answer, std::string_view what) {
    static const Choice kNone;
    for (const Choice& choice : answer.choices) {
      if (choice.what == what) return choice;
    }
    return kNone;
  }

  platform::TestFolder folder;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  RecommendAsk ask;
};

TEST_F(RecommendTest, EveryGoalHasAnAnswerWithBoundsSourcesAndReasons) {
  for (const Goal goal : kGoals) {
    ask.goal = goal;
    ask.gpus = {"H200", "A100", "T4"};
    const Recommendation answer = Answer();
    for (const char* what : {"gpu", "precision", "batch", "workers", "cores", "share"}) {
      const Choice& choice = Of(answer, what);
      EXPECT_FALSE(choice.value.empty()) << NameOf(goal) << what;
      EXPECT_FALSE(choice.why.empty()) << NameOf(goal) << what;
      EXPECT_FALSE(choice.from.empty()) << NameOf(goal) << what;
    }
    const core::Estimated<>& samples = answer.cell.samples;
    ASSERT_TRUE(samples.IsBounded());
    EXPECT_LT(samples.low, samples.median);
    EXPECT_LT(samples.median, samples.high);
    EXPECT_EQ(answer.gpus.size(), 3U);
    EXPECT_LE(*answer.cell.setting.cores, 16);
    EXPECT_LE(answer.cell.memory->high, catalogue.Find(answer.cell.setting.gpu)->memory.value);
  }
}

TEST_F(RecommendTest, TheLargestBatchFitsAndOneMuchLargerDoesNot) {
  ask.gpus = {"T4"};
  const Recommendation answer = Answer();
  ASSERT_TRUE(answer.batches.largest);
  const double memory = catalogue.Find("T4")->memory.value;
  EXPECT_LE(answer.batches.memory->high, memory);
  EXPECT_GT(answer.batches.memory->high, 0.85 * memory);
  EXPECT_GE(*answer.batches.largest, answer.cell.setting.batch);
  ask.batch = *answer.batches.largest * 2;
  EXPECT_THAT(Error(), HasSubstr("does not fit the GPU model asked for. On T4, batch"));
}

TEST_F(RecommendTest, WhatIsFixedStays) {
  ask.gpus = {"H200"};
  ask.batch = 24;
  ask.precision = "fp32";
  ask.workers = 3;
  const Recommendation answer = Answer();
  EXPECT_EQ(answer.cell.setting.batch, 24);
  EXPECT_EQ(answer.cell.setting.precision, "fp32");
  EXPECT_EQ(answer.cell.setting.workers, 3);
}

TEST_F(RecommendTest, CostsAreUnknownWithoutAPriceAndDecideWithOne) {
  ask.gpus = {"H200", "A100"};
  ask.goal = Goal::kCost;
  const Recommendation unknown = Answer();
  EXPECT_FALSE(unknown.cost);
  EXPECT_FALSE(unknown.batches.best[static_cast<std::size_t>(Goal::kCost)]);
  EXPECT_THAT(unknown.remarks, ::testing::Contains(HasSubstr("--price H200=PRICE")));
  ask.prices.gpu = {{"NVIDIA H200", 100}, {"A100", 1}};
  const Recommendation priced = Answer();
  EXPECT_EQ(priced.cell.setting.gpu, "A100");
  ASSERT_TRUE(priced.cost && priced.cost->IsBounded());
  EXPECT_NEAR(priced.cost->median, 1e6 / 3600 / priced.cell.samples.median, 1e-6);
  EXPECT_LT(priced.cost->low, priced.cost->median);
}

TEST_F(RecommendTest, ThePowerOfAGpuWithoutALimitIsUnknown) {
  ASSERT_TRUE(catalogue.ExtendFrom(
      "name,memory_gb,bandwidth_gbs,fp32_tflops,sms\nMine,16,800,10,60\n", "mine.csv"));
  ask.gpus = {"Mine"};
  const Recommendation answer = Answer();
  EXPECT_FALSE(answer.cell.power);
  EXPECT_FALSE(answer.joules);
  EXPECT_THAT(answer.remarks, ::testing::Contains(HasSubstr("power_limit_w")));
  ask.goal = Goal::kEnergy;
  EXPECT_THAT(Error(), HasSubstr("the power draw of Mine is unknown; give its power_limit_w"));
}

TEST_F(RecommendTest, WhatWasMeasuredComesBeforePredictions) {
  // Twice as fast as any prediction, so that none promises more.
  ask.gpus = {"H200"};
  const double predicted = Answer().cell.samples.median;
  std::string csv = "workload,batch,precision,workers,cpus,gpu,steps_per_s\n";
  for (const int cores : {1, 2, 4, 8}) {
    csv += fmt::format("net,64,bf16,{},{},H200,{}\n", cores, cores,
                       2 * predicted / 64 * std::min(cores, 4) / 4);
  }
  ask.measured = {folder.Write("cells.csv", csv)};
  ask.batch = 64;
  ask.precision = "bf16";
  const Recommendation answer = Answer();
  EXPECT_TRUE(answer.cell.measured());
  EXPECT_EQ(answer.cell.setting.cores, 4);
  EXPECT_EQ(answer.workload, "net");
  EXPECT_EQ(Of(answer, "cores").source, core::Source::kObserved);
  EXPECT_THAT(Of(answer, "cores").from, HasSubstr("cells.csv"));
  EXPECT_THAT(Of(answer, "cores").why, HasSubstr("on 2 it is 50 %"));
  EXPECT_THAT(answer.remarks, ::testing::Contains(HasSubstr("4 cells of net were measured")));
  ask.predicted_only = true;
  EXPECT_FALSE(Answer().cell.measured());
}

TEST_F(RecommendTest, AWorkloadOfOursIsAnsweredFromItsOwnCells) {
  ask.model = "tv:vgg16@224";
  ask.batch = 64;
  const Recommendation answer = Answer();
  EXPECT_TRUE(answer.cell.measured());
  EXPECT_EQ(answer.cell.setting.gpu, "H200");
  EXPECT_FALSE(answer.batches.largest);
  EXPECT_NE(answer.sharing.advice, "unknown");
  ask.goal = Goal::kSharing;
  EXPECT_TRUE(Answer().shared);
  ask.gpus = {"A100"};
  EXPECT_THAT(Error(), HasSubstr("was measured, but not on these GPU models"));
}

TEST_F(RecommendTest, SharingIsJudgedBesideItselfAndWhatWasMeasured) {
  ask.gpus = {"H200"};
  const SharingAdvice sharing = Answer().sharing;
  ASSERT_TRUE(sharing.twice && sharing.twice_fit);
  EXPECT_GT(sharing.neighbours, 100U);
  EXPECT_LE(sharing.good, sharing.neighbours);
  EXPECT_EQ(sharing.advice == "yes", *sharing.twice_fit && sharing.twice->median >= kKeptBeside);
  // Two jobs need two cores.
  ask.goal = Goal::kSharing;
  ask.most_cores = 1;
  EXPECT_THAT(Error(),
              HasSubstr("two such jobs fit on none of the 1 GPU model asked for with 1 core"));
  ask.goal = Goal::kThroughput;
  ask.most_cores = 16;
  // Of another GPU model nothing was measured to share with.
  ask.gpus = {"A100"};
  EXPECT_EQ(Answer().sharing.neighbours, 0U);
}

TEST_F(RecommendTest, ErrorsSayWhatToDo) {
  ask.gpus = {"H20O"};
  EXPECT_THAT(Error(), HasSubstr("--gpu: unknown GPU model 'H20O'; did you mean 'H200'?"));
  ask.gpus = {"H200"};
  ask.prices.gpu = {{"Q", 1}};
  EXPECT_THAT(Error(), HasSubstr("--price: unknown GPU model 'Q'"));
  ask.prices = {};
  ask.workload = "tv:resnet5@224";
  EXPECT_THAT(Error(), HasSubstr("was not measured; did you mean 'tv:resnet50@224'?"));
  ask.workload.clear();
  ask.measured = {
      folder.Write("two.csv", "workload,batch,gpu,steps_per_s\na,1,H200,1\nb,1,H200,1\n")};
  EXPECT_THAT(Error(), HasSubstr("name one of its 2 workloads with --workload"));
  ask.measured.clear();
  // A trillion weights fit nowhere.
  ask.model = folder.Write("huge.json", R"({"inputs":[{"name":"x","shape":["batch",1048576]}],
      "layers":[{"type":"linear","out":1048576}]})");
  EXPECT_THAT(Error(), HasSubstr("does not fit the GPU model asked for. On H200, batch 1"));
  ask.model = folder.Write("cut.onnx", "\x08\x07\x12");
  EXPECT_NE(Error(), "no error");
}

}  // namespace
}  // namespace sharewell::advice::recommend
