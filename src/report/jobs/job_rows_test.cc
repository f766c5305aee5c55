#include "report/jobs/job_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/jobs/job_grid.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using ::testing::ElementsAre;

JobRecord JobNamed(std::int64_t number, const std::string& name, const std::string& array = "") {
  JobRecord job;
  job.number = number;
  job.user.name = "ann";
  job.asked.name = name;
  job.asked.array = array;
  return job;
}

JobRow RowWith(const std::vector<JobRecord>& jobs) {
  JobRow row;
  for (const JobRecord& job : jobs) row.push_back(&job);
  return row;
}

TEST(JobRows, TheJobsOfAnArrayAreOneRow) {
  std::vector<JobRecord> jobs = {JobNamed(1, "a", "x_0"), JobNamed(2, "b"), JobNamed(3, "c", "x_1"),
                                 JobNamed(4, "d", "y_0"), JobNamed(5, "e", "x_2")};
  jobs[4].user.name = "eve";  // an id says whose it is only together with the user
  const auto rows = JobRowsOf(RowWith(jobs), false);
  std::vector<std::string> numbers;
  for (const JobRow& row : rows) numbers.push_back(JobNumbersInWords(row));
  EXPECT_THAT(numbers, ElementsAre("1,3", "2", "4", "5"));
  EXPECT_EQ(JobRowsOf(RowWith(jobs), true).size(), 5U);
}

TEST(JobRows, NumbersAreRanges) {
  std::vector<JobRecord> jobs;
  for (const int number : {7, 3, 4, 5, 10}) jobs.push_back(JobNamed(number, "x"));
  EXPECT_EQ(JobNumbersInWords(RowWith(jobs)), "3-5,7,10");
  for (const int number : {12, 14, 16}) jobs.push_back(JobNamed(number, "x"));
  EXPECT_EQ(JobNumbersInWords(RowWith(jobs)), "3...16");
}

TEST(JobRows, AnArrayIsNamedByWhatItsJobsHaveInCommon) {
  const auto named = [](const std::vector<std::string>& names) {
    std::vector<JobRecord> jobs;
    for (const std::string& name : names) jobs.push_back(JobNamed(1, name, "x_1"));
    return JobNameOf(RowWith(jobs));
  };
  EXPECT_EQ(named({"lr=0.1", "lr=0.01", "lr=0.2"}), "lr=*");
  EXPECT_EQ(named({"train 1 big", "train 10 big"}), "train * big");
  EXPECT_EQ(named({"bert", "bert"}), "bert");
  EXPECT_EQ(named({"bert", "bert2"}), "bert*");
  EXPECT_EQ(named({"a", "b"}), "*");
  EXPECT_EQ(named({"größe 1", "größe 2"}), "größe *");
  EXPECT_EQ(named({"", "b"}), "*");
}

TEST(JobRows, CommandsThatAreNamedAlikeAreToldApart) {
  std::vector<JobRecord> jobs = {JobNamed(1, ""), JobNamed(2, ""), JobNamed(3, "")};
  jobs[0].asked.command = {"python3", "train.py", "--lr", "0.1"};
  jobs[1].asked.command = {"python3", "train.py", "--lr", "0.01"};
  jobs[2].asked.command = {"sleep", "60"};
  EXPECT_THAT(JobNamesOf(JobRowsOf(RowWith(jobs), false)),
              ElementsAre("python3 train.py --lr 0.1", "python3 train.py --lr 0.01", "sleep 60"));
}

TEST(JobRows, ANameIsCutWhereItSaysTheLeast) {
  EXPECT_THAT(
      CutNames({"experiment-bert-large-lr-0.001", "experiment-bert-large-lr-0.01", "short"}, 18),
      ElementsAre("experiment-b…0.001", "experiment-be…0.01", "short"));
  EXPECT_THAT(CutNames({"a-name-that-is-alone-and-long"}, 10), ElementsAre("a-name-th…"));
  EXPECT_THAT(CutNames({"run-with-lr=0.1-for-long", "run-with-lr=0.2-for-long"}, 16),
              ElementsAre("run-…lr=0.1-for…", "run-…lr=0.2-for…"));
  for (const std::string& name :
       CutNames({"日本語日本語1", "日本語日本語2", "\xff\xff\xff\xff"}, 6)) {
    EXPECT_LE(DisplayWidth(name), 6U);
  }
  EXPECT_THAT(CutNames({"ab", "ac"}, 0), ElementsAre("", ""));
}

TEST(JobRows, AReasonIsSaidOnce) {
  const std::vector<JobRecord> jobs = {JobNamed(4, "a"), JobNamed(5, "b"), JobNamed(6, "c"),
                                       JobNamed(9, "d")};
  const std::vector<std::pair<JobRow, std::string>> texts = {{{&jobs[0]}, "no GPU has room"},
                                                             {{&jobs[1]}, "no GPU has room"},
                                                             {{&jobs[2]}, ""},
                                                             {{&jobs[3]}, "it is held"}};
  EXPECT_EQ(SaidOnce(texts, 80, 5), "4-5: no GPU has room\n9: it is held\n");
  EXPECT_EQ(SaidOnce(texts, 80, 1),
            "4-5: no GPU has room\nand 1 more reason; `sharewell why JOB` says why of one job\n");
  EXPECT_EQ(SaidOnce({}, 80, 5), "");
}

TEST(JobGrid, LeavesTheLeastImportantColumnsOut) {
  JobGrid grid({{"job", Align::kRight},
                {"name", Align::kLeft},
                {"cores", Align::kRight, 2},
                {"ran", Align::kRight, 1},
                {"SMs", Align::kRight, 3}},
               1);
  grid.Row({"1", "a-name-of-twenty-characters", "16", "2m 05s", ""});
  EXPECT_EQ(grid.Text(80),
            "job  name                         cores     ran\n"
            "───  ───────────────────────────  ─────  ──────\n"
            "  1  a-name-of-twenty-characters     16  2m 05s\n");
  EXPECT_EQ(grid.Text(32),
            "job  name                    ran\n"
            "───  ───────────────────  ──────\n"
            "  1  a-name-of-twenty-c…  2m 05s\n");
  EXPECT_EQ(grid.Text(20),
            "job  name\n"
            "───  ───────────────\n"
            "  1  a-name-of-twen…\n");
}

}  // namespace
}  // namespace sharewell::report
