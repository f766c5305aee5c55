// Read from what real Slurms of both shapes printed (tests/fixtures/slurm), and from what none
// should.
#include "engine/slurm/read/slurm_read.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "engine/slurm/control/job_note.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Recorded(const std::string& version, const char* name) {
  std::ifstream file("tests/fixtures/slurm/" + version + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const SlurmJob& Job(const std::vector<SlurmJob>& jobs, std::int64_t id) {
  for (const SlurmJob& job : jobs) {
    if (job.id == id) return job;
  }
  ADD_FAILURE() << "no job " << id;
  static const SlurmJob none;
  return none;
}

class SlurmVersion : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Slurm, SlurmVersion, ::testing::Values("22.05", "24.11"));

TEST_P(SlurmVersion, TheQueueTellsPhasePriorityAndPlace) {
  const auto queue = ParseQueue(Recorded(GetParam(), "queue.txt"));
  ASSERT_TRUE(queue) << queue.error().message;
  ASSERT_EQ(queue->size(), 7u);
  const SlurmQueueLine held{9, SlurmPhase::kPending, 0, "JobHeldUser", {}, "dl", 1};
  EXPECT_EQ(queue->front(), held);
  const SlurmQueueLine gang{2, SlurmPhase::kRunning, 4294901758, "", {"n3", "n4"}, "dl", 4};
  EXPECT_THAT(*queue, Contains(gang));
}

TEST_P(SlurmVersion, ARunningJobIsReadFromJson) {
  const auto jobs = ParseJobs(Recorded(GetParam(), "jobs.json"));
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(jobs->size(), 11u);
  const SlurmJob& job = Job(*jobs, 1);
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.user, "ada");
  EXPECT_EQ(job.uid, 1000u);
  EXPECT_EQ(job.phase, SlurmPhase::kRunning);
  EXPECT_EQ(job.phase_word, "RUNNING");
  EXPECT_THAT(job.reason, IsEmpty());
  EXPECT_EQ(job.cpus, 3);
  EXPECT_EQ(job.tasks, 1);
  EXPECT_EQ(job.cpus_a_node, 2);
  EXPECT_TRUE(job.memory_by_cpu);
  EXPECT_EQ(job.nodes_wanted, 1);
  EXPECT_EQ(job.memory, core::Bytes(1500.0 * 1024 * 1024));
  EXPECT_THAT(job.nodes, ElementsAre("n2"));
  EXPECT_THAT(job.required_nodes, ElementsAre("n2"));
  EXPECT_THAT(job.slots, ElementsAre(SlurmSlot{"g1", 60}));
  EXPECT_THAT(job.gres, IsEmpty());
  EXPECT_EQ(job.comment, "sharewell model=resnet50.onnx batch=64");
  EXPECT_EQ(job.script, "/home/ada/runs/train.sh");
  EXPECT_EQ(job.folder, "/home/ada/runs");
  EXPECT_EQ(job.time_limit, core::Seconds(3600));
  EXPECT_TRUE(job.started);
  EXPECT_FALSE(job.ended) << "a plan, not an end";
  EXPECT_FALSE(job.exit_code);
  EXPECT_FALSE(job.array);
  EXPECT_TRUE(job.requeue);
  const auto note = ParseJobNote(job.admin_comment);
  ASSERT_TRUE(note) << "scontrol kept the quotes";
  EXPECT_EQ(note->put->sm_percent, 80);
}

TEST_P(SlurmVersion, ArraysAreOneLineUntilATaskIsSplitOff) {
  const auto jobs = ParseJobs(Recorded(GetParam(), "jobs.json"));
  ASSERT_TRUE(jobs);
  const SlurmJob& whole = Job(*jobs, 3);
  EXPECT_EQ(whole.array, 3);
  EXPECT_FALSE(whole.array_task);
  EXPECT_THAT(*ExpandTasks(whole.array_tasks), ElementsAre(0, 1, 2, 4, 5, 6, 7, 8, 9));
  const SlurmJob& task = Job(*jobs, 11);
  EXPECT_EQ(task.array, 3);
  EXPECT_EQ(task.array_task, 3);
  EXPECT_THAT(task.array_tasks, IsEmpty());
}

TEST_P(SlurmVersion, EndsAreToldWithTheirExitCodes) {
  const auto jobs = ParseJobs(Recorded(GetParam(), "jobs.json"));
  ASSERT_TRUE(jobs);
  EXPECT_EQ(Job(*jobs, 6).phase, SlurmPhase::kCompleted);
  EXPECT_EQ(Job(*jobs, 6).exit_code, 0);
  EXPECT_EQ(*Job(*jobs, 6).ended - *Job(*jobs, 6).started, 1000);
  EXPECT_EQ(Job(*jobs, 7).phase, SlurmPhase::kFailed);
  EXPECT_EQ(Job(*jobs, 7).exit_code, 3);
  EXPECT_THAT(Job(*jobs, 7).script, IsEmpty()) << "sbatch --wrap has no file";
  EXPECT_EQ(Job(*jobs, 8).phase, SlurmPhase::kCancelled);
  EXPECT_FALSE(Job(*jobs, 8).started) << "it was cancelled while it waited";
  EXPECT_TRUE(Job(*jobs, 8).ended);
  EXPECT_EQ(Job(*jobs, 10).phase, SlurmPhase::kCancelled);
  EXPECT_EQ(Job(*jobs, 10).exit_code, 128 + 15);
}

TEST_P(SlurmVersion, WhatWaitsTellsWhatFor) {
  const auto jobs = ParseJobs(Recorded(GetParam(), "jobs.json"));
  ASSERT_TRUE(jobs);
  EXPECT_EQ(Job(*jobs, 4).dependency, "afterok:1(unfulfilled)");
  EXPECT_EQ(Job(*jobs, 5).name, "evil\nname|x=1 JobId=9");
  const SlurmJob& later = Job(*jobs, 9);
  EXPECT_EQ(later.features, "p100");
  EXPECT_EQ(later.reason, "JobHeldUser");
  EXPECT_EQ(later.priority, 0);
  EXPECT_FALSE(later.time_limit);
  EXPECT_FALSE(later.started) << "a plan, not a start";
  EXPECT_EQ(*later.eligible - *later.submitted, 3600 * 1000);
  EXPECT_EQ(Job(*jobs, 2).memory, core::GiB(2));
}

TEST_P(SlurmVersion, TextAndJsonTellTheSame) {
  const auto jobs = ParseJobs(Recorded(GetParam(), "jobs.json"));
  const auto shown = ParseShowJob(Recorded(GetParam(), "show_job.txt"));
  ASSERT_TRUE(jobs);
  ASSERT_TRUE(shown) << shown.error().message;
  ASSERT_EQ(shown->size(), 6u);
  for (SlurmJob text : *shown) {
    SlurmJob json = Job(*jobs, text.id);
    // Text has the file's name where JSON of 22.05 has its pattern.
    json.standard_output = text.standard_output;
    json.held_slots = text.held_slots;  // recorded without `scontrol -d`
    EXPECT_TRUE(text == json) << text.id;
  }
}

TEST_P(SlurmVersion, NodesTellSlotsStateAndWhyTheyAreNotUp) {
  const auto nodes = ParseNodes(Recorded(GetParam(), "nodes.txt"));
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 4u);
  const SlurmNode& drained = (*nodes)[0];
  EXPECT_EQ(drained.name, "n1");
  EXPECT_THAT(drained.states, ElementsAre("IDLE", "DRAIN"));
  EXPECT_FALSE(drained.up);
  EXPECT_THAT(drained.reason, HasSubstr("fan broken, see ticket 7"));
  const SlurmNode& big = (*nodes)[3];
  EXPECT_TRUE(big.up);
  EXPECT_THAT(big.slots, ElementsAre("g0", "g1", "g2", "g3"));
  EXPECT_EQ(big.other_gpus, 0);
  EXPECT_EQ(big.cpus, 16);
  EXPECT_EQ(big.memory, core::Bytes(64000.0 * 1024 * 1024));
  EXPECT_THAT(big.features, ElementsAre("p100", "n4"));
  EXPECT_THAT(big.partitions, ElementsAre("dl"));
}

TEST_P(SlurmVersion, TruncatedJsonIsRefusedAtEveryByte) {
  const std::string whole = Recorded(GetParam(), "jobs.json");
  const std::size_t useful = whole.rfind('}');
  for (std::size_t size = 0; size <= useful; size += 97) {
    const auto jobs = ParseJobs(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(jobs) << size;
    EXPECT_THAT(jobs.error().message, HasSubstr("squeue --json")) << size;
  }
}

TEST(SlurmCommands, NamesAreNotAmongTheFieldsOfEveryCycle) {
  EXPECT_THAT(QueueCommand(""), ElementsAre("squeue", "--noheader", "--all", "--array", "--format",
                                            "%A|%T|%Q|%P|%N|%C|%r"));
  EXPECT_THAT(QueueCommand("gpu"), Contains("gpu"));
  EXPECT_THAT(JobsCommand({3, 17}), Contains("--jobs=3,17"));
  EXPECT_EQ(JobsCommand(std::vector<std::int64_t>(100000, 7)), JobsCommand({}));
}

TEST(SlurmQueue, AReasonMayHoldAnythingButALineBreak) {
  const auto queue = ParseQueue("7|PENDING|0|dl||1|job requeued | in held state\n\n");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->front().reason, "job requeued | in held state");
}

TEST(SlurmQueue, TasksWithoutIdsOfTheirOwnAreOneJob) {
  const auto queue = ParseQueue(
      "9|PENDING|0|gpu||1|JobHeldUser\n12|PENDING|0|gpu||1|JobHeldUser\n"
      "9|PENDING|0|gpu||1|JobHeldUser\n");
  ASSERT_TRUE(queue);
  ASSERT_EQ(queue->size(), 2U);
  EXPECT_EQ(queue->front().id, 9);
}

TEST(SlurmQueue, AStateThatSaysWhoHoldsAJobIsItsReason) {
  EXPECT_EQ(ParseQueue("7|SPECIAL_EXIT|0|dl||1|JobHeldUser")->front().reason, "SPECIAL_EXIT");
  EXPECT_EQ(ParseQueue("7|SPECIAL_EXIT|0|dl||1|None")->front().phase, SlurmPhase::kPending);
}

TEST(SlurmQueue, WhatCannotBeReadIsNamedByItsLine) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {
           Case{"7|PENDING|0|dl||1|None\nslurm_load_jobs error: Unable to contact\n", "line 2"},
           Case{"7|PENDING|0|dl\n", "4 fields"},
           Case{"x|PENDING|0|dl||1|None\n", "'x' is no id"},
           Case{"-7|PENDING|0|dl||1|None\n", "is no id"},
           Case{"99999999999999999999|PENDING|0|dl||1|None\n", "is no id"},
           Case{"7|PENDING|-1|dl||1|None\n", "is no priority"},
           Case{"7|PENDING|1e9|dl||1|None\n", "is no priority"},
           Case{"7|PENDING|0|dl||x|None\n", "is no number of CPUs"},
           Case{"7|PENDING|0|dl||-1|None\n", "is no number of CPUs"},
           Case{"7|RUNNING|1|dl|n[1-99999999]|1|None\n", "more than 65536"},
           Case{"7|PENDING|0|dl||1|None\n7|PENDING|9|dl||1|None\n", "job 7 is there twice"},
       }) {
    const auto queue = ParseQueue(c.text);
    ASSERT_FALSE(queue) << c.text;
    EXPECT_THAT(queue.error().message, HasSubstr(c.says));
  }
}

TEST(SlurmQueue, WordsOfANewerSlurmAreOther) {
  EXPECT_EQ(ParseQueue("7|DREAMING|0|dl||1|None")->front().phase, SlurmPhase::kOther);
  EXPECT_FALSE(IsOver(SlurmPhase::kOther));
}

TEST(SlurmPhases, AJobThatEndsOrBeginsIsSaidToDoSo) {
  const auto phase = [](std::vector<std::string_view> words) { return PhaseOf(words); };
  EXPECT_EQ(phase({"PENDING", "COMPLETING"}), SlurmPhase::kCompleting);
  EXPECT_EQ(phase({"RUNNING", "CONFIGURING"}), SlurmPhase::kConfiguring);
  EXPECT_EQ(phase({"CANCELLED by 1000"}), SlurmPhase::kCancelled);
  EXPECT_EQ(phase({"BOOT_FAIL"}), SlurmPhase::kNodeFailed);
  EXPECT_EQ(phase({"RUNNING", "NEWER"}), SlurmPhase::kRunning);
}

TEST(SlurmJson, ForeignJsonIsRefusedWithWhatItWas) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {
           Case{"", "did not print JSON"},
           Case{"slurm_load_jobs error: Unable to contact slurm controller", "slurm_load_jobs"},
           Case{"[]", "did not print JSON"},
           Case{"{}", "without \"jobs\""},
           Case{R"({"jobs":{}})", "without \"jobs\""},
           Case{R"({"jobs":[3]})", "no object"},
           Case{R"({"jobs":[{}]})", "no \"job_id\""},
           Case{R"({"jobs":[{"job_id":3}]})", "no \"job_state\""},
           Case{R"({"jobs":[{"job_id":3,"job_state":"RUNNING"}]})", "no \"user_id\""},
           Case{R"({"jobs":[{"job_id":-3,"job_state":"RUNNING"}]})", "no \"job_id\""},
           Case{R"({"errors":[{"error":"Socket timed out"}],"jobs":[]})", "Socket timed out"},
       }) {
    const auto jobs = ParseJobs(c.text);
    ASSERT_FALSE(jobs) << c.text;
    EXPECT_THAT(jobs.error().message, HasSubstr(c.says)) << c.text;
  }
}

std::string OneJob(const std::string& more) {
  return R"({"jobs":[{"job_id":3,"job_state":"PENDING","user_id":5)" + more + "}]}";
}

TEST(SlurmJson, AbsurdFiguresAreRefusedByName) {
  struct Case {
    const char* fields;
    const char* says;
  };
  for (const Case& c : {
           Case{R"(,"cpus":-1)", "cpus is '-1'"},
           Case{R"(,"cpus":1e300)", "cpus"},
           Case{R"(,"cpus":18446744073709551615)", "cpus"},
           Case{R"(,"cpus":"four")", "cpus is '\"four\"'"},
           Case{R"(,"cpus":{"set":true})", "cpus"},
           Case{R"(,"nodes":"n[1-999999]")", "more than 65536"},
           Case{R"(,"nodes":7)", "nodes is '7'"},
           Case{R"(,"tres_per_node":"gres:shard:g0:101")", "a GPU has 100 shards"},
           Case{R"(,"tres_per_node":"gres:shard:g0:99999999999999")", "is no count"},
           Case{R"(,"name":{"a":1})", "name is"},
       }) {
    const auto jobs = ParseJobs(OneJob(c.fields));
    ASSERT_FALSE(jobs) << c.fields;
    EXPECT_THAT(jobs.error().message, HasSubstr("job 3")) << c.fields;
    EXPECT_THAT(jobs.error().message, HasSubstr(c.says)) << c.fields;
  }
}

TEST(SlurmJson, ManyJobsOfManyNodesAreRefusedBeforeTheyFillTheMemory) {
  std::string json = R"({"jobs":[)", text;
  for (int i = 1; i <= 500; ++i) {
    json +=
        fmt::format(R"({}{{"job_id":{},"job_state":"RUNNING","user_id":5,"nodes":"n[1-60000]"}})",
                    i > 1 ? "," : "", i);
    text += fmt::format("{}|RUNNING|1|dl|n[1-60000]|1|None\n", i);
  }
  EXPECT_THAT(ParseJobs(json + "]}").error().message, HasSubstr("more than 1000000 nodes"));
  EXPECT_THAT(ParseQueue(text).error().message, HasSubstr("more than 1000000 nodes"));
}

TEST(SlurmJson, WhatIsNotSaidIsAbsent) {
  const auto jobs = ParseJobs(OneJob(R"(,"time_limit":{"set":false,"infinite":true,"number":0},
      "memory_per_node":null,"start_time":0,"tres_per_node":"")"));
  ASSERT_TRUE(jobs) << jobs.error().message;
  SlurmJob bare;
  bare.id = 3;
  bare.uid = 5;
  bare.phase_word = "PENDING";
  EXPECT_EQ(jobs->front(), bare);
}

TEST(SlurmJson, ARequestThatIsNoShardOfOursStaysInSlurmsWords) {
  const auto jobs = ParseJobs(OneJob(
      R"(,"tres_per_node":"gres/shard:g0:50,gres/shard:g1:50,gres/tmp:3","tres_per_job":"gres:gpu:2",
      "tres_per_task":"cpu=2")"));
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_THAT(jobs->front().slots, ElementsAre(SlurmSlot{"g0", 50}, SlurmSlot{"g1", 50}));
  EXPECT_EQ(jobs->front().gres, "gres/tmp:3,per_job=gres:gpu:2");
}

TEST(SlurmJson, NodesAreThoseThatWereAskedFor) {
  // sbatch -n2 -c4, on 22.05: what it may come to, and what it asks for.
  const auto jobs = ParseJobs(
      OneJob(R"(,"node_count":2,"tasks":2,"cpus":8,"tres_req_str":"cpu=8,mem=4000M,node=1")"));
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(jobs->front().nodes_wanted, 1);
  EXPECT_EQ(jobs->front().tasks, 2);
  EXPECT_EQ(ParseJobs(OneJob(R"(,"node_count":2,"tres_req_str":"node=x")"))->front().nodes_wanted,
            2);
}

TEST(SlurmJson, S6WhichGpusAJobHasIsToldHoweverItAsked) {
  const auto jobs = ParseJobs(
      R"j({"jobs":[{"job_id":3,"job_state":"RUNNING","user_id":5,"nodes":"n[1,4]","gres_detail":)j"
      R"j(["gpu:g0:1(IDX:0),gpu:g1:1(IDX:1)","gpu:g0:0(IDX:),shard:g2:40(0/100,40/100)"]}]})j");
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(jobs->front().held_slots, (std::map<std::string, std::vector<std::string>>{
                                          {"n1", {"g0", "g1"}}, {"n4", {"g2"}}}));
}

TEST(SlurmJson, TheSameJobTwiceIsRefused) {
  const auto jobs = ParseJobs(
      R"({"jobs":[{"job_id":3,"job_state":"PENDING","user_id":5},
                  {"job_id":3,"job_state":"RUNNING","user_id":5}]})");
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message, HasSubstr("job 3 is there twice"));
}

TEST(SlurmShowJob, WordsOfAUserDoNotPassForSlurms) {
  const std::string whole = Recorded("22.05", "show_job.txt");
  const std::string line = whole.substr(0, whole.find('\n'));
  ASSERT_TRUE(ParseShowJob(line));
  for (const char* evil :
       {"x UserId=root(0)", "x JobState=COMPLETED", "x\nNodeList=n9", "x ExitCode=0:0"}) {
    std::string text = line;
    text.replace(text.find("JobName=train"), 13, std::string("JobName=") + evil);
    const auto jobs = ParseShowJob(text);
    ASSERT_FALSE(jobs) << evil;
    EXPECT_THAT(jobs.error().message, HasSubstr("is there twice")) << evil;
  }
  // A4: a note of its own, which stood before Slurm's.
  std::string noted = line;
  noted.replace(noted.find("JobName=train"), 13, "JobName=x AdminComment=sharewell1 ask=gpus:9");
  ASSERT_FALSE(ParseShowJob(noted));
  // A line that begins like a record leaves two records, of which neither is whole.
  std::string text = line;
  text.replace(text.find("JobName=train"), 13, "JobName=x\nJobId=9");
  EXPECT_FALSE(ParseShowJob(text));
}

TEST(SlurmShowJob, S6WhichGpusAJobHasIsToldHoweverItAsked) {
  const std::string whole = Recorded("22.05", "show_job.txt");
  std::string text = whole.substr(0, whole.find('\n'));
  text.insert(
      text.find(" MinCPUsNode="),
      " JOB_GRES=gpu:g0:3,gpu:g1:1   Nodes=n[1-2] CPU_IDs=0 Mem=500 GRES=gpu:g0:1(IDX:0),"
      "gpu:g1:0(IDX:)   Nodes=n4 CPU_IDs=8 Mem=500 GRES=gpu:g0:1(IDX:0),shard:g1:40(IDX:1)   "
      "Nodes=n5 CPU_IDs=0 Mem=500 GRES=");
  text.replace(text.find("JobName=train"), 13, "JobName=x JOB_GRES=gpu:1 Nodes=n9 GRES=gpu:g7:1");
  const auto jobs = ParseShowJob(text);
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(jobs->front().held_slots,
            (std::map<std::string, std::vector<std::string>>{
                {"n1", {"g0"}}, {"n2", {"g0"}}, {"n4", {"g0", "g1"}}, {"n5", {}}}));
  text.insert(text.find(" MinCPUsNode="), " Nodes=n[1-99999999] GRES=");
  EXPECT_FALSE(ParseShowJob(text));
}

// They have no StdErr, StdIn and StdOut, at which the note of others ends.
TEST(SlurmShowJob, ANoteOfAJobOfSrunEndsWhereItEnds) {
  const std::string whole = Recorded("22.05", "show_job.txt");
  std::string text = whole.substr(0, whole.find('\n'));
  text.erase(
      std::min({text.find(" AdminComment="), text.find(" Comment="), text.find(" StdErr=")}));
  const std::string note = "\"sharewell1 ask=gpus:1 put=1,n1:g1,shards:50,sm:100\"";
  const auto jobs = ParseShowJob(text + " AdminComment=" + note + "  Power= TresPerNode=gres:gpu");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->front().admin_comment, note);
}

TEST(SlurmShowJob, AnythingElseIsRefused) {
  EXPECT_THAT(ParseShowJob("slurm_load_jobs error: Invalid job id specified").error().message,
              HasSubstr("slurm_load_jobs error"));
  EXPECT_THAT(*ParseShowJob(""), IsEmpty());
  EXPECT_FALSE(ParseShowJob("JobId=7"));
}

TEST(SlurmNodes, OnlyGpusWithAHundredShardsAreSlots) {
  const auto node = [](const std::string& gres, const std::string& state) {
    const auto nodes = ParseNodes("NodeName=a CPUTot=8 Gres=" + gres +
                                  " RealMemory=100 State=" + state + " Partitions=x,y");
    EXPECT_TRUE(nodes) << nodes.error().message;
    return nodes ? nodes->front() : SlurmNode{};
  };
  EXPECT_THAT(node("gpu:g0:1(S:0,1),shard:g0:100(S:0,1)", "IDLE").slots, ElementsAre("g0"));
  EXPECT_EQ(node("gpu:v100:4", "IDLE").other_gpus, 4);
  EXPECT_EQ(node("gpu:v100:2,shard:200", "IDLE").other_gpus, 2);
  EXPECT_EQ(node("gpu:g0:1,gpu:g1:1,shard:g0:100", "IDLE").other_gpus, 1);
  EXPECT_EQ(node("(null)", "IDLE").other_gpus, 0);
  EXPECT_TRUE(node("(null)", "MIXED+PLANNED").up);
  EXPECT_TRUE(node("(null)", "IDLE+RESERVED").up) << "for some";
  EXPECT_TRUE(node("(null)", "IDLE+RESERVED").reserved);
  for (const char* down :
       {"DOWN", "DOWN*", "IDLE+DRAIN", "MIXED+NOT_RESPONDING", "IDLE+POWERED_DOWN", "IDLE~",
        "ALLOCATED+MAINTENANCE", "DOWN+INVALID_REG", "FUTURE", "NEWSTATE"}) {
    EXPECT_FALSE(node("(null)", down).up) << down;
  }
}

TEST(SlurmNodes, AnAdminsReasonCannotPassForAFigure) {
  const auto nodes = ParseNodes(
      "NodeName=a CPUTot=8 RealMemory=100 State=IDLE+DRAIN Reason=see State=IDLE "
      "Gres=gpu:g0:1\nCPUTot=999 [root@2026-11-16T12:31:19]\n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_FALSE(nodes->front().up);
  EXPECT_EQ(nodes->front().cpus, 8);
  EXPECT_EQ(nodes->front().other_gpus, 0);
}

TEST(SlurmNodes, WhatIsNoNodeIsRefused) {
  for (const char* bad :
       {"hello", "NodeName=a", "NodeName=a CPUTot=x RealMemory=1 State=IDLE",
        "NodeName=a CPUTot=1 RealMemory=1 State=IDLE\nNodeName=a CPUTot=1 RealMemory=1 State=IDLE",
        "NodeName=a CPUTot=1 RealMemory=1 State=IDLE Gres=gpu:99999999"}) {
    EXPECT_FALSE(ParseNodes(bad)) << bad;
  }
}

TEST(SlurmAccounts, TellHowAJobEnded) {
  // sacct --noheader --parsable2 --allocations of 22.05.
  const char* text =
      "16|FAILED|3:0|2026-11-16T12:00:00|2026-11-16T12:00:10|n2\n"
      "17|CANCELLED by 1000|0:15|2026-11-16T12:00:00|2026-11-16T12:00:30|n[1-2]\n";
  const auto failed = ParseAccount(text, 16), cancelled = ParseAccount(text, 17);
  ASSERT_TRUE(failed && *failed && cancelled && *cancelled);
  EXPECT_EQ((*failed)->phase, SlurmPhase::kFailed);
  EXPECT_EQ((*failed)->exit_code, 3);
  EXPECT_EQ(*(*failed)->ended - *(*failed)->started, 10'000);
  EXPECT_EQ((*cancelled)->phase, SlurmPhase::kCancelled);
  EXPECT_EQ((*cancelled)->exit_code, 128 + 15);
  EXPECT_THAT((*cancelled)->nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(*ParseAccount(text, 18), std::nullopt);
  EXPECT_EQ(*ParseAccount("", 18), std::nullopt);
  for (const char* bad : {"x|FAILED|3:0|Unknown|Unknown|n2", "18|FAILED|3|x|Unknown|n2",
                          "18|FAILED|a:b|Unknown|Unknown|", "18"}) {
    EXPECT_FALSE(ParseAccount(bad, 18)) << bad;
  }
}

TEST(SlurmPartitions, SayHowLongJobsMayRunThere) {
  const auto read = ParsePartitionLimits(
      "PartitionName=gpu AllowGroups=ALL DefaultTime=NONE MaxTime=1-12:00:00 MinNodes=0\n"
      "PartitionName=long AllowGroups=ALL MaxTime=UNLIMITED\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (std::map<std::string, core::Seconds>{{"gpu", core::Seconds(36 * 3600)}}));
  EXPECT_FALSE(ParsePartitionLimits("PartitionName=gpu MaxTime=soon\n"));
}

TEST(SlurmReservations, AreReadAsSlurmWritesThem) {
  EXPECT_THAT(*ParseReservations("No reservations in the system\n"), IsEmpty());
  const auto read = ParseReservations(
      "ReservationName=theirs StartTime=2026-11-16T16:05:38 EndTime=2026-11-16T17:05:38 "
      "Duration=01:00:00 Nodes=n[1-2] NodeCnt=2 CoreCnt=32 Features=(null) PartitionName=(null) "
      "Flags=IGNORE_JOBS,SPEC_NODES TRES=cpu=32 Users=daemon Groups=(null) Accounts=(null) "
      "Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
      "ReservationName=floating StartTime=2026-11-16T18:05:38 EndTime=Unknown Nodes=(null)\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->at(0).nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(*read->at(0).end - read->at(0).start, 3600 * 1000);
  EXPECT_FALSE(read->at(1).end);
  EXPECT_THAT(read->at(1).nodes, IsEmpty());
  for (const char* bad : {"hello", "ReservationName= StartTime=Unknown",
                          "ReservationName=a StartTime=tomorrow", "ReservationName=a Nodes=n["}) {
    EXPECT_FALSE(ParseReservations(bad)) << bad;
  }
}

TEST(SlurmTimes, AreReadAsSlurmWritesThem) {
  EXPECT_EQ(*ParseSlurmTime("1970-01-02T00:00:01"), 86401000);
  EXPECT_EQ(*ParseSlurmTime("Unknown"), std::nullopt);
  EXPECT_EQ(*ParseTimeLimit("1-02:03:04"), core::Seconds(93784));
  EXPECT_EQ(*ParseTimeLimit("01:00:00"), core::Seconds(3600));
  EXPECT_EQ(*ParseTimeLimit("90"), core::Seconds(5400));
  EXPECT_EQ(*ParseTimeLimit("UNLIMITED"), std::nullopt);
  for (const char* bad : {"2026-13-01T00:00:00", "2026-02-30T00:00:00", "16/11/2026", "-1"}) {
    EXPECT_FALSE(ParseSlurmTime(bad)) << bad;
  }
  for (const char* bad : {"x", "1:2:3:4", "-1", "1-", "9999999999-00:00:00"}) {
    EXPECT_FALSE(ParseTimeLimit(bad)) << bad;
  }
}

TEST(ScontrolValue, KeepsAValueInOneWord) {
  EXPECT_EQ(*ScontrolValue("n2"), "n2");
  EXPECT_EQ(*ScontrolValue("a b"), "\"a b\"");
  EXPECT_EQ(*ScontrolValue("it's"), "\"it's\"");
  EXPECT_EQ(*ScontrolValue("say \"x\""), "'say \"x\"'");
}

TEST(ScontrolValue, RefusesWhatWouldBeginACommandOfItsOwn) {
  for (const char* bad : {"a\nrelease 7", "a\rb", "a\tb", "\"it's\""}) {
    EXPECT_FALSE(ScontrolValue(bad)) << bad;
  }
}

}  // namespace
}  // namespace sharewell::engine
