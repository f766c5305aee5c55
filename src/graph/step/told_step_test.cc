#include "graph/step/told_step.h"

#include <gmock/gmock.h>

#include <string>

namespace sharewell::graph {
namespace {

using testing::HasSubstr;

const std::string kStep = R"({
 "sharewell_step": 1, "framework": "pytorch 2.11.0", "python": "3.12.3", "device": "cuda",
 "batch": 64, "accumulation": 1, "optimizer": "SGD", "optimizers": 1, "optimizer_style": "foreach",
 "precision": "fp32", "autocast": null, "grad_scaler": false, "workers": 4, "compiled": false,
 "channels_last": false, "checkpointing": false, "cuda_graphs": false, "world_size": 1,
 "parallel": null, "parameters": 9408, "trainable": 9408, "modules": "Net",
 "memory": {"parameters": 37632, "gradients": 37632, "optimizer": 37632, "peak": 300000000,
            "saved": null},
 "measured_peak": null,
 "operators": [
  {"op": "aten.convolution.default", "pass": "forward", "count": 3,
   "in": [["f32",[64,3,224,224]], ["w:f32",[64,3,7,7]], null],
   "out": [["f32",[64,64,112,112]]], "arg": {"stride": [2,2], "groups": 1, "transposed": false}},
  {"op": "aten.t.default", "pass": "backward", "count": 1, "in": [["f32",[4,2]]],
   "out": [["f32",[2,4]]], "view": true, "cl": true},
  {"op": "aten._foreach_add_.List", "pass": "update", "count": 1,
   "in": [{"list": [["w:f32",[64,3,7,7],1], ["p:f32",[64],20]]}], "out": []}
 ], "dropped": 0})";

ToldStep Step() {
  auto step = ReadToldStep(kStep);
  EXPECT_TRUE(step) << step.error().message;
  return step ? *std::move(step) : ToldStep{};
}

std::string With(const std::string& old, const std::string& now) {
  std::string text = kStep;
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

std::string ErrorOf(const std::string& text) {
  const auto step = ReadToldStep(text, "step.json");
  return step ? "read" : step.error().message;
}

TEST(ToldStep, IsReadAsItIsTold) {
  const ToldStep step = Step();
  EXPECT_EQ(step.batch, 64);
  EXPECT_EQ(step.optimizer, "SGD");
  EXPECT_EQ(step.autocast, "");
  EXPECT_EQ(step.workers, 4);
  EXPECT_EQ(step.grad_scaler, false);
  EXPECT_EQ(step.memory.peak, 3e8);
  EXPECT_EQ(step.memory.saved, std::nullopt);  // unknown is not 0
  ASSERT_EQ(step.operators.size(), 3U);
  const ToldOperator& conv = step.operators[0];
  EXPECT_EQ(conv.count, 3);
  ASSERT_EQ(conv.in.size(), 3U);
  EXPECT_EQ(conv.in[1].tensors[0].role, ToldRole::kTrained);
  EXPECT_TRUE(conv.in[2].absent());
  EXPECT_EQ(*conv.Arg("stride"), (std::vector<double>{2, 2}));
  EXPECT_EQ(*conv.Arg("transposed"), std::vector<double>{0});
  EXPECT_EQ(conv.Arg("padding"), nullptr);
  EXPECT_TRUE(step.operators[1].view);
  const ToldOperand& list = step.operators[2].in[0];
  EXPECT_TRUE(list.is_list);
  EXPECT_EQ(list.tensors[1].many, 20);
  EXPECT_EQ(list.tensors[1].role, ToldRole::kFrozen);
}

TEST(ToldStep, ReadsAsItWasWritten) {
  const ToldStep step = Step();
  const auto again = ReadToldStep(WriteToldStep(step));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, step);
  EXPECT_EQ(WriteToldStep(*again), WriteToldStep(step));
}

TEST(ToldStep, AnEmptyArgumentIsNone) {
  const auto step = ReadToldStep(With("\"groups\": 1", "\"groups\": []"));
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->operators[0].Arg("groups"), nullptr);
  const auto again = ReadToldStep(WriteToldStep(*step));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(FingerprintOf(*again), FingerprintOf(*step));
}

TEST(ToldStep, NearlyAllMayBeUnknown) {
  const auto step = ReadToldStep(R"({"sharewell_step":1,"operators":[]})");
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->batch, std::nullopt);
  EXPECT_EQ(step->compiled, std::nullopt);
}

TEST(ToldStep, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(ErrorOf(With("\"sharewell_step\": 1", "\"sharewell_step\": 2")),
              HasSubstr("version 2, this program reads version 1"));
  EXPECT_THAT(ErrorOf(With("\"batch\": 64", "\"batch\": 0")),
              HasSubstr("step.json: batch: 0 is not from 1 to"));
  EXPECT_THAT(ErrorOf(With("\"batch\"", "\"bach\"")), HasSubstr("bach"));
  EXPECT_THAT(ErrorOf(With("\"fp32\"", "\"fp31\"")), HasSubstr("'fp31' is none of fp32"));
  EXPECT_THAT(ErrorOf(With("\"w:f32\"", "\"w:f33\"")),
              HasSubstr("operators[0].in: 'w:f33' is no type of a tensor"));
  EXPECT_THAT(ErrorOf(With("\"backward\"", "\"sideways\"")),
              HasSubstr("operators[1].pass: 'sideways' is none of forward"));
  EXPECT_THAT(ErrorOf(With("[64,3,7,7]", "[64,3,-7,7]")), HasSubstr("operators[0].in: -7"));
  EXPECT_THAT(ErrorOf(With("[64,3,7,7]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]")),
              HasSubstr("at most 16 numbers"));
  EXPECT_THAT(ErrorOf(With("[64,3,7,7]", "[1000000000,1000000000]")),
              HasSubstr("more elements than any machine holds"));
  EXPECT_THAT(ErrorOf(With("\"count\": 3", "\"count\": 0")), HasSubstr("operators[0].count"));
  EXPECT_THAT(ErrorOf(With("\"dropped\": 0", "\"dropped\": -1")), HasSubstr("dropped"));
  EXPECT_THAT(ErrorOf(kStep.substr(0, kStep.size() / 2)), HasSubstr("it may have been cut off"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is no told step"));
  EXPECT_THAT(ErrorOf(std::string(300'000, ' ')), HasSubstr("has at most 262144"));
  // Each says what to do.
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("sharewell watch -- COMMAND"));
}

TEST(ToldStep, HasNoMoreOperatorsThanAreRead) {
  std::string text = R"({"sharewell_step":1,"operators":[)";
  for (std::size_t i = 0; i <= kMostToldOperators; ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"op":"a","pass":"forward"})");
  }
  EXPECT_THAT(ErrorOf(text + "]}"), HasSubstr("has 4001 entries, and 4000 is the most"));
}

TEST(ToldStep, IsToldFromOtherJson) {
  EXPECT_TRUE(IsToldStep(kStep));
  EXPECT_TRUE(IsToldStep("\n {\"sharewell_step\":1}"));
  EXPECT_FALSE(IsToldStep(R"({"model_type":"bert"})"));
  EXPECT_FALSE(IsToldStep(R"(["sharewell_step"])"));
  EXPECT_FALSE(IsToldStep(""));
}

TEST(Fingerprint, IsOfTheWorkAndNotOfItsOrder) {
  const ToldStep step = Step();
  const Fingerprint print = FingerprintOf(step);
  EXPECT_EQ(print.workload.size(), 32U);
  EXPECT_EQ(print.model.size(), 32U);
  EXPECT_NE(print.workload, print.model);
  ToldStep turned = step;
  std::swap(turned.operators[0], turned.operators[2]);
  turned.workers = 9;
  turned.memory.peak = 1;
  turned.framework = "pytorch 2.12";
  EXPECT_EQ(FingerprintOf(turned), print);
}

TEST(Fingerprint, TheModelIsTheSameAtAnotherBatch) {
  const Fingerprint print = FingerprintOf(Step());
  ToldStep larger = Step();
  larger.batch = 128;
  larger.operators[0].in[0].tensors[0].dims[0] = 128;
  larger.operators[0].out[0].tensors[0].dims[0] = 128;
  EXPECT_NE(FingerprintOf(larger).workload, print.workload);
  EXPECT_EQ(FingerprintOf(larger).model, print.model);
  ToldStep wider = Step();
  wider.operators[0].in[1].tensors[0].dims[0] = 128;
  EXPECT_NE(FingerprintOf(wider).model, print.model);
}

TEST(Fingerprint, EveryFactThatChangesTheWorkCounts) {
  const Fingerprint print = FingerprintOf(Step());
  const auto differs = [&](auto change) {
    ToldStep step = Step();
    change(step);
    return FingerprintOf(step).workload != print.workload;
  };
  EXPECT_TRUE(differs([](ToldStep& s) { s.precision = "bf16"; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.autocast = "bf16"; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.accumulation = 4; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.compiled = true; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.checkpointing = true; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.channels_last = true; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.optimizer = "Adam"; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.world_size = 2; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.operators[0].count = 4; }));
  EXPECT_TRUE(differs([](ToldStep& s) { s.operators[0].pass = ToldPass::kBackward; }));
}

}  // namespace
}  // namespace sharewell::graph
