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

}  // namespace
}  // namespace sharewell::catalogue
