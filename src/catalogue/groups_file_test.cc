#include "catalogue/groups_file.h"

#include <gmock/gmock.h>

namespace sharewell::catalogue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const auto read = ReadGroupsText(text, "c.csv");
  return read ? "no error" : read.error().message;
}

TEST(Groups, AreAsLargeAsTheColumnsSay) {
  const auto read = ReadGroupsText(
      "workload_a,batch_a,steps_per_s_a,alone_steps_per_s_a,workload_b,steps_per_s_b,"
      "alone_steps_per_s_b,workload_c,steps_per_s_c,alone_steps_per_s_c,mps\n"
      "x,8,1,2,y,3,4,z,5,6,1\nx,8,1,2,y,3,4,z,5,6,0\n",
      "c.csv");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U) << "time-sliced ones are left out";
  const auto& group = read->front();
  EXPECT_EQ(group.workloads[0], (core::Workload{"x", 8, "", 0}));
  EXPECT_EQ(group.workloads[2].name, "z");
  EXPECT_THAT(group.steps_per_second, ElementsAre(1, 3, 5));
  EXPECT_THAT(group.alone, ElementsAre(2, 4, 6));
}

TEST(Groups, ErrorsSayWhere) {
  EXPECT_THAT(ErrorOf("workload_a,steps_per_s_a,alone_steps_per_s_a\nx,1,1\n"),
              HasSubstr("workload_b"));
  EXPECT_THAT(ErrorOf("workload_a,steps_per_s_a,alone_steps_per_s_a,workload_b,steps_per_s_b,"
                      "alone_steps_per_s_b\nx,1,1,y,1,0\n"),
              HasSubstr("line 2, column alone_steps_per_s_b"));
  EXPECT_THAT(ErrorOf("workload_a,steps_per_s_a,alone_steps_per_s_a,workload_b,steps_per_s_b,"
                      "alone_steps_per_s_b\n"),
              HasSubstr("holds nothing"));
}

TEST(MeasuredGroups, OneRowAJob) {
  const auto read = ReadMeasuredGroups(
      "group,member,workload,batch,precision,workers,sm_percent,steps_per_s,alone_steps_per_s,"
      "alone_after_steps_per_s,limited_alone_steps_per_s,uncertainty_percent,alone_gpu_util,"
      "alone_gpm_sm,alone_gpm_dram,alone_cpu_cores\n"
      "7,0,lstm,32,fp32,1,100,11,38,42,,2.1,76,35,1,1.1\n"
      "8,0,lstm,32,fp32,1,,30,38,42,,2.1,,,,\n"
      "7,1,hog,64,bf16,4,80,8,10,,9,0.1,100,90,12,1.7\n"
      "8,1,hog,64,bf16,4,60,7,10,10,8,0.1,,,,\n"
      "8,2,enc,64,bf16,4,100,7,10,10,,0.1,,,,\n",
      "g.csv");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  ASSERT_EQ((*read)[0].size(), 2U);
  ASSERT_EQ((*read)[1].size(), 3U);
  const GroupMember& lstm = (*read)[0][0];
  EXPECT_EQ(lstm.workload, (core::Workload{"lstm", 32, "fp32", 1}));
  EXPECT_EQ(lstm.sm_share, 1);
  EXPECT_EQ(lstm.alone, 40) << "before and after";
  EXPECT_FALSE(lstm.limited_alone);
  EXPECT_EQ(lstm.busy, 0.76);
  const GroupMember& hog = (*read)[0][1];
  EXPECT_EQ(hog.sm_share, 0.8);
  EXPECT_EQ(hog.alone, 10);
  EXPECT_EQ(hog.limited_alone, 9);
  EXPECT_EQ(hog.sm, 0.9);
  EXPECT_EQ(hog.dram, 0.12);
  EXPECT_EQ(hog.cpu_cores, 1.7);
  EXPECT_EQ((*read)[1][0].sm_share, 1) << "not told: all SMs";
  EXPECT_FALSE((*read)[1][0].busy);
}

TEST(MeasuredGroups, OneRowAGroup) {
  const auto read = ReadMeasuredGroups(
      "workload_a,steps_per_s_a,workload_b,steps_per_s_b,sm_percent_b,alone_steps_per_s_b,mps,"
      "limited_alone_steps_per_s_b,alone_gpu_util_a\n"
      "x,1,y,3,60,4,1,3.5,91\nx,0,y,0,60,4,1,,\nx,1,y,3,60,4,0,,\n",
      "p.csv");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U) << "one did not fit, one was time-sliced";
  EXPECT_FALSE(read->front()[0].alone);
  EXPECT_EQ(read->front()[0].busy, 0.91);
  EXPECT_EQ(read->front()[1].sm_share, 0.6);
  EXPECT_EQ(read->front()[1].limited_alone, 3.5);
}

TEST(MeasuredGroups, ErrorsSayWhere) {
  const auto error = [](std::string_view text) {
    const auto read = ReadMeasuredGroups(text, "g.csv");
    return read ? "no error" : read.error().message;
  };
  EXPECT_THAT(error("workload,steps_per_s\nx,1\n"), HasSubstr("group"));
  EXPECT_THAT(error("group,workload,steps_per_s,sm_percent\n1,x,1,0\n"),
              HasSubstr("line 2, column sm_percent"));
  EXPECT_THAT(error("group,workload,steps_per_s\n"), HasSubstr("holds nothing"));
}

}  // namespace
}  // namespace sharewell::catalogue
