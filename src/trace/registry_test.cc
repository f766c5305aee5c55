#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "platform/files/test_folder.h"
#include "trace/reader.h"

namespace sharewell::trace {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

std::string ErrorOf(std::string_view text,
                    const std::optional<std::string>& format = std::nullopt) {
  const auto trace = ReadTraceText(text, "t", format);
  if (trace) return "no error";
  EXPECT_EQ(trace.error().kind, ErrorKind::kUsage);
  return trace.error().message;
}

std::string FormatOf(std::string_view text) {
  std::string found;
  for (const auto& format : TraceFormats()) {
    if (format.detect(text)) found += std::string(format.name) + " ";
  }
  return found;
}

TEST(TraceRegistry, NamesAreUniqueAndEveryFormatHasHelp) {
  std::set<std::string_view> names;
  for (const auto& format : TraceFormats()) {
    EXPECT_TRUE(names.insert(format.name).second);
    EXPECT_FALSE(format.help.empty());
  }
  EXPECT_EQ(names.size(), 7U);
}

TEST(TraceRegistry, TellsFormatsByTheirBeginning) {
  EXPECT_EQ(FormatOf("id,submit_seconds,duration_seconds\n"), "csv ");
  EXPECT_EQ(FormatOf("\xef\xbb\xbf# a comment\nduration_seconds,x,submit_seconds,id\r\n"), "csv ");
  EXPECT_EQ(FormatOf("timestamp,duration,num_gpus,gpu_time,cluster\n"), "philly ");
  EXPECT_EQ(FormatOf("a\tb\tc\td\t1\t5\t1\t1\t-1\t0\n"), "gavel ");
  EXPECT_EQ(FormatOf("job_id,num_gpu,submit_time,iterations,model_name,batch_size,iteration_time,"
                     "resource_time_1\n"),
            "muri ");
  EXPECT_EQ(FormatOf("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"),
            "openb ");
  EXPECT_EQ(FormatOf("{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n"), "kubernetes ");
  EXPECT_EQ(FormatOf("{\"a\": 1}"), "");
  EXPECT_EQ(FormatOf("a,b\n"), "");
  EXPECT_EQ(FormatOf(""), "");
}

TEST(TraceRegistry, AnUnknownFileGetsTheListOfFormats) {
  const auto message = ErrorOf("hello,world\n1,2\n");
  EXPECT_THAT(message, HasSubstr("t: no known trace format begins with 'hello,world'"));
  EXPECT_THAT(message, HasSubstr("--format"));
  for (const auto& format : TraceFormats())
    EXPECT_THAT(message, HasSubstr(std::string(format.help)));
}

TEST(TraceRegistry, AFileOfTwoFormatsNeedsToBeTold) {
  const std::string text =
      "id,submit_seconds,duration_seconds,timestamp,duration,num_gpus\na,0,9,2017-10-01 "
      "00:00:00,5,1\n";
  EXPECT_THAT(ErrorOf(text), HasSubstr("could be csv or philly; say which with --format"));
  EXPECT_EQ(ReadTraceText(text, "t", "philly")->jobs.at(0).duration, core::Seconds(5));
  EXPECT_EQ(ReadTraceText(text, "t", "csv")->jobs.at(0).duration, core::Seconds(9));
}

TEST(TraceRegistry, AnUnknownFormatNameGetsTheNearest) {
  EXPECT_THAT(ErrorOf("", "phily"),
              HasSubstr("unknown trace format 'phily'; the formats are csv, philly, gavel, muri, "
                        "openb, sacct, kubernetes; did you mean 'philly'?"));
}

TEST(TraceRegistry, EmptyFilesAreErrorsInEveryFormat) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("t: is empty"));
  EXPECT_THAT(ErrorOf("\n\n  \n"), HasSubstr("is empty"));
  for (const auto& format : TraceFormats()) {
    EXPECT_NE(ErrorOf("", std::string(format.name)), "no error") << format.name;
  }
}

TEST(TraceRegistry, MissingFilesAndFoldersAreUsageErrors) {
  const platform::TestFolder folder;
  EXPECT_THAT(ReadTrace(folder.Path("none")).error().message, HasSubstr("no such file"));
  EXPECT_THAT(ReadTrace(folder.path()).error().message, HasSubstr("is a folder"));
}

TEST(TraceRegistry, ASparseGigabyteFailsFastInEveryFormat) {
  const platform::TestFolder folder;
  const std::string path = folder.Write("big", "");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 30), 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(ReadTrace(path));
  for (const auto& format : TraceFormats()) EXPECT_FALSE(ReadTrace(path, std::string(format.name)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace sharewell::trace
