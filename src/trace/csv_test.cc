#include "trace/csv.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <chrono>

#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using core::ErrorKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kShort = "id,submit_seconds,duration_seconds\n";

core::Result<Trace> Read(std::string_view text) { return ReadCsv(text, "t.csv"); }

std::string ErrorOf(std::string_view text) {
  const auto trace = Read(text);
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, ErrorKind::kUsage);
  return trace.error().message;
}

// The error of one job with that text in that column.
std::string ErrorWith(const std::string& column, const std::string& value) {
  return ErrorOf("id,submit_seconds,duration_seconds," + column + "\n1,0,10," + value + "\n");
}

TEST(CsvTrace, ThreeColumnsAreEnough) {
  const auto trace = Read(kShort + "a,5,60\nb,5,0.5\nc,1e3,7\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "csv");
  EXPECT_THAT(trace->remarks, IsEmpty());
  ASSERT_EQ(trace->jobs.size(), 3U);
  TraceJob expected;
  expected.line = 3;
  expected.id = "b";
  expected.duration = core::Seconds(0.5);
  EXPECT_EQ(trace->jobs[1], expected)
      << "one GPU, nothing else known; time counts from the first job";
  EXPECT_EQ(trace->jobs[2].submit, core::Seconds(995));
}

TEST(CsvTrace, TimesMayBeDates) {
  const auto trace = Read(kShort +
                          "a,2026-11-15T08:00:00Z,60\nb,2026-11-15T10:00:30+01:00,5\n"
                          "c,2026-11-16,5\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].submit, core::Seconds(0));
  EXPECT_EQ(trace->jobs[1].submit, core::Seconds(3630));
  EXPECT_EQ(trace->jobs[2].submit, core::Seconds(16 * 3600));
  EXPECT_THAT(ErrorOf(kShort + "a,2026-11-15,60\nb,90,5\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("write all in one way")));
  EXPECT_THAT(ErrorOf(kShort + "a,0,60\nb,2026-11-15,5\n"), HasSubstr("have seconds"));
  EXPECT_THAT(ErrorOf(kShort + "a,2026-11-15,60\nb,2026-11-14,5\n"),
              HasSubstr("before the job above"));
  for (const char* wrong : {"2026-13-01", "2026-11-15T25:00", "15.11.2026", "yesterday", ""}) {
    EXPECT_THAT(ErrorOf(kShort + "a," + wrong + ",60\n"),
                AllOf(HasSubstr("line 2"), HasSubstr("submit_seconds")))
        << wrong;
  }
}

TEST(CsvTrace, ReadsEveryColumn) {
  const auto trace = Read(
      "restart_seconds,priority,exclusive,gpu_models,host_memory_gb,gpu_memory_gb,cores,workers,"
      "precision,"
      "batch,workload,user,gpus,duration_seconds,submit_seconds,id,steps\n"
      "30,-2,true,V100; P100,64,16,8.5,4,bf16,64,tv:resnet50@224,ann,2,3600,0,job-1,1000\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const auto& job = trace->jobs.at(0);
  EXPECT_EQ(job.id, "job-1");
  EXPECT_EQ(job.user, "ann");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(job.duration, core::Seconds(3600));
  EXPECT_EQ(job.steps, 1000);
  EXPECT_EQ(job.workload, (core::Workload{"tv:resnet50@224", 64, "bf16", 4}));
  EXPECT_EQ(job.cores, 8.5);
  EXPECT_EQ(job.gpu_memory, core::GiB(16));
  EXPECT_EQ(job.host_memory, core::GiB(64));
  EXPECT_THAT(job.gpu_models, ElementsAre("V100", "P100"));
  EXPECT_TRUE(job.exclusive);
  EXPECT_EQ(job.priority, -2);
  EXPECT_EQ(job.restart_cost, core::Seconds(30));
}

TEST(CsvTrace, StepsOfAWorkloadMayStandForADuration) {
  const std::string header = "id,submit_seconds,duration_seconds,steps,workload\n";
  const auto trace = Read(header + "a,0,,500,w\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].duration, std::nullopt);
  EXPECT_EQ(trace->jobs[0].steps, 500);
  EXPECT_THAT(ErrorOf(header + "a,0,,,w\n"),
              HasSubstr("column duration_seconds: an empty field needs a duration"));
  EXPECT_THAT(ErrorOf(header + "a,0,,5,\n"), HasSubstr("without a workload"));
}

TEST(CsvTrace, MustBeSortedBySubmit) {
  const auto message = ErrorOf("id,user,submit_seconds,duration_seconds\na,u,5,1\nb,u,4,1\n");
  EXPECT_THAT(message,
              HasSubstr("t.csv: line 3, column submit_seconds: '4' is before the job above"));
  EXPECT_THAT(message, HasSubstr("sort -s -t , -k 3,3g")) << "says how, with the right column";
}

TEST(CsvTrace, IdsAreUnique) {
  EXPECT_THAT(ErrorOf(kShort + "a,0,1\nb,0,1\na,1,1\n"),
              HasSubstr("line 4, column id: 'a' is the id of a job above"));
  EXPECT_THAT(ErrorOf(kShort + ",0,1\n"), HasSubstr("column id: an empty field"));
}

TEST(CsvTrace, DurationsArePositiveAndSane) {
  for (const char* bad : {"0", "-1", "nan", "inf", "1e10", "1e300", "ten", "0x10"}) {
    EXPECT_THAT(ErrorOf(kShort + "a,0," + bad + "\n"), HasSubstr("line 2, column duration_seconds"))
        << bad;
  }
}

TEST(CsvTrace, SubmitTimesAreSane) {
  for (const char* bad : {"-1", "nan", "inf", "1e300", "", "noon"}) {
    EXPECT_THAT(ErrorOf(kShort + "a," + bad + ",1\n"), HasSubstr("line 2, column submit_seconds"))
        << bad;
  }
}

TEST(CsvTrace, NumbersAreChecked) {
  for (const char* bad : {"-1", "100001", "99999999999", "1.5", "nan", "all"}) {
    EXPECT_THAT(ErrorWith("gpus", bad), HasSubstr("column gpus: ")) << bad;
  }
  EXPECT_THAT(ErrorWith("cores", "-1"), HasSubstr("column cores"));
  EXPECT_THAT(ErrorWith("cores", "0"), HasSubstr("column cores")) << "it would never end";
  EXPECT_THAT(ErrorWith("gpu_memory_gb", "inf"), HasSubstr("column gpu_memory_gb"));
  EXPECT_THAT(ErrorWith("host_memory_gb", "1e300"), HasSubstr("column host_memory_gb"));
  EXPECT_THAT(ErrorWith("exclusive", "maybe"), HasSubstr("column exclusive"));
  EXPECT_THAT(ErrorWith("priority", "high"), HasSubstr("column priority"));
  EXPECT_THAT(ErrorWith("restart_seconds", "-5"), HasSubstr("column restart_seconds"));
  EXPECT_THAT(ErrorWith("steps", "0"), HasSubstr("column steps"));
  EXPECT_THAT(ErrorWith("sm_share", "0"), HasSubstr("column sm_share"));
  EXPECT_THAT(ErrorWith("sm_share", "60"), HasSubstr("column sm_share"));
  EXPECT_EQ(ErrorWith("sm_share", "0.6"), "no error");
  EXPECT_THAT(ErrorOf("id,submit_seconds,duration_seconds,gpus,sm_share\na,0,1,2,0.5\n"),
              HasSubstr("is for a job that may share its one GPU"));
  EXPECT_THAT(ErrorWith("batch", "64"), HasSubstr("no workload they belong to"));
  EXPECT_EQ(ErrorWith("gpus", "0"), "no error") << "a CPU-only job";
}

TEST(CsvTrace, AMisspeltColumnIsRemarkedUpon) {
  const auto trace = Read("id,submit_seconds,duration_seconds,priorty,colour\na,0,1,5,red\n");
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->remarks, ElementsAre("column 'priorty' is not used; did you mean 'priority'?",
                                          "column 'colour' is not used"));
}

TEST(CsvTrace, RefusesTruncatedAndEmptyFiles) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("t.csv: is empty"));
  EXPECT_THAT(ErrorOf(kShort), HasSubstr("holds no job"));
  EXPECT_THAT(ErrorOf(kShort + "a,0,1\nb,0"), HasSubstr("line 3: has 2 fields where 3"));
  EXPECT_THAT(ErrorOf("id,submit_seconds\na,0\n"), HasSubstr("has no column 'duration_seconds'"));
}

TEST(CsvTrace, ALineOfAGigabyteBelowTheHeaderFailsFast) {
  constexpr std::size_t kSize = std::size_t{1} << 30;
  void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  kShort.copy(static_cast<char*>(memory), kShort.size());
  const auto start = std::chrono::steady_clock::now();
  const auto trace = ReadTraceText({static_cast<const char*>(memory), kSize}, "t.csv");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  ::munmap(memory, kSize);
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("t.csv: line 2: is longer than 1 MiB"));
}

TEST(CsvTrace, TheExampleIsReadWithoutRemarks) {
  const auto trace = ReadTrace("examples/day.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "csv");
  EXPECT_THAT(trace->remarks, IsEmpty());
  EXPECT_EQ(trace->jobs.size(), 200U);
}

}  // namespace
}  // namespace sharewell::trace
