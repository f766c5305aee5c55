#include "catalogue/workload_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/files/test_folder.h"
#include "platform/files/write_file.h"

namespace sharewell::catalogue {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string MixErrorOf(const std::string& text) {
  const auto mix = ReadMixText(text, "mix.csv");
  if (mix) return "no error";
  EXPECT_EQ(mix.error().kind, core::ErrorKind::kUsage);
  return mix.error().message;
}

TEST(WorkloadMix, IsTheCatalogueAShareOfTheGpuOrAFile) {
  const auto all = ReadMix("catalogue");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->parts.empty());
  EXPECT_FALSE(all->busy);
  EXPECT_EQ(ReadMix("busy:0.4")->busy, 0.4);
  const platform::TestFolder folder;
  const std::string path = folder.Path("mix.csv");
  ASSERT_TRUE(platform::WriteFile(
      path, "# ours\nworkload,batch,precision,weight\nbert,32,,3\nresnet50,,bf16,0.5\n"));
  const auto mix = ReadMix(path);
  ASSERT_TRUE(mix) << mix.error().message;
  ASSERT_EQ(mix->parts.size(), 2U);
  EXPECT_EQ(mix->parts[0].workload.name, "bert");
  EXPECT_EQ(mix->parts[0].workload.batch, 32);
  EXPECT_EQ(mix->parts[0].weight, 3);
  EXPECT_EQ(mix->parts[1].workload.precision, "bf16");
  EXPECT_EQ(mix->parts[1].line, 4U);
  EXPECT_EQ(mix->given, path);
}

TEST(WorkloadMix, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_THAT(MixErrorOf(""), HasSubstr("mix.csv"));
  EXPECT_THAT(MixErrorOf("workload,weight\n"), HasSubstr("names no workload"));
  EXPECT_THAT(MixErrorOf("workload\nbert\n"), HasSubstr("weight"));
  EXPECT_THAT(MixErrorOf("work,weight\nbert,1\n"), HasSubstr("workload"));
  for (const char* weight : {"0", "-1", "nan", "inf", "many", "", "1e99"}) {
    EXPECT_THAT(MixErrorOf(std::string("workload,weight\nbert,") + weight + "\n"),
                AllOf(HasSubstr("line 2"), HasSubstr("weight")))
        << weight;
  }
  EXPECT_THAT(MixErrorOf("workload,weight\n,1\n"), HasSubstr("line 2"));
  EXPECT_THAT(MixErrorOf("workload,weight\nbert,1\nbert,2\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("one weight")));
  EXPECT_THAT(MixErrorOf("workload,batch,weight\nbert,-4,1\n"), HasSubstr("batch"));
  EXPECT_THAT(MixErrorOf("workload,weight\nbert\n"), HasSubstr("line 2"));
  EXPECT_THAT(MixErrorOf(std::string("workload,weight\n\0,1\n", 20)), HasSubstr("mix.csv"));
  for (const char* wrong : {"busy:", "busy:0", "busy:-1", "busy:1.5", "busy:40%", "busy:nan"}) {
    const auto mix = ReadMix(wrong);
    ASSERT_FALSE(mix) << wrong;
    EXPECT_THAT(mix.error().message, AllOf(HasSubstr("--mix"), HasSubstr("0.001 to 1"))) << wrong;
  }
  const auto none = ReadMix("no-such-file");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("no-such-file"), HasSubstr("give catalogue")));
}

}  // namespace
}  // namespace sharewell::catalogue
