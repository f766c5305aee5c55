#include "report/prediction/told_step.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace sharewell::report {
namespace {

advice::WatchedStep Watched() {
  advice::WatchedStep step;
  step.modules = "ResNet";
  step.parameters = step.trainable = 25'557'032;
  step.batch = 64;
  step.optimizer = "SGD";
  step.precision = step.autocast = "bf16";
  step.workers = 4;
  step.compiled = false;
  step.forward_calls = 300;
  step.backward_calls = 420;
  step.update_calls = 3;
  step.different_operators = 212;
  step.steps = 2;
  return step;
}

TEST(ToldStepText, SaysWhatWasTold) {
  EXPECT_EQ(WatchedStepText(Watched(), "step.json"),
            "told: ResNet with 25.6 M parameters, batch 64, SGD, bf16 autocast, 4 loader workers\n"
            "operators: 300 forward, 420 backward, 3 in the optimizer (212 different)\n"
            "2 steps counted\n"
            "written to step.json; what it needs: sharewell predict step.json\n");
}

TEST(ToldStepText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(ToldInWords({}), "a model");
  advice::WatchedStep step = Watched();
  step.trainable = 1e6;
  step.accumulation = 4;
  step.autocast = "";
  step.compiled = step.checkpointing = true;
  step.parallel = "ddp";
  step.world_size = 2;
  EXPECT_EQ(ToldInWords(step),
            "ResNet with 25.6 M parameters (1.0 M trained), batch 64, 4 backward passes a step, "
            "SGD, bf16, 4 loader workers, compiled, checkpointing, ddp over 2 processes");
}

TEST(ToldStepJson, HasNullForWhatIsNotKnown) {
  const auto parsed = json::Document::Parse(WatchedStepJson(Watched(), "s.json"));
  const json::Value root = json::RootOf(parsed);
  EXPECT_EQ(root["schema"].Whole(), 1);
  EXPECT_EQ(root["file"].Text(), "s.json");
  EXPECT_EQ(root["batch"].Whole(), 64);
  EXPECT_TRUE(root.Has("exit_code"));
  EXPECT_TRUE(root["exit_code"].is_null());
  EXPECT_TRUE(root["watcher_off"].is_null());
  EXPECT_EQ(root["calls_per_step"]["backward"].Number(), 420);
}

}  // namespace
}  // namespace sharewell::report
