#include "trace/philly.h"

#include <gmock/gmock.h>

#include <chrono>

#include "platform/files/test_folder.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using testing::HasSubstr;

const std::string kHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n";

std::string ErrorOf(const std::string& rows) {
  const auto trace = ReadPhilly(kHeader + rows, "p.csv");
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, core::ErrorKind::kUsage);
  return trace.error().message;
}

TEST(PhillyTrace, IsSortedByTimeTiesInTheFilesOrder) {
  const auto trace = ReadPhilly(kHeader +
                                    "2017-10-02 00:00:10,5.0,8,40.0,vc2\n"
                                    "2017-09-30 23:59:50,66.0,1,66.0,vc1\n"
                                    "2017-10-02 00:00:10,7.0,2,14.0,vc3\n"
                                    "2017-10-01 00:00:00,9.0,1,9.0,vc1\n\n",
                                "p.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 4U);
  std::string ids;
  for (const auto& job : trace->jobs) ids += job.id;
  EXPECT_EQ(ids, "2413") << "ids are row numbers";
  EXPECT_EQ(trace->jobs[0].submit, core::Seconds(0));
  EXPECT_EQ(trace->jobs[1].submit, core::Seconds(10)) << "over the end of a month";
  EXPECT_EQ(trace->jobs[2].submit, core::Seconds(86420));
  EXPECT_EQ(trace->jobs[2].gpus, 8);
  EXPECT_EQ(trace->jobs[2].user, "vc2") << "the virtual cluster stands for the user";
  EXPECT_EQ(trace->jobs[2].duration, core::Seconds(5));
  EXPECT_EQ(trace->jobs[2].workload, std::nullopt);
}

TEST(PhillyTrace, RefusesRowsItCannotUse) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no job"));
  for (const char* bad : {"2017-13-01 00:00:00", "2017-02-30 00:00:00", "2017-10-01T00:00:00",
                          "2017-10-01", "2017-10-01 24:00:00", "2017-10-01 00:60:00", "",
                          "20171001 00:00:00xx", "-017-10-01 00:00:00"}) {
    EXPECT_THAT(ErrorOf(std::string(bad) + ",1,1,1,v\n"), HasSubstr("line 2, column timestamp"))
        << bad;
  }
  for (const char* bad : {"0", "-1", "nan", "inf", "1e300", ""}) {
    EXPECT_THAT(ErrorOf(std::string("2017-10-01 00:00:00,") + bad + ",1,1,v\n"),
                HasSubstr("column duration"))
        << bad;
  }
  EXPECT_THAT(ErrorOf("2017-10-01 00:00:00,1,99999999999,1,v\n"), HasSubstr("column num_gpus"));
  EXPECT_THAT(ErrorOf("2017-10-01 00:00:00,1\n"), HasSubstr("line 2: has 2 fields where 5"));
}

TEST(PhillyTrace, ReadsTheRealTraceQuickly) {
  SHAREWELL_NEEDS_DATA(path, "philly/philly.csv");
  const auto start = std::chrono::steady_clock::now();
  const auto trace = ReadTrace(path);
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "philly");
  EXPECT_EQ(trace->jobs.size(), 82247U);
  EXPECT_TRUE(std::is_sorted(trace->jobs.begin(), trace->jobs.end(),
                             [](const auto& a, const auto& b) { return a.submit < b.submit; }));
  // About 50 ms in a release build; room for sanitizers and busy machines.
  EXPECT_LT(took, std::chrono::seconds(3));
}

}  // namespace
}  // namespace sharewell::trace
