#include "engine/local/gpu_sharing.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "platform/files/test_folder.h"
#include "platform/process/test_mps_control.h"

namespace sharewell::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

class GpuSharingTest : public ::testing::Test {
 protected:
  GpuSharingTest() {
    options_.folder = folder_.Path("m");
    options_.program = platform::WriteMpsControl(folder_);
  }
  static RunRequest Run(std::int64_t job, const std::string& uuid, std::uint32_t uid = 1000) {
    RunRequest request;
    request.id = {job, 1};
    request.gpus = {{0, uuid, "H200"}};
    request.shares = true;
    request.user.uid = uid;
    return request;
  }
  // As the runner sees it: at once, or when the daemon has come up.
  static GpuSharing::Joined Join(GpuSharing& sharing, const RunRequest& request) {
    if (auto joined = sharing.Join(request)) return *joined;
    sharing.Settle();
    for (auto& [id, joined] : sharing.Answers()) {
      if (id == request.id) return joined;
    }
    ADD_FAILURE() << "no answer for " << request.id.job;
    return {};
  }
  static void StopIdle(GpuSharing& sharing) {
    sharing.StopIdle();
    sharing.Settle();
  }
  pid_t PidOf(const std::string& pipes) const {
    std::ifstream file(pipes + "/nvidia-cuda-mps-control.pid");
    pid_t pid = 0;
    return file >> pid ? pid : 0;
  }

  platform::TestFolder folder_;
  SharingOptions options_;
};

TEST_F(GpuSharingTest, OneDaemonAGpuForThoseThatShare) {
  GpuSharing sharing(options_);
  RunRequest limited = Run(1, "GPU-5c1b-11aa");
  limited.thread_share = 0.5;
  limited.gpu_memory = core::GiB(8);
  const auto first = Join(sharing, limited);
  EXPECT_THAT(first.notes, IsEmpty());
  EXPECT_THAT(first.environment, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", first.pipes)));
  EXPECT_THAT(first.environment, Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50")));
  EXPECT_THAT(first.environment, Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=8192M")));
  EXPECT_THAT(first.environment, Contains(Pair("CUDA_MPS_CLIENT_PRIORITY", "0")))
      << "nobody there is to go before it";
  const pid_t daemon = PidOf(first.pipes);
  ASSERT_GT(daemon, 0);

  RunRequest quick = Run(2, "GPU-5c1b-11aa");
  quick.asked.latency_sensitive = true;
  const auto second = Join(sharing, quick);
  EXPECT_THAT(second.environment, Contains(Pair("CUDA_MPS_CLIENT_PRIORITY", "0")));
  EXPECT_EQ(second.pipes, first.pipes);
  EXPECT_EQ(PidOf(second.pipes), daemon);
  EXPECT_NE(Join(sharing, Run(3, "GPU-other")).pipes, first.pipes);
  const auto stranger = Join(sharing, Run(4, "GPU-5c1b-11aa", 1001));
  EXPECT_NE(stranger.pipes, first.pipes) << "one of his own";
  EXPECT_THAT(stranger.environment, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", stranger.pipes)));
  EXPECT_THAT(stranger.notes, ElementsAre(HasSubstr("one user at a time")));

  sharing.Leave({1, 1});
  StopIdle(sharing);
  EXPECT_EQ(PidOf(first.pipes), daemon) << "one is still there";
  sharing.Leave({2, 1});
  sharing.Leave({2, 1});
  EXPECT_THAT(sharing.Look(), IsEmpty());
  EXPECT_EQ(PidOf(first.pipes), daemon) << "it stays a moment";
  StopIdle(sharing);
  EXPECT_EQ(PidOf(first.pipes), 0);
  EXPECT_THAT(Join(sharing, Run(5, "GPU-5c1b-11aa", 1001)).notes, IsEmpty()) << "now it is his";
  sharing.Leave({4, 1});
  sharing.Leave({5, 1});
  sharing.Leave({3, 1});
}

// MPS has two levels, so that who has the lower one depends on who is there.
TEST_F(GpuSharingTest, AGuestGoesAfterItsNeighboursAndAllGoAfterWhoIsLatencySensitive) {
  GpuSharing sharing(options_);
  const auto priority = [&](const RunRequest& request) {
    for (const auto& [name, value] : Join(sharing, request).environment) {
      if (name == "CUDA_MPS_CLIENT_PRIORITY") return value;
    }
    return std::string("none");
  };
  RunRequest guest = Run(2, "GPU-1"), quick = Run(3, "GPU-1");
  guest.guest_memory = core::GiB(31);
  quick.asked.latency_sensitive = true;
  EXPECT_EQ(priority(Run(1, "GPU-1")), "0");
  EXPECT_EQ(priority(guest), "1");
  EXPECT_EQ(priority(quick), "0");
  EXPECT_EQ(priority(Run(4, "GPU-1")), "1") << "beside one that is latency-sensitive";
  EXPECT_EQ(priority(Run(5, "GPU-2")), "0") << "that one is on another GPU";
  sharing.Leave({3, 1});
  EXPECT_EQ(priority(Run(6, "GPU-1")), "0") << "it has left";
  sharing.Rejoin(quick, Join(sharing, Run(7, "GPU-1")).pipes);
  EXPECT_EQ(priority(Run(8, "GPU-1")), "1") << "found again after a restart";
  for (std::int64_t job = 1; job <= 8; ++job) sharing.Leave({job, 1});
}

TEST_F(GpuSharingTest, RunsThatHaveNoUseForIt) {
  GpuSharing sharing(options_);
  RunRequest alone = Run(1, "GPU-1"), without = Run(2, "GPU-1"), gang = Run(3, "GPU-1");
  alone.shares = false;
  without.gpus.clear();
  gang.gpus.push_back({1, "GPU-2", "H200"});
  for (const RunRequest& quiet : {alone, without, Run(4, "simulated-0")}) {
    const auto joined = Join(sharing, quiet);
    EXPECT_THAT(joined.notes, IsEmpty()) << quiet.id.job;
    EXPECT_THAT(joined.environment, IsEmpty());
  }
  EXPECT_THAT(Join(sharing, gang).notes, ElementsAre(HasSubstr("by turns")));
  EXPECT_THAT(Join(sharing, Run(5, "MIG-1")).notes, ElementsAre(HasSubstr("MIG slice")));
  EXPECT_EQ(PidOf(folder_.Path("m/1-1000/pipe")), 0) << "nothing was started";

  options_.program = "no-such-mps-control";
  GpuSharing nothing(options_);
  EXPECT_THAT(Join(nothing, Run(1, "GPU-1")).notes, ElementsAre(HasSubstr("not installed")));
}

TEST_F(GpuSharingTest, ADaemonThatDiedIsSaidAndStartedAgain) {
  GpuSharing sharing(options_);
  const auto joined = Join(sharing, Run(1, "GPU-1"));
  const pid_t daemon = PidOf(joined.pipes);
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  std::vector<GpuSharing::News> news;
  for (int i = 0; i < 500 && news.empty(); ++i) {
    news = sharing.Look();
    if (news.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].gpu, "GPU-1");
  EXPECT_THAT(news[0].text, HasSubstr("died"));
  EXPECT_THAT(sharing.Look(), IsEmpty());
  EXPECT_EQ(Join(sharing, Run(2, "GPU-1")).pipes, joined.pipes);
  EXPECT_NE(PidOf(joined.pipes), daemon);
  sharing.Leave({2, 1});
}

TEST_F(GpuSharingTest, OneThatDoesNotStartIsNotWaitedForAgainAtOnce) {
  options_.program = folder_.Write("broken", "#!/bin/sh\necho no such device >&2\nexit 1\n");
  ::chmod(options_.program.c_str(), 0755);
  GpuSharing sharing(options_);
  EXPECT_THAT(Join(sharing, Run(1, "GPU-1")).notes, ElementsAre(HasSubstr("no such device")));
  EXPECT_THAT(Join(sharing, Run(2, "GPU-1")).notes, ElementsAre(HasSubstr("a moment ago")));
}

TEST_F(GpuSharingTest, DaemonsOutliveTheServer) {
  std::string pipes;
  pid_t daemon = 0;
  {
    GpuSharing sharing(options_);
    pipes = Join(sharing, Run(1, "GPU-1")).pipes;
    daemon = PidOf(pipes);
    Join(sharing, Run(2, "GPU-2"));
    sharing.Leave({2, 1});
  }
  EXPECT_EQ(PidOf(folder_.Path("m/2-1000/pipe")), 0) << "nobody was left on it";
  {
    GpuSharing next(options_);
    next.Rejoin(Run(1, "GPU-1"), pipes);
    StopIdle(next);
    EXPECT_EQ(PidOf(pipes), daemon);
    EXPECT_EQ(Join(next, Run(3, "GPU-1")).pipes, pipes);
    EXPECT_EQ(PidOf(pipes), daemon) << "the same one";
    next.Leave({3, 1});
    next.Leave({1, 1});
  }
  EXPECT_EQ(PidOf(pipes), 0);
}

// Where the driver can, one daemon serves all users, and the next server finds it.
TEST_F(GpuSharingTest, UsersSideBySide) {
  if (::geteuid() != 0) GTEST_SKIP() << "who is not root has one user";
  folder_.Write("control.everybody", "");
  std::string pipes;
  {
    GpuSharing sharing(options_);
    const auto ann = Join(sharing, Run(1, "GPU-1", 1000)),
               bob = Join(sharing, Run(2, "GPU-1", 1001));
    EXPECT_EQ(folder_.Read(folder_.Path("control.words")), "-d --multiuser-server\n");
    EXPECT_EQ(bob.pipes, ann.pipes);
    EXPECT_THAT(bob.notes, IsEmpty());
    EXPECT_THAT(bob.environment, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", ann.pipes)));
    struct stat state {};
    for (const std::string& part : {folder_.Path("m"), folder_.Path("m/1-all"), ann.pipes}) {
      ASSERT_EQ(::stat(part.c_str(), &state), 0);
      EXPECT_EQ(state.st_mode & 0777, 0755U) << part << ": all users must come in";
    }
    pipes = ann.pipes;
  }
  const pid_t daemon = PidOf(pipes);
  GpuSharing next(options_);
  next.Rejoin(Run(1, "GPU-1", 1000), pipes);
  EXPECT_EQ(Join(next, Run(3, "GPU-1", 1002)).pipes, pipes);
  EXPECT_EQ(PidOf(pipes), daemon);
  next.Leave({1, 1});
  next.Leave({3, 1});
}

// One that an earlier version started, for one user, is no daemon for all.
TEST_F(GpuSharingTest, ADaemonOfAnEarlierVersionKeepsItsRunsAndGetsNoNewOnes) {
  const std::string old = folder_.Path("m/1");
  {
    auto server = platform::MpsServer::Start({.folder = old, .program = options_.program});
    ASSERT_TRUE(server) << server.error().message;
    (*server)->Leave();
    folder_.Write("m/1/gpu", "GPU-1\n");
  }
  GpuSharing sharing(options_);
  sharing.Rejoin(Run(1, "GPU-1"), old + "/pipe");
  const auto joined = Join(sharing, Run(2, "GPU-1"));
  EXPECT_NE(joined.pipes, old + "/pipe");
  EXPECT_THAT(joined.notes, SizeIs(1));
  StopIdle(sharing);
  EXPECT_GT(PidOf(old + "/pipe"), 0);
  sharing.Leave({1, 1});
  sharing.Leave({2, 1});
  StopIdle(sharing);
  EXPECT_EQ(PidOf(old + "/pipe"), 0);
}

// F12: whoever asks goes on at once, whatever a daemon does.
TEST_F(GpuSharingTest, F12_NobodyWaitsForADaemon) {
  std::string slow = platform::kTestMpsControl;
  slow.insert(slow.find("  \"$0\" serve &"), "  while ! [ -e \"$0.go\" ]; do sleep 0.02; done\n");
  slow.insert(slow.find("quit) ") + 6, "while ! [ -e \"$0.end\" ]; do sleep 0.02; done; ");
  options_.program = folder_.Write("control", slow);
  std::atomic<int> told = 0;
  GpuSharing sharing(options_, [&] { ++told; });
  EXPECT_FALSE(sharing.Join(Run(1, "GPU-1")));
  EXPECT_FALSE(sharing.Join(Run(2, "GPU-1")));
  EXPECT_FALSE(sharing.Join(Run(3, "GPU-1")));
  RunRequest alone = Run(4, "GPU-2");
  alone.shares = false;
  EXPECT_TRUE(sharing.Join(alone));
  sharing.Leave({2, 1});
  EXPECT_THAT(sharing.Look(), IsEmpty());
  EXPECT_THAT(sharing.Answers(), IsEmpty());
  EXPECT_EQ(told, 0);
  folder_.Write("control.go", "");
  sharing.Settle();
  EXPECT_EQ(told, 1);
  const auto answers = sharing.Answers();
  ASSERT_THAT(answers, SizeIs(2)) << "the second has left";
  EXPECT_EQ(answers[0].first, (RunId{1, 1}));
  EXPECT_EQ(answers[1].first, (RunId{3, 1}));
  EXPECT_EQ(answers[0].second.pipes, answers[1].second.pipes);
  EXPECT_FALSE(answers[0].second.pipes.empty());

  // Who comes while it is stopped gets a new one.
  sharing.Leave({1, 1});
  sharing.Leave({3, 1});
  sharing.StopIdle();
  EXPECT_FALSE(sharing.Join(Run(5, "GPU-1")));
  EXPECT_THAT(sharing.Answers(), IsEmpty());
  folder_.Write("control.end", "");
  sharing.Settle();
  const auto again = sharing.Answers();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].second.pipes, answers[0].second.pipes);
  EXPECT_THAT(again[0].second.notes, IsEmpty());
  sharing.Leave({5, 1});
}

}  // namespace
}  // namespace sharewell::engine
