// The commands that are run, over a driver that is scripted.
#include "engine/slurm/read/slurm_client.h"

#include <gmock/gmock.h>

#include <deque>

#include "core/result.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ScriptedDriver final : public SlurmDriver {
 public:
  core::Result<SlurmAnswer> Run(const std::vector<std::string>& words, const std::string& input,
                                core::Seconds) override {
    asked.push_back(words);
    inputs.push_back(input);
    if (answers.empty()) return core::FailedError("squeue did not end within 20 s");
    SlurmAnswer answer = answers.front();
    answers.pop_front();
    return answer;
  }
  std::deque<SlurmAnswer> answers;
  std::vector<std::vector<std::string>> asked;
  std::vector<std::string> inputs;
};

class SlurmClientTest : public ::testing::Test {
 protected:
  ScriptedDriver driver_;
  std::unique_ptr<SlurmClient> client_ = NewSlurmClient(driver_, "gpu");
};

constexpr const char* kShownJob =
    "JobId=26 JobName=wrap UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A Priority=0 Nice=0 "
    "Account=(null) QOS=(null) JobState=PENDING Reason=JobHeldUser Dependency=(null) Requeue=1 "
    "Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 TimeLimit=UNLIMITED SubmitTime=Unknown "
    "EligibleTime=Unknown StartTime=Unknown EndTime=Unknown Partition=gpu ReqNodeList=n2 "
    "NodeList= NumNodes=1 NumCPUs=1 Command=/home/ann/t.sh WorkDir=/home/ann "
    "TresPerNode=gres:shard:g1:60\n";

TEST_F(SlurmClientTest, OneScontrolIsGivenAllLinesOnItsInput) {
  driver_.answers.push_back({0, "", "slurm_update error: Invalid generic resource\n"});
  const auto complaint = client_->Control({"update JobId=1 ReqNodeList=n1", "release 1"});
  ASSERT_TRUE(complaint);
  EXPECT_EQ(*complaint, "slurm_update error: Invalid generic resource");
  EXPECT_THAT(driver_.asked, ElementsAre(ElementsAre("scontrol")));
  EXPECT_EQ(driver_.inputs.at(0), "update JobId=1 ReqNodeList=n1\nrelease 1\nquit\n");
  ASSERT_TRUE(client_->Control({}));
  EXPECT_THAT(driver_.asked, SizeIs(1)) << "nothing is run for nothing";
}

TEST_F(SlurmClientTest, AFewJobsAreReadWithoutTheOthersAndWithoutPrompts) {
  driver_.answers.push_back({0,
                             std::string("scontrol: show job 26\n") + kShownJob +
                                 "scontrol: show job 99\nscontrol: quit\n",
                             "slurm_load_jobs error: Invalid job id specified\n"});
  const auto jobs = client_->Check({26, 99}, {"26", "99"});
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().id, 26);
  EXPECT_EQ(jobs->front().slots, (std::vector<SlurmSlot>{{"g1", 60}}));
}

TEST_F(SlurmClientTest, AnAnswerThatIsNoneIsAnErrorNotAnEmptyQueue) {
  driver_.answers.push_back(
      {1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"});
  const auto lines = client_->Queue();
  ASSERT_FALSE(lines);
  EXPECT_THAT(lines.error().message, HasSubstr("Unable to contact"));
  driver_.answers.push_back({0, "scontrol: show job 26\n",
                             "slurm_load_jobs error: Unable to contact slurm controller\n"});
  EXPECT_FALSE(client_->Check({26}, {"26"})) << "else it would be taken for gone";
  EXPECT_FALSE(client_->Nodes()) << "it hangs";
}

// `sbatch -J $'a\xff'`: any user can do that.
TEST_F(SlurmClientTest, ANameThatIsNoTextDoesNotKeepOthersFromBeingRead) {
  driver_.answers.push_back({0,
                             "{\"jobs\":[{\"job_id\":7,\"user_id\":1000,\"group_id\":1000,\"name\":"
                             "\"a\xff\",\"user_name\":\"ann\","
                             "\"job_state\":\"PENDING\"}]}",
                             ""});
  const auto jobs = client_->Jobs({7});
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().name, "a?");
}

TEST_F(SlurmClientTest, AccountsThatAreOffAreNotAskedForEachJob) {
  driver_.answers.push_back({1, "", "Slurm accounting storage is disabled\n"});
  for (const std::int64_t job : {7, 8, 9}) {
    const auto found = client_->Accounted(job);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_FALSE(*found);
  }
  EXPECT_THAT(driver_.asked, SizeIs(1));
}

TEST_F(SlurmClientTest, AccountsOfManyJobsAreOneQuestion) {
  driver_.answers.push_back({0,
                             "7|COMPLETED|0:0|2026-11-16T12:00:00|2026-11-16T12:01:00|n1\n"
                             "9|FAILED|3:0|2026-11-16T12:00:00|2026-11-16T12:01:00|n2\n",
                             ""});
  client_->AccountAll({7, 8, 9});
  EXPECT_EQ(client_->Accounted(7).value()->phase, SlurmPhase::kCompleted);
  EXPECT_EQ(client_->Accounted(8).value(), std::nullopt);
  EXPECT_EQ(client_->Accounted(9).value()->exit_code, 3);
  EXPECT_THAT(driver_.asked, SizeIs(1));
  EXPECT_THAT(driver_.asked.at(0), ::testing::Contains("--jobs=7,8,9"));
  // What fails is not asked for each of them either; the next look asks again.
  client_->AccountAll({10, 11});
  EXPECT_FALSE(client_->Accounted(10));
  EXPECT_FALSE(client_->Accounted(11));
  EXPECT_THAT(driver_.asked, SizeIs(2));
  EXPECT_FALSE(client_->Accounted(11));
  EXPECT_THAT(driver_.asked, SizeIs(3));
}

TEST_F(SlurmClientTest, TheFieldsOfNodesAreThoseOfTheWholeCluster) {
  const std::string node = " CPUTot=8 RealMemory=1000 State=IDLE ThreadsPerCore=1 Partitions=";
  driver_.answers.push_back({0,
                             "NodeName=b1" + node + "gpu\nNodeName=a2" + node + "cpu\nNodeName=a1" +
                                 node +
                                 "cpu Reason=x Extra=sharewell1,gpu,h,1,s,m,1,2\nNodeName=a3" +
                                 node + "cpu Comment=a b Extra={\"rack\": 4}\n",
                             ""});
  ASSERT_THAT(client_->Nodes().value(), SizeIs(1)) << "of its partition";
  EXPECT_THAT(client_->NodeExtras(),
              ElementsAre(::testing::Pair("a1", "sharewell1,gpu,h,1,s,m,1,2"),
                          ::testing::Pair("a2", ""), ::testing::Pair("a3", "{\"rack\":")));
}

TEST_F(SlurmClientTest, AnAmbiguousRecordIsReadAsJson) {
  std::string forged = kShownJob;
  forged.replace(forged.find("wrap"), 4, "x JobState=COMPLETED");
  driver_.answers.push_back({0, forged, ""});
  driver_.answers.push_back({0,
                             "{\"jobs\":[{\"job_id\":26,\"user_id\":1000,\"group_id\":1000,"
                             "\"name\":\"x\",\"job_state\":\"PENDING\"}]}",
                             ""});
  const auto jobs = client_->Check({26}, {"26"});
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().phase, SlurmPhase::kPending);
  EXPECT_EQ(driver_.asked.at(1).at(0), "squeue");
}

}  // namespace
}  // namespace sharewell::engine
