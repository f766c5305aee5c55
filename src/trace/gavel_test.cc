#include "trace/gavel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "catalogue/pairs_file.h"
#include "platform/files/test_folder.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using testing::HasSubstr;

std::string Row(const std::string& type, const std::string& steps, const std::string& scale,
                const std::string& arrival) {
  return type + "\tpython3 \"main.py\" --x\tdir\t--num_steps\t1\t" + steps + "\t" + scale +
         "\t1\t-1.000000\t" + arrival + "\n";
}

std::string ErrorOf(const std::string& text) {
  const auto trace = ReadGavel(text, "g.trace");
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, core::ErrorKind::kUsage);
  return trace.error().message;
}

TEST(GavelTrace, GivesTypesStepsAndGangs) {
  const auto trace =
      ReadGavel(Row("A3C", "100", "1", "60") + Row("LM (batch size 5)", "7", "4", "10"), "g");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].workload->name, "LM (batch size 5) x4") << "as in Gavel's throughputs";
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_EQ(trace->jobs[0].steps, 7);
  EXPECT_EQ(trace->jobs[0].duration, std::nullopt);
  EXPECT_EQ(trace->jobs[1].id, "1");
  EXPECT_EQ(trace->jobs[1].submit, core::Seconds(50));
  EXPECT_EQ(trace->jobs[1].workload->name, "A3C");
  EXPECT_EQ(trace->jobs[1].priority, 0);
}

TEST(GavelTrace, RefusesRowsItCannotUse) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no job"));
  EXPECT_THAT(ErrorOf("a\tb\n"), HasSubstr("line 1: has 2 fields where 10"));
  for (const char* bad : {"0", "-1", "nan", "1e300", ""}) {
    EXPECT_THAT(ErrorOf(Row("A3C", bad, "1", "0")), HasSubstr("line 1, column total_steps")) << bad;
  }
  EXPECT_THAT(ErrorOf(Row("A3C", "1", "0", "0")), HasSubstr("column scale_factor"));
  EXPECT_THAT(ErrorOf(Row("A3C", "1", "99999999999", "0")), HasSubstr("column scale_factor"));
  EXPECT_THAT(ErrorOf(Row("A3C", "1", "1", "inf")), HasSubstr("column arrival"));
  EXPECT_THAT(ErrorOf(Row("", "1", "1", "0")), HasSubstr("column type"));
}

TEST(GavelTrace, ReadsTheRealTraceAndEveryJobHasARate) {
  SHAREWELL_NEEDS_DATA(path, "gavel/minimize_makespan.trace");
  SHAREWELL_NEEDS_DATA(rates_path, "gavel/simulation_throughputs.json");
  const auto trace = ReadTrace(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "gavel");
  EXPECT_EQ(trace->jobs.size(), 100U);
  EXPECT_EQ(std::count_if(trace->jobs.begin(), trace->jobs.end(),
                          [](const auto& job) { return job.gpus == 1; }),
            71);
  const auto rates = catalogue::ReadPairs(rates_path);
  ASSERT_TRUE(rates) << rates.error().message;
  std::set<std::string> on_v100;
  for (const auto& profile : rates->profiles) {
    if (profile.gpu == "v100") on_v100.insert(profile.workload.name);
  }
  for (const auto& job : trace->jobs)
    EXPECT_TRUE(on_v100.contains(job.workload->name)) << job.workload->name;
}

}  // namespace
}  // namespace sharewell::trace
