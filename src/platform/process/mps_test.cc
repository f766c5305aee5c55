#include "platform/process/mps.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

// Does as nvidia-cuda-mps-control: with -d a daemon that leaves its number, without it commands.
constexpr const char* kControl = R"sh(#!/bin/sh
pid="$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
# Waits for ever, under its own name, without a child that would outlive it.
if [ "$1" = serve ]; then
  exec > /dev/null 2>&1 < /dev/null
  mkfifo "$pid.wait"
  read -r never <> "$pid.wait"
  exit 0
fi
if [ "$1" = -d ]; then
  echo "visible $CUDA_VISIBLE_DEVICES" > "$CUDA_MPS_LOG_DIRECTORY/control.log"
  "$0" serve &
  echo $! > "$pid"
  exit 0
fi
read word rest
if ! [ -e "$pid" ] || ! kill -0 "$(cat "$pid")" 2> /dev/null; then
  echo "Cannot find MPS control daemon process"
  exit 1
fi
case "$word" in
  quit) kill "$(cat "$pid")"; rm "$pid" "$pid.wait";;
esac
)sh";

class MpsTest : public ::testing::Test {
 protected:
  std::string Program(const std::string& name, const std::string& text) {
    const std::string path = folder_.Write(name, text);
    ::chmod(path.c_str(), 0755);
    return path;
  }
  std::string Log() const { return TestFolder::Read(folder_.Path("mps/log/control.log")); }

  TestFolder folder_;
};

TEST_F(MpsTest, StartsServesAndStops) {
  const MpsOptions options{folder_.Path("mps"), Program("control", kControl), "0"};
  auto server = MpsServer::Start(options);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(Log(), "visible 0\n");
  EXPECT_EQ(MpsRuns(folder_.Path("mps/pipe"), options.program), true);

  const auto second = MpsServer::Start(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(second.error().message, HasSubstr("already runs there"));

  const auto environment = (*server)->ClientEnvironment();
  EXPECT_EQ(environment.size(), 2U);
  EXPECT_THAT(environment, Contains(Pair("CUDA_MPS_PIPE_DIRECTORY", folder_.Path("mps/pipe"))));
  EXPECT_THAT(environment, Contains(Pair("CUDA_MPS_LOG_DIRECTORY", folder_.Path("mps/log"))));
  const auto limited = (*server)->ClientEnvironment(
      {.threads = 0.375, .memory = core::GiB(4), .priority = 1, .gpus = 2});
  EXPECT_THAT(limited, Contains(Pair("CUDA_MPS_CLIENT_PRIORITY", "1")));
  EXPECT_THAT(limited, Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "37.5")));
  EXPECT_THAT(limited, Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=4096M,1=4096M")));

  const auto stopped = (*server)->Stop();
  EXPECT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE((*server)->Stop());
  EXPECT_EQ(MpsRuns(folder_.Path("mps/pipe"), options.program), false);
}

TEST_F(MpsTest, F4_TheDaemonGetsNothingOfTheServersEnvironmentThatItDoesNotNeed) {
  ::setenv("SHAREWELL_STORE", "postgresql://me:hunter2@host/db", 1);
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  std::string control = kControl;
  control.insert(control.find("  \"$0\" serve"),
                 "  env > \"$CUDA_MPS_LOG_DIRECTORY/environment\"\n");
  auto server = MpsServer::Start({folder_.Path("mps"), Program("control", control), "0"});
  ::unsetenv("SHAREWELL_STORE");
  ::unsetenv("CUDA_DEVICE_ORDER");
  ASSERT_TRUE(server) << server.error().message;
  const std::string seen = TestFolder::Read(folder_.Path("mps/log/environment"));
  EXPECT_THAT(seen, HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(seen, HasSubstr("PATH="));
  EXPECT_EQ(seen.find("hunter2"), std::string::npos);
  EXPECT_EQ(seen.find("SHAREWELL"), std::string::npos);
}

TEST_F(MpsTest, ServesEverybodyWhereTheDriverCan) {
  std::string control = kControl;
  control.insert(
      control.find("if [ \"$1\" = -d ]"),
      "if [ \"$1\" = --help ]; then printf '%s\\n' usage '-M, --multiuser-server'; exit 1; "
      "fi\n");
  control.insert(control.find("  \"$0\" serve"), "  echo \"$*\" > \"$0.words\"\n");
  const std::string program = Program("control", control);
  EXPECT_EQ(MpsServesEverybody(program), true);
  EXPECT_EQ(MpsServesEverybody(Program("older", kControl)), false);
  EXPECT_FALSE(MpsServesEverybody("/nonexistent/mps-control"));
  ASSERT_TRUE(MpsServer::Start({folder_.Path("mps"), program}));
  EXPECT_EQ(TestFolder::Read(program + ".words"), "-d\n");
  ASSERT_TRUE(MpsServer::Start({folder_.Path("mps"), program, "", true}));
  EXPECT_EQ(TestFolder::Read(program + ".words"), "-d --multiuser-server\n");
}

TEST_F(MpsTest, IsToldToQuitWhenItGoes) {
  const MpsOptions options{folder_.Path("mps"), Program("control", kControl)};
  ASSERT_TRUE(MpsServer::Start(options));
  EXPECT_EQ(MpsRuns(folder_.Path("mps/pipe"), options.program), false);
}

TEST_F(MpsTest, IsFoundAgainWhenItWasLeft) {
  const MpsOptions options{folder_.Path("mps"), Program("control", kControl)};
  const auto none = MpsServer::Find(options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, core::ErrorKind::kAbsent);
  {
    auto server = MpsServer::Start(options);
    ASSERT_TRUE(server);
    (*server)->Leave();
  }
  auto found = MpsServer::Find(options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE((*found)->Alive());
  EXPECT_EQ((*found)->pipes(), folder_.Path("mps/pipe"));
  EXPECT_TRUE((*found)->Stop());
  EXPECT_FALSE((*found)->Alive());
  EXPECT_FALSE(MpsServer::Find(options));
}

TEST_F(MpsTest, ADaemonThatDoesNotListenIsKilled) {
  std::string deaf = kControl;
  deaf.replace(deaf.find("quit) "), 6, "quit) exit 1; ");
  const MpsOptions options{folder_.Path("mps"), Program("control", deaf)};
  auto server = MpsServer::Start(options);
  ASSERT_TRUE(server);
  const auto stopped = (*server)->Stop();
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("was killed"));
}

// Its number may be another's by now, or somebody wrote another's there.
TEST_F(MpsTest, F12_WhoIsNotTheDaemonIsNotKilled) {
  std::string deaf = kControl;
  deaf.replace(deaf.find("quit) "), 6, "quit) exit 1; ");
  const MpsOptions options{folder_.Path("mps"), Program("control", deaf)};
  const std::string file = folder_.Path("mps/pipe/nvidia-cuda-mps-control.pid");
  const std::string fifo = folder_.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // A client of the daemon has its pipes and another name; another daemon has other pipes.
  for (const auto& [name, pipes] : {std::pair("client", folder_.Path("mps/pipe")),
                                    std::pair("control", std::string("/elsewhere"))}) {
    const pid_t innocent = ::fork();
    if (innocent == 0) {
      ::setenv("CUDA_MPS_PIPE_DIRECTORY", pipes.c_str(), 1);
      ::execlp("sh", name, "-c", "read never <> \"$0\"", fifo.c_str(), nullptr);
      ::_exit(1);
    }
    const std::string words = "/proc/" + std::to_string(innocent) + "/cmdline";
    while (TestFolder::Read(words).find("read never") == std::string::npos) ::usleep(1000);

    auto server = MpsServer::Start(options);
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_TRUE((*server)->Alive());
    const pid_t daemon = std::stoi(TestFolder::Read(file));
    std::ofstream(file) << innocent << '\n';
    if (std::string_view(name) != "control") {
      EXPECT_FALSE((*server)->Alive());
      EXPECT_FALSE(MpsServer::Find(options));
    }
    const auto stopped = (*server)->Stop();
    ASSERT_FALSE(stopped);
    EXPECT_THAT(stopped.error().message, HasSubstr("may still run"));
    EXPECT_EQ(::waitpid(innocent, nullptr, WNOHANG), 0) << name << " was ended";

    for (const pid_t pid : {innocent, daemon}) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::unlink(file.c_str());
  }
  // Nor is a number believed that another user could have written.
  if (::geteuid() == 0) {
    auto server = MpsServer::Start(options);
    ASSERT_TRUE(server) << server.error().message;
    const pid_t daemon = std::stoi(TestFolder::Read(file));
    ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
    EXPECT_FALSE((*server)->Alive());
    (*server)->Leave();
    ::kill(daemon, SIGKILL);
  }
}

TEST_F(MpsTest, WhatTheDaemonSaysIsPassedOn) {
  const auto failed = MpsServer::Start(
      {folder_.Path("mps"),
       Program("bad", "#!/bin/sh\nif [ \"$1\" = -d ]; then echo no such device; fi; exit 1\n")});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("no such device"));
  EXPECT_THAT(failed.error().message, HasSubstr("mps/log/control.log"));
}

TEST_F(MpsTest, NotInstalled) {
  const auto server = MpsServer::Start({folder_.Path("mps"), "/nonexistent/mps-control"});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(server.error().message, HasSubstr("apt-get install"));
  const auto runs = MpsRuns("/tmp/nvidia-mps", "/nonexistent/mps-control");
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().kind, core::ErrorKind::kAbsent);
}

TEST_F(MpsTest, AFolderThatCannotBe) {
  const std::string program = Program("control", kControl);
  EXPECT_FALSE(MpsServer::Start({"", program}));
  EXPECT_FALSE(MpsServer::Start({folder_.Path(std::string(100, 'x')), program}));
  EXPECT_FALSE(MpsServer::Start({program, program}));  // a file is there
}

}  // namespace
}  // namespace sharewell::platform
