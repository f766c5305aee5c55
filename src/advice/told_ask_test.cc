#include "advice/told_ask.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::advice {
namespace {

using testing::HasSubstr;

constexpr const char* kStep = R"({"sharewell_step":1,"batch":8,"optimizer":"AdamW",
  "precision":"fp32","autocast":"bf16","workers":2,"operators":[
  {"op":"aten.relu.default","pass":"forward","in":[["f32",[8,4]]],"out":[["f32",[8,4]]]}]})";

class ToldAsk : public testing::Test {
 protected:
  ToldAsk() { ask_.model = folder_.Write("step.json", kStep); }

  std::string ErrorOf() {
    const auto heeded = HeedTold(ask_);
    return heeded ? "" : heeded.error().message;
  }

  platform::TestFolder folder_;
  PredictionAsk ask_;
};

TEST_F(ToldAsk, TakesWhatTheStepTells) {
  ASSERT_EQ(ErrorOf(), "");
  EXPECT_EQ(ask_.batch, 8);
  EXPECT_EQ(ask_.precision, "bf16");
  EXPECT_EQ(ask_.optimizer, "adamw");
  EXPECT_EQ(ask_.workers, 2);
}

TEST_F(ToldAsk, WhatIsSaidTheSameIsRight) {
  ask_.given = {.batch = true, .precision = true, .optimizer = true, .workers = true};
  ask_.batch = 8;
  ask_.precision = "BF16";
  ask_.optimizer = "adam";
  ask_.workers = 2;
  EXPECT_EQ(ErrorOf(), "");
}

TEST_F(ToldAsk, WhatContradictsItIsRefused) {
  ask_.given.batch = true;
  ask_.batch = 16;
  EXPECT_THAT(ErrorOf(), HasSubstr("was told with batch 8, and 16 is asked for; leave it out"));
  ask_.given = {.precision = true};
  EXPECT_THAT(ErrorOf(), HasSubstr("was told with precision bf16, and fp32 is asked for"));
  ask_.given = {.optimizer = true};
  EXPECT_THAT(ErrorOf(), HasSubstr("was told with optimizer adamw (AdamW), and sgd is asked for"));
  ask_.given = {.workers = true};
  EXPECT_THAT(ErrorOf(), HasSubstr("was told with loader workers 2, and 4 is asked for"));
}

TEST_F(ToldAsk, OtherFilesAreLeftAlone) {
  ask_.model = folder_.Write("net.json", R"({"layers":[]})");
  ask_.batch = 3;
  EXPECT_EQ(ErrorOf(), "");
  EXPECT_EQ(ask_.batch, 3);
  ask_.model = folder_.Path("nowhere.json");
  EXPECT_EQ(ErrorOf(), "");
}

TEST_F(ToldAsk, AStepThatCannotBeReadSaysWhere) {
  ask_.model = folder_.Write("bad.json", R"({"sharewell_step":1,"batch":"many","operators":[]})");
  EXPECT_THAT(ErrorOf(), HasSubstr("bad.json: batch: 'many' is no whole number"));
}

}  // namespace
}  // namespace sharewell::advice
