#include "trace/muri.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using testing::HasSubstr;

const std::string kHeader =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\n";

std::string ErrorOf(const std::string& rows) {
  const auto trace = ReadMuri(kHeader + rows, "m.csv");
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, core::ErrorKind::kUsage);
  return trace.error().message;
}

TEST(MuriTrace, CountsInMillisecondsAndTakesIterationsForTheDuration) {
  const auto trace = ReadMuri(kHeader +
                                  "7,4,1000,2000,resnet18,128,99,0,500,0.5,125,3,1\n"
                                  "8,1,3500,10,gpt2,4,99,0,100,0,150,0,0\n",
                              "m.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  const auto& job = trace->jobs[0];
  EXPECT_EQ(job.id, "7");
  EXPECT_EQ(job.gpus, 4);
  EXPECT_EQ(job.duration, core::Seconds(1000))
      << "2000 iterations of 500 ms, not the duration column";
  EXPECT_EQ(job.busy, 0.25);
  EXPECT_EQ(job.workload, (core::Workload{"resnet18", 128, "", 0}));
  EXPECT_EQ(job.priority, 0) << "Muri's priority is none of scheduling";
  EXPECT_EQ(trace->jobs[1].submit, core::Seconds(2.5));
  EXPECT_EQ(trace->jobs[1].busy, 1.0) << "capped";
}

TEST(MuriTrace, RefusesRowsItCannotUse) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no job"));
  EXPECT_THAT(ErrorOf("7,4,0,0,m,1,9,0,500,0,1,0,0\n"),
              HasSubstr("line 2, column iterations: '0'"));
  EXPECT_THAT(ErrorOf("7,4,0,1,m,1,9,0,0,0,1,0,0\n"), HasSubstr("column iteration_time: '0'"));
  EXPECT_THAT(ErrorOf("7,4,0,1e14,m,1,9,0,500,0,1,0,0\n"),
              HasSubstr("column iterations: '1e14' times"));
  EXPECT_THAT(ErrorOf("7,4,0,1e300,m,1,9,0,500,0,1,0,0\n"), HasSubstr("column iterations"));
  EXPECT_THAT(ErrorOf("7,4,0,1,m,1,9,0,nan,0,1,0,0\n"), HasSubstr("column iteration_time"));
  EXPECT_THAT(ErrorOf("7,4,0,1,m,1,9,0,1,0,-1,0,0\n"), HasSubstr("column resource_time_1"));
  EXPECT_THAT(ErrorOf("7,-4,0,1,m,1,9,0,1,0,1,0,0\n"), HasSubstr("column num_gpu"));
  EXPECT_THAT(ErrorOf("7,4,0,1,m,1,9,0,1,0,1,0,0\n7,4,0,1,m,1,9,0,1,0,1,0,0\n"),
              HasSubstr("line 3, column job_id"));
  EXPECT_THAT(ErrorOf("7,4,0,1,m\n"), HasSubstr("has 5 fields where 13"));
}

TEST(MuriTrace, ReadsTheRealTraces) {
  SHAREWELL_NEEDS_DATA(path, "muri/trace3.csv");
  const auto trace = ReadTrace(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "muri");
  EXPECT_EQ(trace->jobs.size(), 992U);
}

}  // namespace
}  // namespace sharewell::trace
