// The limit on public data: step times of families never seen within 13.3 %, and what the reader
// makes of two files that do not quite fit.
#include "research/evaluate/timm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;

TEST(ReadTimm, JoinsByNameAndPrefersTheSameImageSize) {
  const platform::TestFolder folder;
  const auto train = folder.Write(
      "train.csv",
      "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
      "resnet50,1,100,32,224,25\n"
      "vit_base,1,200,16,384,86\n"
      "only_here,1,200,16,384,86\n");
  const auto infer = folder.Write("infer.csv",
                                  "model,infer_gmacs,infer_macts,infer_img_size\n"
                                  "resnet50.b,8,20,288\n"
                                  "resnet50.a,4,11,224\n"
                                  "vit_base.x,10,20,192\n"
                                  "failed.x,,,224\n");
  const auto models = ReadTimm(train, infer);
  ASSERT_TRUE(models) << models.error().message;
  ASSERT_EQ(models->size(), 2U);
  EXPECT_EQ((*models)[0].family, "resnet");
  EXPECT_EQ((*models)[0].gmacs, 4);
  EXPECT_EQ((*models)[0].step_ms, 100);
  EXPECT_EQ((*models)[1].family, "vit");
  EXPECT_EQ((*models)[1].gmacs, 40);  // twice the size: four times the pixels
  EXPECT_EQ((*models)[1].mega_activations, 80);
}

TEST(ReadTimm, NamesTheColumnThatIsMissing) {
  const platform::TestFolder folder;
  const auto train = folder.Write("train.csv", "model\n");
  const auto infer = folder.Write("infer.csv", "model,infer_gmacs,infer_macts,infer_img_size\n");
  const auto models = ReadTimm(train, infer);
  ASSERT_FALSE(models);
  EXPECT_THAT(models.error().message, HasSubstr("train_step_time"));
  EXPECT_FALSE(ReadTimmFolder(folder.path()));
}

// Times that are exactly what the base can say leave nothing to learn, and nothing to get wrong.
TEST(EvaluateTimm, IsExactOnArithmetic) {
  std::vector<TimmModel> models;
  for (int i = 0; i < 60; ++i) {
    TimmModel m;
    m.family = std::string(1, static_cast<char>('a' + i % 10));
    m.batch = 16 + i % 7;
    m.image_size = 224;
    m.gmacs = 1 + i % 5;
    m.mega_activations = 3 + i % 11;
    m.mega_params = 5 + i % 3;
    m.step_ms = 0.5 * m.gmacs * m.batch + 0.25 * m.mega_activations * m.batch + 7;
    models.push_back(m);
  }
  const auto errors = EvaluateTimm(models);
  ASSERT_TRUE(errors) << errors.error().message;
  EXPECT_NEAR(errors->base, 0, 1e-9);
  EXPECT_NEAR(errors->learned, 0, 1e-9);
  EXPECT_FALSE(EvaluateTimm({models.begin(), models.begin() + 3}));
}

TEST(EvaluateTimm, KeepsTheBar) {
  SHAREWELL_NEEDS_DATA(train, "timm/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv");
  const auto models = ReadTimmFolder(std::filesystem::path(train).parent_path().string());
  ASSERT_TRUE(models) << models.error().message;
  const auto errors = EvaluateTimm(*models);
  ASSERT_TRUE(errors) << errors.error().message;
  std::printf("timm: %zu models of %zu families, base %.4f, learned %.4f\n", errors->models,
              errors->families, errors->base, errors->learned);
  RecordProperty("timm_mape", std::to_string(errors->learned));
  EXPECT_GT(errors->models, 500U);
  EXPECT_LE(errors->learned, 0.133);
}

}  // namespace
}  // namespace sharewell::research
