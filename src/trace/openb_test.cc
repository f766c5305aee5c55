#include "trace/openb.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,"
    "scheduled_time\n";

std::string ErrorOf(const std::string& rows) {
  const auto trace = ReadOpenb(kHeader + rows, "o.csv");
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, core::ErrorKind::kUsage);
  return trace.error().message;
}

TEST(OpenbTrace, ReadsWholeAndSharedGpusAndCpuPods) {
  const auto trace = ReadOpenb(kHeader +
                                   "p0,12000,16384,1,1000,,LS,Running,100,160,100\n"
                                   "p1,500,1024,1,460,V100M16|V100M32,BE,Running,110,120,110\n"
                                   "p2,8000,1024,8,1000,,LS,Succeeded,120,220,120\n"
                                   "p3,4000,1024,0,0,,LS,Running,130,131,130\n",
                               "o.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 4U);
  const auto& whole = trace->jobs[0];
  EXPECT_EQ(whole.id, "p0");
  EXPECT_EQ(whole.cores, 12);
  EXPECT_EQ(whole.host_memory, core::GiB(16));
  EXPECT_EQ(whole.duration, core::Seconds(60));
  EXPECT_EQ(whole.busy, 1.0);
  EXPECT_TRUE(whole.exclusive);
  const auto& shared = trace->jobs[1];
  EXPECT_EQ(shared.submit, core::Seconds(10));
  EXPECT_EQ(shared.busy, 0.46);
  EXPECT_FALSE(shared.exclusive);
  EXPECT_THAT(shared.gpu_models, ElementsAre("V100M16", "V100M32"));
  EXPECT_EQ(trace->jobs[2].gpus, 8);
  EXPECT_EQ(trace->jobs[2].busy, std::nullopt);
  EXPECT_EQ(trace->jobs[3].gpus, 0);
  EXPECT_FALSE(trace->jobs[3].exclusive);
}

TEST(OpenbTrace, LeavesMomentaryPodsOutAndSaysSo) {
  const auto trace = ReadOpenb(kHeader +
                                   "p0,1,1,1,1000,,LS,Running,100,100,100\n"
                                   "p1,1,1,1,1000,,LS,Failed,110,105,\n"
                                   "p2,1,1,1,1000,,LS,Pending,120,220,\n",
                               "o.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->jobs[0].submit, core::Seconds(0));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("2 pods were left out")));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("1 pods never ran")));
}

TEST(OpenbTrace, RefusesRowsItCannotUse) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no job"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,1000,,LS,Running,5,5,5\n"), HasSubstr("holds no job"));
  EXPECT_THAT(ErrorOf("p0,-1,1,1,1000,,LS,Running,0,5,5\n"),
              HasSubstr("line 2, column cpu_milli: '-1'"));
  EXPECT_THAT(ErrorOf("p0,1,nan,1,1000,,LS,Running,0,5,5\n"), HasSubstr("column memory_mib"));
  EXPECT_THAT(ErrorOf("p0,1,1,99999999999,1000,,LS,Running,0,5,5\n"), HasSubstr("column num_gpu"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,1001,,LS,Running,0,5,5\n"), HasSubstr("column gpu_milli"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,0,,LS,Running,0,5,5\n"), HasSubstr("column gpu_milli"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,1000,,LS,Running,0,,5\n"), HasSubstr("column deletion_time"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,1000,,LS,Running,0,1e300,5\n"), HasSubstr("column deletion_time"));
  EXPECT_THAT(ErrorOf("p0,1,1,1,1000,,LS,Running,0,5e10,5\n"), HasSubstr("column deletion_time"));
  EXPECT_THAT(ErrorOf("p,1,1,1,1000,,LS,Running,0,5,5\np,1,1,1,1000,,LS,Running,0,5,5\n"),
              HasSubstr("line 3, column name"));
}

TEST(OpenbTrace, ReadsTheRealPodList) {
  SHAREWELL_NEEDS_DATA(path, "openb/openb_pod_list_default.csv");
  const auto trace = ReadTrace(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "openb");
  EXPECT_EQ(trace->jobs.size(), 8151U) << "8,152 pods, one of no duration";
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("1 pods were left out")));
}

}  // namespace
}  // namespace sharewell::trace
