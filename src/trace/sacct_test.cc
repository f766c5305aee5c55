#include "trace/sacct.h"

#include <gmock/gmock.h>

#include "trace/csv.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The header that sacct prints for kSacctFields.
std::string History(const std::string& rows) {
  std::string header(kSacctFields);
  for (char& c : header) c = c == ',' ? '|' : c;
  return header + "\n" + rows;
}

// One run: half an hour on one V100, after five minutes.
std::string Row(const std::string& id, const std::string& state = "COMPLETED",
                const std::string& elapsed = "1800",
                const std::string& given = "billing=4,cpu=4,gres/gpu=1,mem=8G,node=1") {
  return id + "|ada|gpu|" + state + "|2026-01-05T10:00:00|2026-01-05T10:05:00|" + elapsed +
         "|4|cpu=4,gres/gpu=1,mem=8G|" + given + "|\n";
}

Trace Read(const std::string& rows, const std::string& partition = "") {
  auto trace = ReadSacct(History(rows), "sacct.txt", partition);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

TEST(TraceSacct, ARunBecomesAJobWithWhatItReallyWaited) {
  const Trace trace = Read(Row("7"));
  ASSERT_EQ(trace.jobs.size(), 1u);
  const TraceJob& job = trace.jobs.front();
  EXPECT_EQ(job.id, "7");
  EXPECT_EQ(job.user, "ada");
  EXPECT_EQ(job.submit, core::Seconds(0));
  EXPECT_EQ(job.duration, core::Seconds(1800));
  EXPECT_EQ(job.waited, core::Seconds(300));
  EXPECT_EQ(job.gpus, 1);
  EXPECT_EQ(job.cores, 4);
  EXPECT_EQ(job.host_memory, core::GiB(8));
  EXPECT_THAT(job.gpu_models, ElementsAre());
}

TEST(TraceSacct, IsRecognisedByItsHeader) {
  const auto trace = ReadTraceText(History(Row("7")), "sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "sacct");
}

TEST(TraceSacct, JobsComeInOrderOfTheirSubmission) {
  const Trace trace = Read(
      "9|ada|gpu|COMPLETED|2026-01-05T11:00:00|2026-01-05T11:00:00|60|1|||\n"
      "7|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|||\n");
  EXPECT_EQ(trace.jobs[0].id, "7");
  EXPECT_EQ(trace.jobs[1].submit, core::Seconds(3600));
}

TEST(TraceSacct, StepsTellWhatMemoryWasUsed) {
  const Trace trace = Read(Row("7") +
                           "7.batch||gpu|COMPLETED|x|x|1800|4||cpu=4|1048576K\n"
                           "7.extern||gpu|COMPLETED|x|x|1800|4||cpu=4|512K\n"
                           "7.0||gpu|COMPLETED|x|x|1800|4||cpu=4|4G\n");
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_EQ(trace.jobs[0].host_memory, core::GiB(8)) << "what was asked for";
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("50 % of what they asked for")));
}

TEST(TraceSacct, WhatNeverRanOrIsNotOverIsLeftOutAndCounted) {
  const Trace trace =
      Read(Row("1") + Row("2", "CANCELLED by 1000", "0") + Row("3", "PENDING", "0") +
           Row("4", "RUNNING", "500") + Row("5_[1-9%2]", "PENDING", "0") +
           "6|ada|gpu|CANCELLED by 5|2026-01-05T10:00:00|None|0|0|cpu=4||\n");
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_THAT(trace.remarks, Contains("left out: 2 jobs that never ran"));
  EXPECT_THAT(trace.remarks, Contains("left out: 3 jobs that still wait or run"));
}

TEST(TraceSacct, WhatWasCutShortTakesAsLongAsItRan) {
  const Trace trace =
      Read(Row("1", "CANCELLED by 1000", "100") + Row("2", "TIMEOUT") + Row("3", "FAILED"));
  EXPECT_EQ(trace.jobs.size(), 3u);
  EXPECT_EQ(trace.jobs[0].duration, core::Seconds(100));
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("3 jobs failed, were cancelled")));
}

TEST(TraceSacct, OfARequeuedJobTheLastRunIsTheWork) {
  const Trace trace = Read(
      Row("7", "NODE_FAIL", "3600") +
      "7|ada|gpu|COMPLETED|2026-01-05T12:00:00|2026-01-05T12:30:00|1800|4||cpu=4,gres/gpu=1|\n");
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_EQ(trace.jobs[0].duration, core::Seconds(1800));
  EXPECT_EQ(trace.jobs[0].waited, core::Seconds(300)) << "until its first start";
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("1.0 GPU hours of earlier runs for lost")));
  // One that waits again is not over.
  EXPECT_FALSE(ReadSacct(History(Row("7", "REQUEUED") + Row("7", "PENDING", "0")), "x"));
}

TEST(TraceSacct, TheGpuModelBindsWhereItWasAskedFor) {
  const Trace trace = Read(
      "1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|gres/gpu:v100=2,gres/gpu=2|"
      "gres/gpu:v100=2,gres/gpu=2|\n"
      "2|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|gres/gpu=1|"
      "gres/gpu:v100=1,gres/gpu=1|\n"
      "3|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|gres/gpu:bogus=1|"
      "gres/gpu:bogus=1|\n");
  EXPECT_EQ(trace.jobs[0].gpus, 2);
  EXPECT_EQ(trace.jobs[0].gpu_models.size(), 1u);
  EXPECT_THAT(trace.jobs[1].gpu_models, ElementsAre());
  EXPECT_EQ(trace.jobs[2].gpus, 1) << "of a typed count alone";
  EXPECT_THAT(trace.jobs[2].gpu_models, ElementsAre());
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("'bogus' (1 job)")));
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("jobs ran on 'v100' (2 jobs), 'bogus' (1 job)")));
}

TEST(TraceSacct, WhereSlurmCountsNoGpusItIsSaid) {
  const Trace trace = Read(
      "1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|"
      "cpu=1|cpu=1|\n");
  EXPECT_EQ(trace.jobs[0].gpus, 0);
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("AccountingStorageTRES=gres/gpu")));
}

TEST(TraceSacct, ShardsAreRoundedUpToGpus) {
  const Trace trace = Read(
      "1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|"
      "gres/shard=120|gres/shard=120|\n");
  EXPECT_EQ(trace.jobs[0].gpus, 2);
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("1 job had shards")));
}

TEST(TraceSacct, OnePartitionAloneCanBeTaken) {
  const std::string rows =
      Row("1") + "2|bob|cpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|cpu=1|cpu=1|\n";
  EXPECT_EQ(Read(rows).jobs.size(), 2u);
  EXPECT_EQ(Read(rows, "gpu").jobs.size(), 1u);
  const auto none = ReadSacct(History(rows), "x", "fast");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("in the partition 'fast'"));
}

TEST(TraceSacct, ClocksThatGoBackDoNotMakeNegativeWaits) {
  const Trace trace =
      Read("1|ada|gpu|COMPLETED|2026-10-25T02:50:00|2026-10-25T02:05:00|60|1|cpu=1|cpu=1|\n");
  EXPECT_EQ(trace.jobs[0].waited, core::Seconds(0));
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("summer time ends")));
}

TEST(TraceSacct, SecondsSince1970AreTimesToo) {
  const Trace trace = Read("1|ada|gpu|COMPLETED|1767607200|1767607300|60|1|cpu=1|cpu=1|\n");
  EXPECT_EQ(trace.jobs[0].waited, core::Seconds(100));
}

TEST(TraceSacct, WhatCannotBeReadIsNamedByLineAndColumn) {
  struct Case {
    const char* row;
    const char* says;
  };
  for (const Case& c : {
           Case{"1|ada|gpu|COMPLETED|yesterday|2026-01-05T10:00:00|60|1|||\n", "Submit"},
           Case{"1|ada|gpu|COMPLETED|2026-13-05T10:00:00|x|60|1|||\n", "Submit"},
           // Farther apart than a trace can have.
           Case{"1|ada|gpu|COMPLETED|1013-01-05T10:00:00|2026-01-05T10:00:00|60|1|||\n", "Submit"},
           Case{"1|ada|gpu|COMPLETED|2999-01-05T10:00:00|2026-01-05T10:00:00|60|1|||\n", "Submit"},
           Case{"1|ada|gpu|COMPLETED|99999999999|2026-01-05T10:00:00|60|1|||\n", "Submit"},
           Case{"1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|-5|1|||\n",
                "ElapsedRaw"},
           Case{"1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1||gres/gpu=x|\n",
                "AllocTRES"},
           Case{"1|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|"
                "gres/gpu=99999999999999999999||\n",
                "ReqTRES"},
           Case{"1|ada|evil|name|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|||\n",
                "line 2"},
           Case{"|ada|gpu|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|60|1|||\n", "JobID"},
       }) {
    const auto trace = ReadSacct(History(c.row), "sacct.txt");
    ASSERT_FALSE(trace) << c.row;
    EXPECT_THAT(trace.error().message, HasSubstr(c.says)) << c.row;
  }
  EXPECT_THAT(ReadSacct("JobID|State|Start|ElapsedRaw\n", "x").error().message,
              HasSubstr("Submit"));
}

TEST(TraceSacct, ReadsWhatARealSlurmdbdTold) {
  const auto trace = ReadTrace("tests/fixtures/slurm/22.05/sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "sacct");
  ASSERT_EQ(trace->jobs.size(), 12u);
  const auto job = [&](std::string_view id) -> const TraceJob& {
    for (const TraceJob& one : trace->jobs) {
      if (one.id == id) return one;
    }
    ADD_FAILURE() << id;
    return trace->jobs.front();
  };
  EXPECT_EQ(job("1").gpus, 2);
  EXPECT_EQ(job("1").gpu_models.size(), 1u);
  EXPECT_EQ(job("2").gpu_models.size(), 0u);
  EXPECT_EQ(job("4").gpus, 0);
  EXPECT_EQ(job("11").gpus, 4) << "of two nodes";
  EXPECT_EQ(job("3_2").waited, core::Seconds(7)) << "the array's limit";
  EXPECT_EQ(job("10").duration, core::Seconds(9));
  EXPECT_EQ(job("10").waited, core::Seconds(1));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("1 job ran more than once (requeued)")));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("2 jobs failed, were cancelled")));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("4 jobs are tasks of arrays")));
  EXPECT_THAT(trace->remarks, Contains(HasSubstr("12 jobs tell what host memory")));
}

TEST(TraceCsvWrite, WhatIsWrittenIsReadAsTheSame) {
  Trace trace = Read(Row("7_1") + Row("8", "FAILED", "60"));
  trace.jobs[0].user = "a \"b\", c";
  trace.jobs[0].gpu_models = {"V100", "P100"};
  trace.jobs[1].exclusive = true;
  trace.jobs[1].workload = core::Workload{"tv:resnet50@224", 64, "bf16", 4};
  const std::string text = WriteCsv(trace);
  EXPECT_THAT(text, HasSubstr("# Slurm does not know what the jobs train"));
  auto again = ReadTraceText(text, "trace.csv");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(again->remarks, ElementsAre());
  ASSERT_EQ(again->jobs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    again->jobs[i].line = trace.jobs[i].line;
    EXPECT_TRUE(again->jobs[i] == trace.jobs[i]) << i;
  }
}

}  // namespace
}  // namespace sharewell::trace
