#include "platform/process/process_handle.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace sharewell::platform {
namespace {

pid_t StartPausing() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  return pid;
}

int EndOf(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(ProcessHandle, ReadsWhenAProcessBeganAndWhoseItIs) {
  const pid_t pid = StartPausing();
  ProcessLife own, its;
  ASSERT_TRUE(ReadProcessLife(::getpid(), own));
  ASSERT_TRUE(ReadProcessLife(pid, its));
  EXPECT_EQ(its.parent, ::getpid());
  EXPECT_GE(its.start, own.start);
  EXPECT_GT(own.start, 0U);
  EXPECT_TRUE(SignalProcess(pid, its.start, SIGTERM));
  EXPECT_EQ(EndOf(pid), SIGTERM);
  EXPECT_FALSE(ReadProcessLife(pid, its));
}

TEST(ProcessHandle, ANumberThatIsAnothersByNowIsNotSignalled) {
  const pid_t pid = StartPausing();
  ProcessLife life;
  ASSERT_TRUE(ReadProcessLife(pid, life));
  // As where the process that was meant began earlier, and has ended.
  EXPECT_FALSE(SignalProcess(pid, life.start - 1, SIGKILL));
  EXPECT_FALSE(SignalProcess(pid, SIGKILL, [] { return false; }));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0) << "it lives on";
  EXPECT_TRUE(SignalProcess(pid, SIGKILL, [] { return true; }));
  EXPECT_EQ(EndOf(pid), SIGKILL);
}

TEST(ProcessHandle, WhoEndsBetweenTheLookAndTheSignalIsNotReplaced) {
  const pid_t pid = StartPausing();
  const ProcessHandle handle(pid);
  EXPECT_FALSE(handle.gone());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(EndOf(pid), SIGKILL);
  EXPECT_FALSE(handle.Send(SIGTERM));
  EXPECT_TRUE(ProcessHandle(pid).gone());
}

}  // namespace
}  // namespace sharewell::platform
