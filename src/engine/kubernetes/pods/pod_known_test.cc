#include "engine/kubernetes/pods/pod_known.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

PodKnown Resnet() {
  PodKnown known;
  known.needs.sources = core::Sources::All(core::Source::kPredicted);
  known.needs.sources.gpu_memory = core::Source::kTold;
  known.needs.from = "'resnet50.onnx' at batch 64, fp32";
  known.needs.profile.workload = {"resnet50", 64, "fp32", 4};
  known.needs.profile.gpu = "H200";
  known.needs.profile.busy = core::Ratio(0.5);
  known.needs.profile.gpu_memory = core::Bytes(12e9);
  known.needs.gpu_memory_upper = core::Bytes(15e9);
  known.needs.pace_low = 3.5;
  known.submitted = 1'732'000'000'000;
  known.workload = "resnet50";
  return known;
}

std::string WhyNot(std::string_view text) {
  const auto known = ReadKnown(text);
  return known ? "it was read" : known.error().message;
}

TEST(PodKnown, IsReadAsItWasWritten) {
  const std::string line = WriteKnown(Resnet());
  EXPECT_THAT(line, ::testing::StartsWith(R"({"v":1,"submitted_ms":1732000000000,)"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto known = ReadKnown(line);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(*known, Resnet());

  PodKnown least;
  const auto again = ReadKnown(WriteKnown(least));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, least);
}

TEST(PodKnown, WhatWasObservedIsWrittenAsPredicted) {
  PodKnown known = Resnet();
  known.needs.sources = core::Sources::All(core::Source::kObserved);
  known.needs.graph = "0123";
  known.needs.retrained = true;
  const auto again = ReadKnown(WriteKnown(known));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->needs.sources, core::Sources::All(core::Source::kPredicted));
  EXPECT_EQ(again->needs.graph, "");
  EXPECT_FALSE(again->needs.retrained);
}

TEST(PodKnown, WhatIsTooLongIsCutWithinCharacters) {
  PodKnown known = Resnet();
  known.workload = std::string(119, 'a') + "\u00e9\n";
  for (std::string* text :
       {&known.needs.from, &known.needs.profile.gpu, &known.needs.profile.workload.name,
        &known.needs.profile.workload.precision}) {
    *text = std::string(1000, '"');
  }
  for (int i = 1; i <= 1000; ++i) {
    known.needs.profile.cpu_curve.emplace_back(i, core::Ratio(i / 1000.0));
  }
  const std::string line = WriteKnown(known);
  EXPECT_LE(line.size(), kMostKnownBytes);
  const auto again = ReadKnown(line);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->workload, std::string(119, 'a'));
  EXPECT_EQ(again->needs.profile.busy, known.needs.profile.busy);
  EXPECT_TRUE(again->needs.profile.cpu_curve.empty());
}

TEST(PodKnown, BadInputIsRefusedWithAReason) {
  EXPECT_THAT(WhyNot(""), HasSubstr("JSON"));
  EXPECT_THAT(WhyNot("[]"), HasSubstr("object"));
  EXPECT_THAT(WhyNot("{}"), HasSubstr("v"));
  EXPECT_THAT(WhyNot(R"({"v":2,"needs":{}})"), HasSubstr("v is 2"));
  EXPECT_THAT(WhyNot(R"({"v":"1","needs":{}})"), HasSubstr("v"));
  EXPECT_THAT(WhyNot(R"({"v":1})"), HasSubstr("needs"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":3})"), HasSubstr("needs"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{},"more":1})"), HasSubstr("more"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"bussy":0.5}})"), HasSubstr("busy"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"busy":1.5}})"), HasSubstr("needs.busy"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"source":"observed"}})"), HasSubstr("observed"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"pace_source":"measured"}})"), HasSubstr("observed"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"source":"seen"}})"), HasSubstr("seen"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":{"graph":"00"}})"), HasSubstr("server's own"));
  EXPECT_THAT(WhyNot(R"({"v":1,"submitted_ms":-1,"needs":{}})"), HasSubstr("submitted_ms"));
  EXPECT_THAT(WhyNot(R"({"v":1,"submitted_ms":1.5,"needs":{}})"), HasSubstr("submitted_ms"));
  EXPECT_THAT(WhyNot(R"({"v":1,"workload":7,"needs":{}})"), HasSubstr("workload"));
  EXPECT_THAT(WhyNot(std::string(kMostKnownBytes + 1, ' ')), HasSubstr("4096"));
  EXPECT_THAT(WhyNot(R"({"v":1,"needs":)" + std::string(100, '[')), ::testing::Ne("it was read"));
}

}  // namespace
}  // namespace sharewell::engine
