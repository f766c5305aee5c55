// Real processes through the runner: codes, limits, logs, and being killed at any moment.
#include "engine/local/linux_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"
#include "platform/process/cgroup_home.h"
#include "platform/process/cpu_set.h"
#include "platform/process/descendants.h"
#include "platform/process/test_mps_control.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using engine::LogStream;
using testing::ElementsAre;
using testing::HasSubstr;

// What became of one run.
struct Told {
  bool started = false;
  int endings = 0;
  std::optional<RunEnd> end;
  double steps = 0;
  std::vector<core::ToldMetric> metrics;
  int ends = 0;
  std::string notes;
};

class LinuxRunnerTest : public testing::Test {
 protected:
  LinuxRunnerTest() { Open(); }

  void Open(std::optional<SharingOptions> sharing = {}, Seconds fall_patience = Seconds(5)) {
    runner_.reset();
    LinuxRunnerOptions options;
    options.sharing = std::move(sharing);
    options.fall_patience = fall_patience;
    options.kernel_log = folder_.Path("kmsg");
    options.state = folder_.Path("state");
    options.grace = Seconds(5);
    options.log_limit = core::Bytes(16384);
    options.most_processes = 200;
    options.cpus = CpuRoom::LayoutHere({});
    auto opened = LinuxRunner::Open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    runner_ = std::move(*opened);
  }
  RunRequest Request(std::vector<std::string> command, std::int64_t job = 0) {
    RunRequest request;
    request.id = {job != 0 ? job : ++jobs_, 1};
    request.user = {.name = "me", .uid = ::geteuid(), .gid = ::getegid(), .admin = false};
    request.asked.command = std::move(command);
    request.asked.folder = folder_.path();
    request.asked.environment = {{"PATH", "/usr/bin:/bin"}};
    request.asked.gpus = 0;
    return request;
  }
  RunId Start(std::vector<std::string> command) {
    const RunRequest request = Request(std::move(command));
    runner_->Start(request);
    return request.id;
  }
  RunId Shell(const std::string& script) { return Start({"sh", "-c", script}); }
  // Until `done`, or half a minute.
  template <class F>
  void Until(F done) {
    const Seconds end = runner_->Now() + Seconds(30);
    while (!done() && runner_->Now() < end) {
      std::vector<RunEvent> events;
      runner_->Wait(runner_->Now() + Seconds(0.1), events);
      for (const RunEvent& event : events) {
        if (const auto* start = std::get_if<RunStarted>(&event)) told_[start->id].started = true;
        if (const auto* late = std::get_if<TimeLimitReached>(&event)) ++told_[late->id].endings;
        if (const auto* step = std::get_if<RunProgress>(&event))
          told_[step->id].steps = step->steps;
        if (const auto* told = std::get_if<RunMetrics>(&event))
          told_[told->id].metrics = told->metrics;
        if (const auto* note = std::get_if<RunNote>(&event)) told_[note->id].notes += note->message;
        if (const auto* ended = std::get_if<RunEnded>(&event)) {
          told_[ended->id].end = ended->end;
          ++told_[ended->id].ends;
        }
      }
    }
    EXPECT_TRUE(done());
  }
  RunEnd EndOf(RunId id) {
    Until([&] { return told_[id].end.has_value(); });
    return told_[id].end.value_or(RunEnd{.exit_code = -1, .message = {}});
  }
  void UntilStarted(RunId id) {
    Until([&] { return told_[id].started; });
  }
  std::string Logs(RunId id, unsigned uid = ::geteuid()) const {
    return engine::LogFolder(folder_.Path("state"), "", uid, id.job);
  }
  std::string Log(RunId id, LogStream stream = LogStream::kOut) {
    return engine::ReadLog(Logs(id), stream, 0, 1 << 20).bytes;
  }
  static bool Runs(int pid) {
    platform::ProcessStat stat;
    return platform::ReadProcessStat(pid, stat) && stat.state != 'Z';
  }
  // Numbers in a file that a job writes, once it has written `count`.
  std::vector<int> Pids(const std::string& file, std::size_t count) {
    std::vector<int> pids;
    Until([&] {
      pids.clear();
      std::ifstream in(folder_.Path(file));
      for (int pid = 0; in >> pid;) pids.push_back(pid);
      return pids.size() >= count;
    });
    return pids;
  }

  platform::TestFolder folder_;
  std::unique_ptr<LinuxRunner> runner_;
  std::map<RunId, Told> told_;
  std::int64_t jobs_ = 0;
};

TEST_F(LinuxRunnerTest, EachEndIsToldAsItWas) {
  const RunId good = Start({"true"}), bad = Shell("exit 7"), shot = Shell("kill -9 $$");
  const RunId missing = Start({"no-such-program"});
  const RunId folder = Start({"/"});
  auto request = Request({"true"});
  request.asked.folder = folder_.Path("nowhere");
  runner_->Start(request);
  folder_.Write("script", "#!/no/such/interpreter\n");
  ::chmod(folder_.Path("script").c_str(), 0755);
  const RunId orphan = Start({"./script"});
  auto zero = Request({"echo", std::string("a\0b", 3)});
  runner_->Start(zero);

  EXPECT_EQ(EndOf(good).exit_code, 0);
  EXPECT_EQ(EndOf(bad).exit_code, 7);
  EXPECT_EQ(EndOf(shot).exit_code, 137);
  EXPECT_EQ(EndOf(shot).signal, 9);
  EXPECT_TRUE(told_[good].started && told_[bad].started && told_[shot].started);
  EXPECT_EQ(EndOf(missing).exit_code, 127);
  EXPECT_THAT(EndOf(missing).message,
              testing::AllOf(HasSubstr("'no-such-program'"), HasSubstr("not found in")));
  EXPECT_FALSE(told_[missing].started);
  EXPECT_EQ(EndOf(folder).exit_code, 126);
  EXPECT_THAT(EndOf(folder).message, HasSubstr("a folder"));
  EXPECT_EQ(EndOf(request.id).exit_code, 127);
  EXPECT_THAT(EndOf(request.id).message, HasSubstr("cannot start in folder"));
  EXPECT_THAT(EndOf(orphan).message, HasSubstr("interpreter"));
  EXPECT_THAT(EndOf(zero.id).message, HasSubstr("zero byte"));
  for (const auto& [id, told] : told_) {
    EXPECT_EQ(told.ends, 1) << id.job;
    EXPECT_FALSE(told.end->lost) << id.job;
    runner_->Forget(id);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path("state/jobs")) ||
              std::distance(std::filesystem::directory_iterator(folder_.Path("state/jobs")), {}) ==
                  1);
}

TEST_F(LinuxRunnerTest, WordsAndEnvironmentArriveUnchanged) {
  const std::string bytes = "\xff\xfe a\n'$(x)\"";
  auto request =
      Request({"sh", "-c", "printf %s \"$1\" > word; env -0 > environment", "sh", bytes});
  request.asked.environment.insert(request.asked.environment.end(),
                                   {{"A", "1"}, {"SHAREWELL_JOB", "forged"}});
  request.cores = 2.5;
  request.gpus = {{.index = 1, .uuid = "GPU-abc", .model = "H200"}};
  runner_->Start(request);
  auto simulated =
      Request({"sh", "-c", "echo \"[$CUDA_VISIBLE_DEVICES]$SHAREWELL_SIMULATED_GPUS\""});
  simulated.gpus = {{.index = 0, .uuid = "simulated-0", .model = "H200"}};
  runner_->Start(simulated);
  EXPECT_EQ(EndOf(request.id).exit_code, 0);
  EXPECT_EQ(folder_.Read(folder_.Path("word")), bytes);
  const std::string environment = '\0' + folder_.Read(folder_.Path("environment"));
  const auto has = [&](const std::string& entry) {
    return environment.find('\0' + entry + '\0') != std::string::npos;
  };
  EXPECT_TRUE(has("A=1") && has("SHAREWELL_JOB=1") && has("SHAREWELL_ATTEMPT=1"));
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=GPU-abc") && has("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_TRUE(has("OMP_NUM_THREADS=2"));
  EXPECT_FALSE(has("SHAREWELL_JOB=forged"));
  EXPECT_EQ(environment.find("GTEST"), std::string::npos);
  EXPECT_EQ(EndOf(simulated.id).exit_code, 0);
  EXPECT_EQ(Log(simulated.id), "[]1\n");

  std::vector<std::string> many{"sh", "-c", "echo $#", "sh"};
  for (int i = 0; i < 10'000; ++i) many.emplace_back(100, 'x');
  const RunId large = Start(many);
  EXPECT_EQ(EndOf(large).exit_code, 0);
  EXPECT_EQ(Log(large), "10000\n");
  const RunId huge = Start({"echo", std::string(1 << 20, 'x')});
  EXPECT_EQ(EndOf(huge).exit_code, 126);
  EXPECT_THAT(EndOf(huge).message, HasSubstr("too long"));
}

// F12: files that a job makes are as open as those that its user makes.
TEST_F(LinuxRunnerTest, F12_TheUmaskIsTheOneThatWasAskedFor) {
  auto closed = Request({"sh", "-c", "umask"}), open = closed, usual = closed;
  closed.asked.umask = 0077;
  open.id.job = ++jobs_;
  open.asked.umask = 0;
  usual.id.job = ++jobs_;
  for (const auto& request : {closed, open, usual}) runner_->Start(request);
  EXPECT_EQ(EndOf(closed.id).exit_code, 0);
  EXPECT_EQ(Log(closed.id), "0077\n");
  EXPECT_EQ(EndOf(open.id).exit_code, 0);
  EXPECT_EQ(Log(open.id), "0000\n");
  EXPECT_EQ(EndOf(usual.id).exit_code, 0);
  EXPECT_EQ(Log(usual.id), "0022\n");
}

// What is asked to end may end in order; what does not, and what left the tree, is killed.
TEST_F(LinuxRunnerTest, NothingOfARunOutlivesIt) {
  const RunId polite =
      Shell("trap 'echo saved; exit 3' TERM; echo $$ > polite; while :; do sleep 0.05; done");
  const RunId stubborn = Shell(
      "trap '' TERM; (setsid sh -c 'echo $$ >> stubborn; sleep 1000' &) ; echo $$ >> stubborn;"
      "while :; do sleep 0.05; done");
  const RunId leaves = Shell("setsid sleep 1000 & echo $! > leaves; exit 0");
  const RunId endless = Shell("trap '' TERM; echo $$ > endless; while :; do sleep 0.05; done");
  const auto one = Pids("polite", 1), two = Pids("stubborn", 2), three = Pids("leaves", 1);
  Pids("endless", 1);
  UntilStarted(polite);
  EXPECT_EQ(runner_->PidOf(polite), one.front());
  runner_->Stop(polite, {Seconds(10)});
  runner_->Stop(stubborn, {Seconds(0.3)});
  runner_->Stop(endless, {Seconds(0)});
  EXPECT_EQ(EndOf(polite).exit_code, 3);
  EXPECT_EQ(Log(polite), "saved\n");
  EXPECT_EQ(EndOf(stubborn).exit_code, 137);
  EXPECT_EQ(EndOf(leaves).exit_code, 0);
  EXPECT_EQ(EndOf(endless).signal, 9);
  for (const int pid : {one[0], two[0], two[1], three[0]}) EXPECT_FALSE(Runs(pid)) << pid;

  auto timed = Request({"sleep", "1000"});
  timed.asked.time_limit = Seconds(0.2);
  runner_->Start(timed);
  EXPECT_TRUE(EndOf(timed.id).timed_out);
  EXPECT_EQ(EndOf(timed.id).exit_code, 143);
  // Before it has begun.
  const RunId early = Start({"sleep", "1000"});
  runner_->Stop(early, {Seconds(5)});
  EXPECT_EQ(EndOf(early).exit_code, 143);
}

// The command is gone when it is told to end; what it left behind is not yet.
TEST_F(LinuxRunnerTest, F11_WhatEndedByItselfWasNotStopped) {
  const RunId id = Shell(
      "(trap '' TERM; echo 1 > left; while :; do sleep 0.05; done) &"
      "while ! test -s left; do sleep 0.01; done; echo $$ > command; sleep 0.3; exit 0");
  const int command = Pids("command", 1).front();
  Until([&] { return !Runs(command); });
  runner_->Stop(id, {Seconds(0)});
  EXPECT_EQ(EndOf(id).exit_code, 0);
  EXPECT_FALSE(EndOf(id).stopped);
}

TEST_F(LinuxRunnerTest, WhoseTimeIsOverIsToldToBeEnding) {
  auto timed = Request({"sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"});
  timed.asked.time_limit = Seconds(0.3);
  runner_->Start(timed);
  Until([&] { return told_[timed.id].endings == 1; });
  EXPECT_FALSE(told_[timed.id].end);
  Open();  // another server is told the same
  ASSERT_EQ(runner_->Recover().size(), 1U);
  Until([&] { return told_[timed.id].endings == 2; });
  runner_->Stop(timed.id, {Seconds(0)});
  EXPECT_TRUE(EndOf(timed.id).timed_out);
}

TEST_F(LinuxRunnerTest, ATimeLimitCanBeExtendedWhileTheJobRunsAndNeverShortened) {
  auto timed = Request({"sh", "-c", "sleep 2.5; exit 3"});
  timed.asked.time_limit = Seconds(1.5);
  runner_->Start(timed);
  UntilStarted(timed.id);
  runner_->Change(timed.id, {.time_limit = Seconds(20)});
  runner_->Change(timed.id, {.time_limit = Seconds(0.1)});
  Open();  // by another server too
  ASSERT_EQ(runner_->Recover().size(), 1U);
  runner_->Change(timed.id, {.time_limit = Seconds(2)});
  EXPECT_EQ(EndOf(timed.id).exit_code, 3) << "it came to its own end";
  EXPECT_FALSE(EndOf(timed.id).timed_out);

  auto other = Request({"sleep", "1000"});
  other.asked.time_limit = Seconds(0.5);
  runner_->Start(other);
  UntilStarted(other.id);
  runner_->Change(other.id, {.time_limit = Seconds(1.5)});
  EXPECT_TRUE(EndOf(other.id).timed_out);
  EXPECT_GE(EndOf(other.id).ran.value_or(Seconds(0)), Seconds(1.4));
}

TEST_F(LinuxRunnerTest, LogsAreAsOldAsTheEndOfTheirRun) {
  const RunId id = Shell("echo words; sleep 0.3");
  UntilStarted(id);
  const std::string logs = Logs(id);
  const timespec old[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, logs.c_str(), old, 0), 0);
  EXPECT_EQ(EndOf(id).exit_code, 0);
  struct stat folder {};
  ASSERT_EQ(::stat(logs.c_str(), &folder), 0);
  EXPECT_GT(folder.st_mtim.tv_sec, 1000);
}

TEST_F(LinuxRunnerTest, LogsAreBoundedAndKeepTheirPlaces) {
  const RunId id = Shell("echo first; seq 1 20000; echo last; echo words >&2");
  ASSERT_EQ(EndOf(id).exit_code, 0);
  const std::string logs = Logs(id);
  const auto parts = engine::LogFiles(logs, LogStream::kOut);
  ASSERT_EQ(parts.size(), 2U);
  std::uintmax_t kept = 0;
  for (const auto& part : parts) kept += std::filesystem::file_size(part.second);
  EXPECT_LE(kept, 16384U);
  const auto all = engine::ReadLog(logs, LogStream::kOut, 0, 1 << 20);
  EXPECT_GT(all.begin, 0);  // the beginning is gone
  EXPECT_EQ(all.begin, parts.front().first);
  EXPECT_EQ(all.next, 108'894 + 6 + 5);  // seq's bytes, and ours
  EXPECT_EQ(all.end, all.next);
  const auto last = engine::ReadLog(logs, LogStream::kOut, -5, 100);
  EXPECT_EQ(last.bytes, "last\n");
  const auto piece = engine::ReadLog(logs, LogStream::kOut, all.end - 11, 5);
  EXPECT_EQ(piece.bytes, "20000");
  EXPECT_EQ(piece.next, all.end - 6);
  EXPECT_EQ(Log(id, LogStream::kErr), "words\n");
  runner_->Forget(id);
  EXPECT_EQ(Log(id, LogStream::kErr), "words\n");  // logs stay
  // The next attempt goes on in the same log.
  auto again = Request({"sh", "-c", "echo more >&2"}, id.job);
  again.id.attempt = 2;
  runner_->Start(again);
  EXPECT_EQ(EndOf(again.id).exit_code, 0);
  EXPECT_EQ(Log(id, LogStream::kErr), "words\nmore\n");
  engine::RemoveLogs(logs);
  EXPECT_EQ(Log(id, LogStream::kErr), "");
}

// Three that write at once share what their user may have, and each keeps what it wrote last.
TEST_F(LinuxRunnerTest, F8_LogsOfAUserAreBoundedWhileJobsWrite) {
  constexpr double kMost = 4 << 20;
  runner_.reset();
  LinuxRunnerOptions options;
  options.state = folder_.Path("state");
  options.logs.of_user = [](std::uint32_t) { return core::Bytes(kMost); };
  auto opened = LinuxRunner::Open(options);
  ASSERT_TRUE(opened);
  runner_ = std::move(*opened);
  std::vector<RunId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Shell("seq 1 600000; echo last >&2; echo last"));
  double kept = 0;
  for (const RunId id : ids) {
    EXPECT_EQ(EndOf(id).exit_code, 0);
    for (const auto& [begin, path] : engine::LogFiles(Logs(id), LogStream::kOut)) {
      kept += static_cast<double>(std::filesystem::file_size(path));
    }
    EXPECT_EQ(Log(id, LogStream::kErr), "last\n");
    EXPECT_EQ(engine::ReadLog(Logs(id), LogStream::kOut, -5, 5).bytes, "last\n");
  }
  EXPECT_LE(kept, kMost);
  EXPECT_GT(kept, kMost / 8);
}

TEST_F(LinuxRunnerTest, StepsAndGpuMemoryAreSeen) {
  const RunId steps = Shell("for i in 1 2 3; do echo step $i >> $SHAREWELL_PROGRESS; done");
  const RunId resumed = Shell("echo 500 >> $SHAREWELL_PROGRESS; echo x >> $SHAREWELL_PROGRESS");
  const RunId flood = Shell("head -c 2000000 /dev/zero > $SHAREWELL_PROGRESS");
  auto full =
      Request({"sh", "-c", "echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1"});
  full.gpus = {{.index = 0, .uuid = "simulated-0", .model = "H200"}};
  runner_->Start(full);
  EXPECT_EQ(EndOf(steps).exit_code, 0);
  EXPECT_EQ(told_[steps].steps, 3);
  EXPECT_EQ(EndOf(resumed).exit_code, 0);
  EXPECT_EQ(told_[resumed].steps, 501);
  EXPECT_EQ(EndOf(flood).exit_code, 0);
  EXPECT_EQ(told_[flood].steps, 0);
  EXPECT_TRUE(EndOf(full.id).out_of_memory);
  EXPECT_FALSE(EndOf(steps).out_of_memory);
}

// $SHAREWELL_PROGRESS is a pipe: whoever writes to it never waits for a reader, is never ended by
// one that went, and the count is there while the job runs.
TEST_F(LinuxRunnerTest, F7_StepsGoThroughAPipeThatTakesNoDisk) {
  const RunId id = Shell(
      "test -p $SHAREWELL_PROGRESS && echo pipe; echo 41 > $SHAREWELL_PROGRESS;"
      "echo step >> $SHAREWELL_PROGRESS; fallocate -l 1M $SHAREWELL_PROGRESS 2>/dev/null || echo "
      "none;"
      "while ! [ -e go ]; do sleep 0.02; done; printf 50 >> $SHAREWELL_PROGRESS;"
      "printf '0\\n' >> $SHAREWELL_PROGRESS");
  Until([&] { return told_[id].steps == 42; });
  EXPECT_EQ(std::filesystem::file_size(folder_.Path("state/jobs/1.1/steps")), 40U);
  folder_.Write("go", "");
  EXPECT_EQ(EndOf(id).exit_code, 0);
  EXPECT_EQ(told_[id].steps, 500);
  EXPECT_EQ(Log(id), "pipe\nnone\n");
}

TEST_F(LinuxRunnerTest, WhatAJobTellsOfItselfIsSeenWhateverElseItWrites) {
  const RunId id = Shell(
      "test -p $SHAREWELL_METRICS && echo pipe; head -c 300000 /dev/zero > $SHAREWELL_METRICS;"
      "printf '\\n\\377 1\\nloss 2.5 1\\nb nan\\nb 1\\nc 1\\nd 1\\ne 1\\nloss 0.412 1200\\n' >> "
      "$SHAREWELL_METRICS;"
      "while ! [ -e go ]; do sleep 0.02; done; echo 'c 7' >> $SHAREWELL_METRICS");
  Until([&] { return told_[id].metrics.size() == 4; });
  EXPECT_EQ(std::filesystem::file_size(folder_.Path("state/jobs/1.1/metrics_told")), 768U);
  folder_.Write("go", "");
  EXPECT_EQ(EndOf(id).exit_code, 0);
  const auto& metrics = told_[id].metrics;
  EXPECT_EQ(metrics[0].name, "loss");
  EXPECT_EQ(metrics[0].value, 0.412);
  EXPECT_EQ(metrics[0].step, 1200);
  EXPECT_EQ(metrics[2].value, 7) << "of its last moment too";
  EXPECT_EQ(Log(id), "pipe\n");
}

TEST_F(LinuxRunnerTest, ARunOfAnEarlierVersionIsToldToHaveNoSteps) {
  const RunId id = Shell("echo 1 > $SHAREWELL_PROGRESS; while ! [ -e go ]; do sleep 0.02; done");
  UntilStarted(id);
  std::filesystem::remove(folder_.Path("state/jobs/1.1/progress"));
  folder_.Write("state/jobs/1.1/progress", "9\n");
  Open();
  runner_->Recover();
  Until([&] { return !told_[id].notes.empty(); });
  EXPECT_THAT(told_[id].notes, HasSubstr("earlier version"));
  folder_.Write("go", "");
  EXPECT_EQ(EndOf(id).exit_code, 0);
}

// A server goes and another comes: what runs is found, with all that was asked of it.
TEST_F(LinuxRunnerTest, AnotherServerFindsEveryRun) {
  auto request = Request({"sh", "-c", "echo 7 >> $SHAREWELL_PROGRESS; sleep 0.3; exit 5"});
  request.asked.memory = core::GiB(1);
  request.asked.after = {3, 4};
  request.asked.needs = core::Needs{.sources = core::Sources::All(core::Source::kObserved),
                                    .from = "job 3",
                                    .profile = {},
                                    .gpu_memory_upper = core::Bytes(5),
                                    .cores_upper = {},
                                    .duration = Seconds(1.25)};
  request.asked.needs->profile.cpu_curve = {{1, 0.5}, {2, 1}};
  request.gpus = {{.index = 0, .uuid = "simulated-0", .model = "H200"},
                  {.index = 1, .uuid = "simulated-1", .model = "H200"}};
  request.asked.umask = 0;
  request.thread_share = 0.1;
  request.cores = 1;
  runner_->Start(request);
  const RunId quick = Start({"false"});
  const RunId doomed = Shell("sleep 1000 & echo $! $$ > doomed; wait");
  const auto pids = Pids("doomed", 2);
  UntilStarted(request.id);
  {
    LinuxRunnerOptions second;
    second.state = folder_.Path("state");
    const auto refused = LinuxRunner::Open(second);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("another server"));
  }
  // Decided, never begun: the server was killed between the two.
  std::filesystem::create_directory(folder_.Path("state/jobs/99.1"));
  const auto supervisor = engine::SupervisorOf(folder_.Path("state/jobs/3.1"));
  ASSERT_TRUE(supervisor);
  EndOf(quick);
  told_.clear();
  Open();
  ::kill(*supervisor, SIGKILL);
  std::vector<RunRequest> found = runner_->Recover();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].asked, request.asked);
  EXPECT_EQ(found[0].gpus, request.gpus);
  EXPECT_EQ(found[0].user, request.user);
  EXPECT_EQ(found[0].thread_share, request.thread_share);
  EXPECT_EQ(EndOf(request.id).exit_code, 5);
  EXPECT_TRUE(told_[request.id].started);
  EXPECT_EQ(told_[request.id].steps, 7);
  EXPECT_EQ(EndOf(quick).exit_code, 1);
  EXPECT_TRUE(EndOf(doomed).lost);
  Until([&] { return !Runs(pids[0]) && !Runs(pids[1]); });
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("state/jobs/99.1")));
}

// As root it runs as whoever asked, who can reach his progress file and nothing else of ours.
TEST_F(LinuxRunnerTest, RunsAsItsUser) {
  auto request = Request({"sh", "-c",
                          "id -u; id -g; echo $HOME; echo 3 > $SHAREWELL_PROGRESS;"
                          "cat ${SHAREWELL_PROGRESS%progress}spec || ls ${SHAREWELL_PROGRESS%/*}"});
  request.asked.folder = "/";
  request.user = {.name = "nobody", .uid = 65534, .gid = 65534, .admin = false};
  ::chmod(folder_.path().c_str(), 0711);
  ::chmod(folder_.Path("state").c_str(), 0711);
  runner_->Start(request);
  const RunEnd end = EndOf(request.id);
  if (::geteuid() == 0) {
    EXPECT_NE(end.exit_code, 0);
    const std::string said =
        engine::ReadLog(Logs(request.id, 65534), LogStream::kOut, 0, 1 << 20).bytes;
    EXPECT_THAT(said, testing::StartsWith("65534\n65534\n/"));
    EXPECT_EQ(said.find("sharewell-job"), std::string::npos);
  } else if (::geteuid() != 65534) {
    EXPECT_THAT(told_[request.id].notes, HasSubstr("only root can change that"));
  }
  EXPECT_EQ(told_[request.id].steps, 3);
}

TEST_F(LinuxRunnerTest, AGpuThatIsLostAndComesBackIsToldOnceEach) {
  std::map<std::string, std::string> lost{{"GPU-a", "fell off the bus"}};
  runner_.reset();
  LinuxRunnerOptions options;
  options.state = folder_.Path("state");
  options.lost_gpus = [&] { return lost; };
  auto opened = LinuxRunner::Open(options);
  ASSERT_TRUE(opened);
  std::vector<RunEvent> events;
  (*opened)->Recover();
  (*opened)->Recover();  // looks again
  lost.clear();
  (*opened)->Recover();
  (*opened)->Wait((*opened)->Now(), events);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<GpuLost>(events[0]).why, "fell off the bus");
  EXPECT_EQ(std::get<GpuBack>(events[1]).gpu, "GPU-a");
}

// F12: a daemon that takes its time delays the runs that need it, and nothing else.
TEST_F(LinuxRunnerTest, F12_OthersDoNotWaitForTheDaemonOfAGpu) {
  runner_.reset();
  LinuxRunnerOptions options;
  options.state = folder_.Path("state");
  options.cpus = CpuRoom::LayoutHere({});
  options.sharing = SharingOptions{.folder = folder_.Path("m")};
  options.sharing->program = folder_.Write("control",
                                           "#!/bin/sh\n[ \"$1\" = -d ] || exit 1\n"
                                           "while ! [ -e \"$0.go\" ]; do sleep 0.02; done\n"
                                           "echo no such device; exit 1\n");
  ::chmod(options.sharing->program.c_str(), 0755);
  auto opened = LinuxRunner::Open(options);
  ASSERT_TRUE(opened) << opened.error().message;
  runner_ = std::move(*opened);
  std::vector<RunRequest> sharing;
  for (int i = 0; i < 3; ++i) {
    sharing.push_back(Request({"sh", "-c", "grep Cpus_allowed_list /proc/self/status"}));
    sharing.back().gpus = {{.index = 0, .uuid = "GPU-1", .model = "H200"}};
    sharing.back().shares = true;
    sharing.back().cores = 2;
    runner_->Start(sharing.back());
    runner_->Start(sharing.back());  // again: nothing happens
  }
  EXPECT_EQ(EndOf(Start({"true"})).exit_code, 0);
  runner_->Change(sharing[0].id, {.cores = 1});
  runner_->Stop(sharing[1].id, {Seconds(5)});
  const RunEnd stopped = EndOf(sharing[1].id);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.exit_code, 143);
  runner_->Forget(sharing[1].id);
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("state/jobs/2.1")));
  EXPECT_FALSE(runner_->PidOf(sharing[0].id));
  folder_.Write("control.go", "");
  for (const auto& request : {sharing[0], sharing[2]}) {
    EXPECT_EQ(EndOf(request.id).exit_code, 0);
    EXPECT_THAT(told_[request.id].notes, HasSubstr("by turns"));
    EXPECT_EQ(told_[request.id].ends, 1);
  }
  EXPECT_EQ(Log(sharing[0].id).find_first_of(",-"), std::string::npos) << "one CPU, as it was told";
  EXPECT_EQ(told_[sharing[1].id].ends, 1);
}

// Under one MPS server the fault of one ends all: each is told who fell with it.
TEST_F(LinuxRunnerTest, RunsThatFailTogetherUnderOneDaemonAreToldSo) {
  const SharingOptions sharing{.folder = folder_.Path("m"),
                               .program = platform::WriteMpsControl(folder_)};
  Open(sharing, Seconds(0.5));
  const auto start = [&](const std::string& gpu, const std::string& then) {
    auto request = Request(
        {"sh", "-c",
         "while ! [ -e " + then.substr(0, 2) + " ]; do sleep 0.02; done; " + then.substr(3)});
    request.gpus = {{.index = 0, .uuid = gpu, .model = "H200"}};
    request.shares = true;
    runner_->Start(request);
    return request.id;
  };
  const RunId a = start("GPU-1", "go exit 1"), b = start("GPU-1", "go exit 134");
  const RunId alone = start("GPU-2", "go exit 1"), killed = start("GPU-1", "go kill -9 $$");
  const RunId fine = start("GPU-1", "on exit 0");
  for (const RunId& id : {a, b, alone, killed, fine}) UntilStarted(id);
  folder_.Write("go", "");
  const RunEnd first = EndOf(a), second = EndOf(b);
  ASSERT_TRUE(first.fall && second.fall);
  EXPECT_THAT(first.fall->with, ElementsAre(b));
  EXPECT_THAT(second.fall->with, ElementsAre(a));
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_FALSE(EndOf(alone).fall) << "another GPU's";
  EXPECT_FALSE(EndOf(killed).fall) << "a reason of its own";
  EXPECT_FALSE(told_[fine].end) << "it lives on";
  folder_.Write("on", "");
  EXPECT_FALSE(EndOf(fine).fall);
  for (const RunId& id : {a, b, alone, killed, fine}) runner_->Forget(id);

  // A server that was killed before it had judged them: the next one knows when they ended.
  Open(sharing, Seconds(60));
  std::filesystem::remove(folder_.Path("go"));
  const RunId c = start("GPU-1", "go exit 1"), d = start("GPU-1", "go exit 1");
  const RunId outlives = start("GPU-1", "ok exit 1");
  for (const RunId& id : {c, d, outlives}) UntilStarted(id);
  folder_.Write("go", "");
  Until([&] {
    return engine::ReadExit(folder_.Path(fmt::format("state/jobs/{}.1", c.job))) &&
           engine::ReadExit(folder_.Path(fmt::format("state/jobs/{}.1", d.job)));
  });
  Until([n = 0]() mutable { return ++n > 3; });
  EXPECT_FALSE(told_[c].end || told_[d].end);
  Open(sharing, Seconds(0.5));
  EXPECT_EQ(runner_->Recover().size(), 3U);
  ASSERT_TRUE(EndOf(c).fall);
  EXPECT_THAT(EndOf(c).fall->with, ElementsAre(d));
  EXPECT_EQ(told_[c].ends, 1);
  folder_.Write("ok", "");
  EXPECT_FALSE(EndOf(outlives).fall) << "alone by then";

  // The driver may know whose doing it was.
  std::filesystem::remove(folder_.Path("go"));
  const RunId culprit = start("GPU-1", "go exit 1"), innocent = start("GPU-1", "go exit 1");
  UntilStarted(culprit);
  UntilStarted(innocent);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  folder_.Write("kmsg",
                fmt::format("6,1,{}000000,-;NVRM: Xid (PCI:0000:4e:00): 31, pid={}, name=sh\n",
                            now.tv_sec, *runner_->PidOf(culprit)));
  folder_.Write("go", "");
  ASSERT_TRUE(EndOf(culprit).fall && EndOf(innocent).fall);
  EXPECT_EQ(EndOf(culprit).fall->part, Fall::Part::kCulprit);
  EXPECT_EQ(EndOf(innocent).fall->part, Fall::Part::kInnocent);
  EXPECT_EQ(EndOf(innocent).fall->culprit, culprit);
}

// The server was killed while a run waited for its daemon: it never began.
TEST_F(LinuxRunnerTest, F12_ARunThatWaitedForItsDaemonIsNotFoundAgain) {
  const std::string program = folder_.Write(
      "control", "#!/bin/sh\nwhile ! [ -e \"$0.go\" ]; do sleep 0.02; done\nexit 1\n");
  ::chmod(program.c_str(), 0755);
  runner_.reset();
  const pid_t server = ::fork();
  if (server == 0) {
    LinuxRunnerOptions options;
    options.state = folder_.Path("state");
    options.sharing = SharingOptions{.folder = folder_.Path("m"), .program = program};
    auto opened = LinuxRunner::Open(options);
    if (!opened) ::_exit(2);
    auto request = Request({"true"}, 7);
    request.gpus = {{.index = 0, .uuid = "GPU-1", .model = "H200"}};
    request.shares = true;
    (*opened)->Start(request);
    std::vector<RunEvent> events;
    for (int i = 0; i < 1000 && !std::filesystem::exists(folder_.Path("state/jobs/7.1")); ++i) {
      (*opened)->Wait((*opened)->Now() + Seconds(0.01), events);
    }
    ::_exit(events.empty() ? 0 : 3);
  }
  int status = -1;
  ::waitpid(server, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("state/jobs/7.1")));
  folder_.Write("control.go", "");
  Open();
  EXPECT_TRUE(runner_->Recover().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("state/jobs/7.1")));
}

TEST_F(LinuxRunnerTest, WhatIsForgottenWhileItRunsGoesWithoutAWord) {
  const RunId id = Start({"sleep", "1000"});
  runner_->Stop(id, {Seconds(0)});
  runner_->Forget(id);
  Until([&] { return !std::filesystem::exists(folder_.Path("state/jobs/1.1")); });
  EXPECT_EQ(told_[id].ends, 0);
}

// It was given one CPU. Once it has told a step it may use those that nobody has; when somebody is
// given these it may not, nor after a restart of the server that gives them to somebody.
TEST_F(LinuxRunnerTest, ATrainingRunIsLentTheCpusThatNobodyHas) {
  const std::size_t all = CpuRoom::LayoutHere({}).cpus.size();
  if (all < 2) GTEST_SKIP() << "one CPU alone: there is none to lend";
  auto trains =
      Request({"sh", "-c", "echo $$ > pid; echo step 1 >> $SHAREWELL_PROGRESS; sleep 1000"});
  trains.gpus = {{.index = 0, .uuid = "GPU-1", .model = "H200"}};
  trains.cores = 1;
  runner_->Start(trains);
  const int pid = Pids("pid", 1).front();
  const auto may_use = [&] { return platform::AllowedCpus(pid).size(); };
  EXPECT_EQ(may_use(), 1U);
  Until([&] { return may_use() == all; });

  auto other = Request({"sleep", "1000"});
  other.cores = static_cast<double>(all) - 1;
  runner_->Start(other);
  UntilStarted(other.id);
  EXPECT_EQ(may_use(), 1U) << "before the other one runs";
  runner_->Stop(other.id, {Seconds(0)});
  EndOf(other.id);
  Until([&] { return may_use() == all; });

  Open();
  runner_->Recover();
  auto third = Request({"sleep", "1000"});
  third.cores = static_cast<double>(all) - 1;
  runner_->Start(third);
  UntilStarted(third.id);
  EXPECT_EQ(may_use(), 1U);
  runner_->Stop(third.id, {Seconds(0)});
  runner_->Stop(trains.id, {Seconds(0)});
  EndOf(third.id);
  EndOf(trains.id);
}

TEST_F(LinuxRunnerTest, BoundsHoldOrAreToldOf) {
  auto request = Request({"sh", "-c",
                          "grep Cpus_allowed_list /proc/self/status; echo $$ > ready;"
                          "while ! [ -e go ]; do sleep 0.02; done; env -u OMP_NUM_THREADS nproc"});
  request.cores = 1;
  request.asked.memory = core::Bytes(64 << 20);
  runner_->Start(request);
  Pids("ready", 1);
  runner_->Change(request.id, {.cores = 2});
  runner_->Change(request.id, {.share = 0.5});
  folder_.Write("go", "");
  EXPECT_EQ(EndOf(request.id).exit_code, 0);
  const std::size_t cpus = std::min<std::size_t>(CpuRoom::LayoutHere({}).cpus.size(), 2);
  EXPECT_THAT(Log(request.id), testing::EndsWith("\n" + std::to_string(cpus) + "\n"));
  EXPECT_EQ(Log(request.id).find_first_of(",-"), std::string::npos);  // one CPU at first

  const auto home = platform::CgroupHome::Find();
  const auto probe = home.Make("sharewell-test-" + std::to_string(::getpid()),
                               {.memory = core::GiB(1), .processes = 9});
  const bool memory = probe->Bounds("memory"), processes = probe->Bounds("pids");
  auto hog = Request({"sh", "-c", "head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null"});
  hog.asked.memory = core::Bytes(64 << 20);
  if (memory) {
    runner_->Start(hog);
    EXPECT_EQ(EndOf(hog.id).exit_code, 137);
    EXPECT_THAT(EndOf(hog.id).message, HasSubstr("host memory"));
  } else {
    EXPECT_THAT(told_[request.id].notes, HasSubstr("not bounded"));
  }
  if (processes) {
    const RunId bomb =
        Shell("trap '' TERM; echo $$ > bomb; f() { f | f & }; f; while :; do :; done");
    Pids("bomb", 1);
    runner_->Stop(bomb, {Seconds(0.2)});
    EXPECT_EQ(EndOf(bomb).signal, 9);
  }
}

}  // namespace
}  // namespace sharewell::engine
