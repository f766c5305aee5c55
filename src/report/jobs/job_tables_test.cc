#include "report/jobs/job_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Phase;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr core::UnixMillis kNow = 1'800'000'000'000;

JobRecord AJob(std::int64_t number, Phase phase) {
  JobRecord job;
  job.number = number;
  job.phase = phase;
  job.user.name = "ann";
  job.asked.command = {"python3", "train it.py", "--lr=0.1"};
  job.asked.folder = "/home/ann";
  job.submitted = kNow - 600'000;
  return job;
}

JobRecord Running(std::int64_t number, double slowdown) {
  JobRecord job = AJob(number, Phase::kRunning);
  job.started = job.resumed = kNow - 125'000;
  job.attempt = 1;
  job.gpus = {{0, "simulated-0", "H200"}};
  job.cores = 4;
  job.beside = {9};
  job.reason = "shares well with job 9";
  job.steps_per_second = 11.9;
  job.slowdown = slowdown;
  return job;
}

GpuNow Gpu(int index, std::vector<std::int64_t> jobs) {
  return {.gpu = {index, fmt::format("simulated-{}", index), "H200"},
          .memory = core::Bytes(150e9),
          .memory_used = core::Bytes(31.2e9),
          .simulated = true,
          .drained = false,
          .problem = "",
          .jobs = std::move(jobs),
          .busy = 0.97,
          .power = std::nullopt};
}

TEST(JobTables, SayWhereAJobIsInOneLine) {
  EXPECT_EQ(StateInWords(Running(17, 1.1), kNow), "runs on GPU 0 (simulated H200) beside job 9");
  JobRecord waiting = AJob(18, Phase::kWaiting);
  waiting.reason = "no GPU has room";
  waiting.expected_start = kNow + 240'000;
  EXPECT_EQ(StateInWords(waiting, kNow),
            "waits: no GPU has room; should start in about 4 min, as believed now");
  waiting.expected_start = kNow - 1;
  EXPECT_EQ(StateInWords(waiting, kNow), "waits: no GPU has room; should start any moment");
  JobRecord failed = Running(19, 1);
  failed.phase = Phase::kFailed;
  failed.exit_code = 3;
  failed.run_time = core::Seconds(130);
  EXPECT_EQ(StateInWords(failed, kNow), "failed with exit code 3 after 2m 10s");
  EXPECT_EQ(StateInWords(AJob(20, Phase::kCancelled), kNow), "cancelled before it ran");
  JobRecord stopping = Running(21, 1.1);
  stopping.phase = Phase::kStopping;
  stopping.reason = "its time limit (60 s) is over";
  EXPECT_EQ(StateInWords(stopping, kNow), "is stopping: its time limit (60 s) is over");
  EXPECT_THAT(JobsTable({stopping}, kNow, 200),
              AllOf(HasSubstr("stopping"), HasSubstr("its time limit (60 s) is over")));
  JobRecord cpu = AJob(21, Phase::kStarting);
  cpu.asked.gpus = 0;
  cpu.cores = 2;
  EXPECT_EQ(StateInWords(cpu, kNow), "starts on 2 cores, without a GPU");
}

TEST(JobTables, SayWhatIsBelievedAndFromWhere) {
  core::Needs needs;
  EXPECT_EQ(NeedsInWords(needs), "assumed");
  needs.sources = core::Sources::All(core::Source::kPredicted);
  needs.from = "resnet50.onnx at batch 64";
  needs.profile.gpu_memory = core::Bytes(18.2e9);
  needs.gpu_memory_upper = core::Bytes(22.1e9);
  needs.profile.cpu_cores = 3.1;
  EXPECT_EQ(
      NeedsInWords(needs),
      "17.0 GiB of GPU memory (at most 20.6 GiB), 3.1 cores (predicted: resnet50.onnx at batch "
      "64)");
  needs.sources.cores = core::Source::kObserved;
  EXPECT_EQ(NeedsInWords(needs),
            "17.0 GiB of GPU memory (at most 20.6 GiB), 3.1 cores (observed) (predicted: "
            "resnet50.onnx at batch 64)");
}

TEST(JobTables, TheListKeepsToTheWidthAndMarksSimulatedGpus) {
  std::vector<JobRecord> jobs = {Running(17, 1.1), AJob(18, Phase::kWaiting)};
  jobs[1].reason = std::string(300, 'w');
  jobs[1].asked.name = "evil\x1b[2J\nname";
  PutNeighbours(jobs, {Gpu(0, {12, 17}), Gpu(1, {13})});
  jobs[1].reason = "w";
  for (int i = 0; i < 80; ++i) jobs[1].reason += " ww";
  for (const std::size_t width : {140, 120, 80, 40}) {
    const std::string text = JobsTable(jobs, kNow, width);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_EQ(text.find("(simulated)") != std::string::npos, width >= 120);
    EXPECT_EQ(text.find("The GPUs are simulated") != std::string::npos, width < 120);
    EXPECT_THAT(text, Not(HasSubstr("… ww"))) << "a reason is not cut";
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
      EXPECT_LE(DisplayWidth(rest.substr(0, rest.find('\n'))), width) << text;
    }
  }
  const std::string text = JobsTable(jobs, kNow, 140);
  EXPECT_THAT(text, HasSubstr("0 (simulated)  12      "));  // as it is now, not as it was
  EXPECT_THAT(text, HasSubstr("1.10x"));
}

TEST(JobTables, AnArrayIsOneRowAndItsReasonIsSaidOnce) {
  std::vector<JobRecord> jobs = {Running(1, 1.1)};
  for (int i = 2; i <= 9; ++i) {
    jobs.push_back(AJob(i, Phase::kWaiting));
    jobs.back().reason = "no GPU has room";
    jobs.back().expected_start = kNow + i * 60'000;
  }
  for (JobRecord& job : jobs) {
    job.asked.array = fmt::format("id_{}", job.number);
    job.asked.name = fmt::format("lr=0.{}", job.number);
  }
  const std::string text = JobsTable(jobs, kNow, 80);
  EXPECT_THAT(text, testing::ContainsRegex("1-9  lr=\\*  ann   1 running, 8 waiting  0 "));
  EXPECT_THAT(text, testing::ContainsRegex(" 2 min ")) << "of the next of them";
  EXPECT_THAT(text, HasSubstr("\n2-9: no GPU has room\n1: shares well with job 9\n"));
  EXPECT_THAT(JobsTable(jobs, kNow, 80, true),
              testing::ContainsRegex("\n  9  lr=0.9 +ann +waiting"));
}

TEST(JobTables, TopShowsTheJobsThatAreAskedForAndTheirGpus) {
  NodeNow node;
  node.name = "box";
  JobRecord eves = Running(9, 1);
  eves.user.name = "eve";
  const std::vector<GpuNow> gpus = {Gpu(0, {17, 9}), Gpu(1, {})};
  const std::vector<JobRecord> running = {Running(17, 1.25), eves};
  const std::string text = TopPage(node, gpus, running, {}, kNow, 120, {.user = "eve"});
  EXPECT_THAT(text, HasSubstr(" eve "));
  EXPECT_THAT(text, HasSubstr("1.80x")) << "with the neighbours that are not shown";
  EXPECT_THAT(text, Not(HasSubstr(" ann ")));
  EXPECT_THAT(text, Not(HasSubstr("idle")));
}

TEST(JobTables, TopKeepsToTheWidth) {
  NodeNow node;
  node.name = "box";
  JobRecord job = Running(17, 1.25);
  job.asked.name = "a-name-that-has-rather-many-characters";
  job.sm_share = 0.8;
  GpuNow lost = Gpu(1, {});
  lost.problem = "it fell off the bus and does not answer any more";
  for (const std::size_t width : {200, 120, 100, 80}) {
    const std::string text = TopPage(node, {Gpu(0, {17}), lost}, {job}, {}, kNow, width);
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
      EXPECT_LE(DisplayWidth(rest.substr(0, rest.find('\n'))), width) << text;
    }
    EXPECT_THAT(text, HasSubstr("GPU 1: it fell off the bus and does not answer any more"));
  }
}

TEST(JobTables, OnePageHasBelievedBesideMeasured) {
  JobRecord job = Running(17, 1.1);
  job.believed.profile.steps_per_second = 13.1;
  job.asked.gpu_memory = core::Bytes(2e10);
  const std::string text = JobPage(job, kNow, 100);
  EXPECT_THAT(text, HasSubstr("job 17  python3 train it.py"));
  EXPECT_THAT(text, HasSubstr("python3 'train it.py' --lr=0.1"));
  EXPECT_THAT(text, HasSubstr("1 GPU, cores as it needs, 18.6 GiB of GPU memory"));
  EXPECT_THAT(text, testing::ContainsRegex("steps/s +13.1 +11.9"));
  EXPECT_THAT(text, testing::ContainsRegex("slowdown +- +1.10x"));
  EXPECT_THAT(text, Not(HasSubstr("metrics")));
  core::JobMetrics metrics;
  metrics.Hear({"loss", kNow, 0.41234, 1200});
  metrics.Hear({"eval/acc", kNow, 12, {}});
  EXPECT_THAT(JobPage(job, kNow, 100, metrics),
              HasSubstr("  metrics     loss 0.4123, told by the job at step 1200\n"
                        "              eval/acc 12, told by the job\n"));
}

TEST(JobTables, U2_AWrongPredictionIsNoSlowdown) {
  JobRecord job = Running(17, 1.1);
  job.slowdown.reset();
  job.steps_per_second = 19;
  job.gpus[0].model = job.believed.profile.gpu = "H200";
  job.believed.profile.steps_per_second = 25.6;
  job.believed.sources = core::Sources::All(core::Source::kPredicted);
  const std::string page = JobPage(job, kNow, 100);
  EXPECT_THAT(page,
              HasSubstr("pace        26 % slower than predicted; how fast it is alone has not "
                        "been seen\n"));
  EXPECT_THAT(page, Not(HasSubstr("slowdown")));
  EXPECT_THAT(page, Not(HasSubstr("time alone")));
  const std::string top = TopPage({}, {Gpu(0, {17})}, {job}, {}, kNow, 120);
  EXPECT_THAT(top, HasSubstr("job 17: 26 % slower than predicted\n"));
  EXPECT_THAT(top, Not(HasSubstr("71 %")));
  EXPECT_THAT(JobsTable({job}, kNow, 200), Not(HasSubstr("slowdown")));
  job.alone = core::SeenRate{19, core::Seconds(30)};
  job.slowdown = 1;
  job.alone_time = core::Seconds(80);
  EXPECT_THAT(JobPage(job, kNow, 100), Not(HasSubstr("predicted;")));
  EXPECT_THAT(JobPage(job, kNow, 100), testing::ContainsRegex("steps/s alone +- +19.0"));
  EXPECT_THAT(JobPage(job, kNow, 100), testing::ContainsRegex("time alone +- +1m 20s"));
}

TEST(JobTables, F22_SeenIsWhatItUsedNotWhatItWasGiven) {
  JobRecord job = Running(17, 1.1);
  job.attempt = 1;
  job.cores = 8;
  EXPECT_THAT(JobPage(job, kNow, 100), HasSubstr("given       8 cores"));
  EXPECT_THAT(JobPage(job, kNow, 100), testing::Not(HasSubstr("CPU cores")));
  job.seen.cores = 1.5;
  job.seen.sm = 0.5;
  job.seen.gpu_memory = core::Bytes(3e9);
  const std::string text = JobPage(job, kNow, 100);
  EXPECT_THAT(text, testing::ContainsRegex("CPU cores +- +1.50"));
  EXPECT_THAT(text, testing::ContainsRegex("SM activity +- +50.0 %"));
  EXPECT_THAT(text, testing::ContainsRegex("GPU memory +- +2.8 GiB"));
}

TEST(JobTables, APageShowsByHowMuchATimeLimitWasExtended) {
  JobRecord job = Running(17, 1.1);
  job.asked.time_limit = core::Seconds(7200);
  EXPECT_THAT(JobPage(job, kNow, 100), testing::Not(HasSubstr("extended")));
  job.limit_extended = core::Seconds(360);
  EXPECT_THAT(JobPage(job, kNow, 100),
              HasSubstr("limit       2h 00m, extended by 6m 00s because it shared\n"));
}

TEST(JobTables, TopAddsUpWhatSharingGives) {
  const NodeNow node{.name = "box",
                     .policy = "sharewell",
                     .cores = 8,
                     .cores_given = 6,
                     .store_up = false,
                     .store_problem = "disk full"};
  GpuNow drained = Gpu(1, {});
  drained.drained = true;
  JobRecord cpu = AJob(40, Phase::kRunning);
  cpu.cores = 2;
  const std::string text =
      TopPage(node, {Gpu(0, {17, 9}), drained}, {Running(17, 1.25), Running(9, 1), cpu},
              {{"running", 3}}, kNow, 120);
  EXPECT_THAT(text, HasSubstr("box: policy sharewell, 6 of 8 cores given, 3 running"));
  EXPECT_THAT(text, HasSubstr("the store is down: disk full"));
  EXPECT_THAT(text, HasSubstr("1.80x"));  // 80 % and 100 %
  EXPECT_THAT(text, HasSubstr("80.0 %"));
  EXPECT_THAT(text, HasSubstr("drained"));
  EXPECT_THAT(text, HasSubstr("CPU only"));
}

TEST(JobTables, AShareOfTheSmsIsShownWhereSomebodyHasLessThanAll) {
  NodeNow node;
  node.name = "box";
  node.policy = "sharewell";
  JobRecord job = Running(17, 1.1);
  const auto top = [&] {
    return TopPage(node, {Gpu(0, {17, 9}), Gpu(1, {})}, {job, Running(9, 1)}, {}, kNow, 200);
  };
  EXPECT_THAT(JobsTable({job}, kNow, 200), Not(HasSubstr("SMs")));
  EXPECT_THAT(top(), Not(HasSubstr("SMs")));
  job.sm_share = 0.8;
  job.asked.sm_share = 0.8;
  job.asked.latency_sensitive = true;
  EXPECT_THAT(JobsTable({job}, kNow, 200), AllOf(HasSubstr(" SMs "), HasSubstr(" 80 % ")));
  EXPECT_THAT(top(), AllOf(HasSubstr(" SMs\n"), HasSubstr(" 80 %\n"), HasSubstr(" 100 %\n")));
  EXPECT_EQ(StateInWords(job, kNow),
            "runs on GPU 0 (simulated H200) beside job 9, at most 80 % of the SMs");
  const std::string page = JobPage(job, kNow, 200);
  EXPECT_THAT(page, HasSubstr("given       4 cores, at most 80 % of the SMs\n"));
  EXPECT_THAT(page, HasSubstr("at most 80 % of the SMs, its kernels before those of its "
                              "neighbours\n"));
}

TEST(JobTables, AGuestIsToldWithWhatItIsKeptToAndUntilWhen) {
  NodeNow node;
  node.name = "box";
  node.policy = "sharewell";
  JobRecord job = Running(17, 1.1);
  job.sm_share = 0.8;
  job.guest_memory = core::GiB(31);
  job.believed.sources = core::SourcesByOne(core::Source::kAssumed);
  EXPECT_EQ(StateInWords(job, kNow),
            "runs on GPU 0 (simulated H200) beside job 9 as a guest, at most 80 % of the SMs");
  EXPECT_THAT(JobPage(job, kNow, 200),
              HasSubstr("guest       at most 80 % of the SMs and 31.0 GiB of GPU memory, after its "
                        "neighbours, until it has told its step\n"));
  EXPECT_THAT(TopPage(node, {Gpu(0, {17, 9})}, {job, Running(9, 1)}, {}, kNow, 200),
              AllOf(HasSubstr(" guest 80 %\n"), HasSubstr(" 100 %\n")));
  EXPECT_THAT(JobsTable({job}, kNow, 200), HasSubstr(" guest 80 % "));
  job.believed.sources = core::SourcesByOne(core::Source::kPredicted);
  EXPECT_THAT(JobPage(job, kNow, 200),
              HasSubstr("guest       it started as a guest, and keeps at most 80 % of the SMs and "
                        "31.0 GiB of GPU memory until its next start\n"));
  job.phase = Phase::kFinished;
  EXPECT_THAT(JobPage(job, kNow, 200), Not(HasSubstr("guest")));
}

TEST(JobTables, TopShowsProcessesThatAreNoJobs) {
  GpuNow busy = Gpu(0, {}), shared = Gpu(1, {17});
  busy.strangers = {{4242, "ann", core::Bytes(12.3e9), true}};
  shared.strangers = {{7, "bob", core::Bytes(1e9), false}, {8, "bob", core::Bytes(1e9), false}};
  NodeNow node;
  node.name = "box";
  node.policy = "sharewell";
  const std::string text =
      TopPage(node, {busy, shared}, {Running(17, 1.25)}, {{"running", 1}}, kNow, 120);
  EXPECT_THAT(text, HasSubstr("not ours"));
  EXPECT_THAT(text, HasSubstr("GPU 0: other processes: 11.5 GiB, pid 4242 of ann, busy\n"));
  EXPECT_THAT(text, HasSubstr("GPU 1: other processes: 1.9 GiB, pid 7 of bob, pid 8 of bob\n"));
}

TEST(JobTables, AGpuOfAClusterIsNamedByNodeAndSlot) {
  EXPECT_EQ(GpuName({3, "GPU-1234", "H200"}), "3");
  EXPECT_EQ(GpuName({3, "n2/g1", "V100"}), "n2/g1");
  EXPECT_EQ(GpusInWords({{0, "n1/g0", "V100"}, {1, "n2/g0", "V100"}}), "GPUs n1/g0, n2/g0 (V100)");
}

TEST(JobTables, F26_WhoseGpuIsNotHereIsListedToo) {
  JobRecord elsewhere = Running(9, 1);
  elsewhere.gpus = {{7, "GPU-7", "H200"}};
  NodeNow node;
  node.name = "box";
  node.policy = "sharewell";
  const std::string text =
      TopPage(node, {Gpu(0, {17})}, {Running(17, 1.25), elsewhere}, {{"running", 2}}, kNow, 120);
  EXPECT_THAT(text, HasSubstr("2 running"));
  EXPECT_THAT(text, testing::ContainsRegex("a GPU not here now .* 9 "));
}

TEST(JobTables, TextIsCutBetweenCharacters) {
  EXPECT_EQ(CutTo("────", 3), "──…");
  EXPECT_EQ(CutTo("abcd", 3), "ab…");
  EXPECT_EQ(CutTo("ab", 3), "ab");
  EXPECT_EQ(CutTo("abcd", 0), "");
  // In one go: letter by letter from its end, a name of a megabyte took minutes.
  EXPECT_EQ(CutTo(std::string(1 << 20, 'x'), 3), "xx…");
}

TEST(JobWords, APausedJobSaysWhereItsMemoryIs) {
  JobRecord job = AJob(17, Phase::kHeld);
  job.paused = true;
  job.reason = "paused by ann";
  job.seen.gpu_memory = core::Bytes(4.1e9);
  const std::string held = StateInWords(job, kNow);
  EXPECT_THAT(held, HasSubstr("paused by ann: its "));
  EXPECT_THAT(held, HasSubstr("of GPU memory lie in host memory"));
  EXPECT_THAT(held, HasSubstr("sharewell resume 17"));
  job.phase = Phase::kWaiting;
  job.reason = "needs an idle GPU";
  EXPECT_THAT(StateInWords(job, kNow), HasSubstr("it waits: needs an idle GPU"));
  job.phase = Phase::kStopping;
  EXPECT_THAT(StateInWords(job, kNow), HasSubstr("is being paused"));
}

}  // namespace
}  // namespace sharewell::report
